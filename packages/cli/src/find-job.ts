import type { Client, Job } from '@carillon/sdk'
import { visible } from './output/visible.js'
import { NotFoundError } from './usage.js'

const idPattern = /^job_[0-9a-z]{26}$/
const largestPage = 200

/** The job that a person means by its id or, as long as it lives, its name. */
export async function findJob(client: Client, given: string): Promise<Job> {
  return idPattern.test(given) ? client.jobs.get(given) : findByName(client, given)
}

/** An id is taken as it is: what became of a deleted job's ticks can still be asked for. */
export async function findJobId(client: Client, given: string): Promise<string> {
  return idPattern.test(given) ? given : (await findByName(client, given)).job_id
}

async function findByName(client: Client, name: string): Promise<Job> {
  const ended: string[] = []
  for await (const job of client.jobs.iterate({ limit: largestPage })) {
    if (job.name !== name) continue
    if (job.state !== 'ended') return job
    ended.push(job.job_id)
  }
  const quoted = `"${visible(name)}"`
  if (ended.length === 0) {
    throw new NotFoundError(
      `There is no job named ${quoted}. See those there are with: carillon jobs list --all`,
    )
  }
  throw new NotFoundError(
    `No live job is named ${quoted}. Ended ones had the name; use the id instead: ${ended.join(', ')}`,
  )
}
