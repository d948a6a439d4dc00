import type { Job, JobList, LoadSuggestion } from '@carillon/contract'

export type Suggestion = LoadSuggestion['suggestions'][number]
type Spread = Pick<Job, 'job_id' | 'name' | 'version' | 'managed_by'>

/** The calls that it takes. */
export interface SpreadApi {
  jobs: {
    list(query: { state: 'active'; limit: number; cursor?: string }): Promise<JobList>
    edit(id: string, patch: { jitter_seconds: number; version: number }): Promise<unknown>
  }
}

const pageSize = 200
const atOnce = 4

/** The jobs that a suggestion is about, as they are now: they share its schedule and zone, and start at the very tick. */
export async function unspreadJobs(
  api: SpreadApi,
  { schedule, timezone }: Pick<Suggestion, 'schedule' | 'timezone'>,
  { signal, onLooked }: { signal: AbortSignal; onLooked: (jobs: number) => void },
): Promise<Spread[]> {
  const wanted = JSON.stringify(schedule)
  const found: Spread[] = []
  let looked = 0
  let cursor: string | null = null
  do {
    const page: JobList = await api.jobs.list({
      state: 'active',
      limit: pageSize,
      ...(cursor !== null && { cursor }),
    })
    if (signal.aborted) return found
    const same = page.data.filter(
      (job) =>
        job.timezone === timezone &&
        job.jitter_seconds === 0 &&
        job.fire_window_seconds === 0 &&
        JSON.stringify(job.schedule) === wanted,
    )
    found.push(...same)
    looked += page.data.length
    onLooked(looked)
    cursor = page.next_cursor
  } while (cursor !== null)
  return found
}

export interface Given {
  done: number
  failed: { name: string; error: Error }[]
}

/** Gives each of them jitter, a few at once, each only as it was seen. Whoever aborts leaves what is done. */
export async function giveJitter(
  api: SpreadApi,
  jobs: readonly Spread[],
  seconds: number,
  { signal, onGiven }: { signal: AbortSignal; onGiven: (given: Given) => void },
): Promise<Given> {
  const given: Given = { done: 0, failed: [] }
  let next = 0
  const work = async () => {
    for (let job = jobs[next++]; job !== undefined && !signal.aborted; job = jobs[next++]) {
      const { job_id: id, version, name } = job
      try {
        await api.jobs.edit(id, { jitter_seconds: seconds, version })
        given.done++
      } catch (error) {
        given.failed.push({ name, error: error as Error })
      }
      onGiven({ ...given, failed: [...given.failed] })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return given
}
