import type { Run } from '@carillon/contract'

/** What one job did again and again, as one line. */
export interface Recent {
  key: string
  /** The newest of them. */
  run: Run
  times: number
}

/** Runs of one job that ended alike, for the same reason, are one entry: a job that fails every second hides no other. */
export function recentOf(runs: readonly Run[], most: number): Recent[] {
  const entries = new Map<string, Recent>()
  for (const run of runs.toSorted((a, b) => whenOf(b) - whenOf(a))) {
    const key = `${run.job_id} ${run.status} ${run.reason ?? ''}`
    const times = run.skipped_count ?? 1
    const known = entries.get(key)
    if (known === undefined) entries.set(key, { key, run, times })
    else known.times += times
  }
  return [...entries.values()].slice(0, most)
}

export function whenOf(run: Run): number {
  return Date.parse(run.finished_at ?? run.started_at ?? run.scheduled_at)
}
