import type { Client, Job } from '@carillon/sdk'
import { ApiError } from '@carillon/sdk'
import { isLive } from '../find-job.js'
import type { Abilities } from '../calls/abilities.js'

const largestPage = 200
/** Up to so many names it is quicker to ask for each than to read the whole list. */
const fewNames = 100
const atOnce = 8

/**
 * The live jobs of these names; with `all`, every live job. Where no live one has a name, the latest that had it, if that
 * ended by itself: one that was cancelled leaves nothing behind.
 */
export async function presentJobs(
  client: Client,
  abilities: Abilities,
  names: readonly string[],
  { all = false }: { all?: boolean } = {},
): Promise<Map<string, Job>> {
  const askEach = !all && names.length <= fewNames && abilities.has('get', '/jobs/by-name/{name}')
  return askEach ? byName(client, names) : fromList(client, all ? null : new Set(names))
}

async function byName(client: Client, names: readonly string[]): Promise<Map<string, Job>> {
  const found = new Map<string, Job>()
  for (let from = 0; from < names.length; from += atOnce) {
    const jobs = await Promise.all(names.slice(from, from + atOnce).map((name) => namedJob(client, name)))
    for (const job of jobs) if (job !== null && job.state !== 'cancelled') found.set(job.name, job)
  }
  return found
}

async function namedJob(client: Client, name: string): Promise<Job | null> {
  try {
    return await client.jobs.getByName(name)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'job_not_found') return null
    throw error
  }
}

async function fromList(client: Client, names: ReadonlySet<string> | null): Promise<Map<string, Job>> {
  const live = new Map<string, Job>()
  const past = new Map<string, Job>()
  // The newest come first.
  for await (const job of client.jobs.iterate({ limit: largestPage })) {
    if (names !== null && !names.has(job.name)) continue
    if (isLive(job)) live.set(job.name, job)
    else if (!past.has(job.name)) past.set(job.name, job)
    if (live.size === names?.size) break
  }
  const ended = [...past].filter(([, { state }]) => state !== 'cancelled')
  return new Map([...ended, ...live])
}
