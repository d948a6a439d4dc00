import type { Client, DeadLetterFilter } from '@carillon/sdk'
import type { Command } from 'commander'
import { findJobId } from './find-job.js'
import { momentOf } from './moments.js'

export interface FilterFlags {
  job?: string
  fingerprint?: string
  after?: string
  before?: string
}

/** The flags that say which dead letters are meant. */
export function withFilter(command: Command): Command {
  return command
    .option('--job <job>', 'only of this job: its id, or the name of a live job')
    .option('--fingerprint <fingerprint>', 'only of this error, as groups shows it')
    .option('--after <instant>', 'only what died from then on: ISO-8601, or 2h for two hours ago')
    .option('--before <instant>', 'only what died before: ISO-8601, or 2h for two hours ago')
}

export async function filterOf(
  client: Client,
  { job, fingerprint, after, before }: FilterFlags,
  now: Date,
): Promise<DeadLetterFilter> {
  return {
    ...(job !== undefined && { job_id: await findJobId(client, job) }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(after !== undefined && { after: momentOf(after, now) }),
    ...(before !== undefined && { before: momentOf(before, now) }),
  }
}
