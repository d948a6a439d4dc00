import type { Client, Job } from '@carillon/sdk'
import { ApiError } from '@carillon/sdk'
import { isLive } from '../find-job.js'
import type { Abilities } from '../calls/abilities.js'

const largestPage = 200
/** Up to so many names it is quicker to ask for each than to read the whole list. */
const fewNames = 100
const atOnce = 8

/** The live jobs of these names; with `all`, every live job. */
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
    const jobs = await Promise.all(names.slice(from, from + atOnce).map((name) => liveJob(client, name)))
    for (const job of jobs) if (job !== null) found.set(job.name, job)
  }
  return found
}

async function liveJob(client: Client, name: string): Promise<Job | null> {
  try {
    const job = await client.jobs.getByName(name)
    return isLive(job) ? job : null
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

async function fromList(client: Client, names: ReadonlySet<string> | null): Promise<Map<string, Job>> {
  const found = new Map<string, Job>()
  for await (const job of client.jobs.iterate({ limit: largestPage })) {
    if (isLive(job) && (names === null || names.has(job.name))) found.set(job.name, job)
    if (found.size === names?.size) break
  }
  return found
}
