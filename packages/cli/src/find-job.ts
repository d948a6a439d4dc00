import { ApiError, type Client, type Job } from '@carillon/sdk'
import { visible } from './output/visible.js'
import { NotFoundError } from './usage.js'

const idPattern = /^job_[0-9a-z]{26}$/
const largestPage = 200

/**
 * The job that a person means by its id or its name. A name belongs to the live job that has it; where none lives, the
 * latest that had it is meant. Deleting is different: it asks for a live one, or the very id.
 */
export async function findJob(client: Client, given: string, options = { liveOnly: false }): Promise<Job> {
  return idPattern.test(given) ? client.jobs.get(given) : findByName(client, given, options.liveOnly)
}

/** An id is taken as it is: what became of a deleted job's ticks can still be asked for. */
export async function findJobId(client: Client, given: string): Promise<string> {
  return idPattern.test(given) ? given : (await findByName(client, given, false)).job_id
}

async function findByName(client: Client, name: string, liveOnly: boolean): Promise<Job> {
  const job = await named(client, name)
  const quoted = `"${visible(name)}"`
  if (job === null) {
    throw new NotFoundError(
      `There is no job named ${quoted}. See those there are with: carillon jobs list --all`,
    )
  }
  if (isLive(job) || !liveOnly) return job
  throw new NotFoundError(
    `No live job is named ${quoted}. The latest that had the name has ended; use its id: ${job.job_id}`,
  )
}

/** No path leads to these names. */
const unaddressable = /^\.{0,2}$/

async function named(client: Client, name: string): Promise<Job | null> {
  if (unaddressable.test(name)) return listed(client, name)
  try {
    return await client.jobs.getByName(name)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // Something else that answers there has a 404 of its own, which says nothing of jobs.
    if (error.code === 'job_not_found') return null
    // An older server has no such route.
    if (error.code === 'route_not_found') return listed(client, name)
    throw error
  }
}

async function listed(client: Client, name: string): Promise<Job | null> {
  let latestEnded: Job | null = null
  for await (const job of client.jobs.iterate({ limit: largestPage })) {
    if (job.name !== name) continue
    if (isLive(job)) return job
    latestEnded ??= job
  }
  return latestEnded
}

export function isLive({ state }: Job): boolean {
  return state === 'active' || state === 'paused'
}
