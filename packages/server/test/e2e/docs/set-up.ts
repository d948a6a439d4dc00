import type { Job, RunDetail } from '@carillon/contract'
import { until } from '../support/carillon.js'
import type { House, Running } from './house.js'
import type { Rule } from './run.js'

/** What a page takes for granted, and what its blocks need beyond being run. */
export interface SetUp {
  /** Of `carillon up`. */
  args?: readonly string[]
  env?: Record<string, string>
  /** The page itself starts the server, by one of its commands. */
  byThePage?: boolean
  /** Programs of the reader's machine: name to a line of shell. */
  programs?: Record<string, string>
  setUp?: (house: House) => Promise<void> | void
  rules?: readonly Rule[]
}

/** A job that succeeds: it calls its own server. */
export function wellJob(house: House, name: string, more: object = {}): Promise<Job> {
  const target = { type: 'http' as const, url: `${house.url}/healthz`, method: 'GET' as const }
  return house.client.jobs.create({ name, schedule: '0 2 * * *', target, ...more })
}

/** A run of the job, once it has ended so. */
export async function runThat(house: House, jobId: string, status: string): Promise<RunDetail> {
  const { run_id } = await until(`a run is ${status}`, async () =>
    (await house.client.jobs.runs(jobId)).find((run) => run.status === status),
  )
  return house.client.runs.get(run_id)
}

/** Triggers a job until a program that follows the runs tells of one: it may not have been listening for the first. */
export async function triggerUntilPrinted(
  { client }: House,
  jobId: string,
  running: Running,
  what: RegExp,
): Promise<void> {
  await until(`${what} is printed`, async () => {
    if (what.test(running.output)) return true
    const { run_id } = await client.jobs.trigger(jobId)
    await until('it has ended', async () => (await client.runs.get(run_id)).finished_at !== null)
    return false
  })
}
