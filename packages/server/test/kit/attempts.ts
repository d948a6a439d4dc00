import type { AttemptResult, CloseAnswer, LeasedRun } from '../../src/pipeline/run.js'
import { putRuns } from './rows.js'
import { failed, succeeded, type TestNode } from './test-house.js'
import type { House } from './use-house.js'

/** Leases up to `most` runs, as the worker does, without starting them. */
export function lease(node: TestNode, most = 100): Promise<LeasedRun[]> {
  return node.leasing.lease(node.membership.incarnation, most)
}

/** Puts a run of this job into the queue and leases it. */
export async function leaseOne(
  house: House,
  node: TestNode,
  job: { key: number },
  options: Parameters<typeof putRuns>[2] = {},
): Promise<LeasedRun> {
  await putRuns(house, job, options)
  const run = (await lease(node)).find((leased) => leased.job === job.key)
  if (run === undefined) throw new Error('The run was not leased.')
  return run
}

/** The result of an attempt: a success, unless told otherwise. */
export async function resultOf(
  house: House,
  node: TestNode,
  run: LeasedRun,
  given: Partial<AttemptResult> = {},
): Promise<AttemptResult> {
  const definitions = await node.leasing.definitions([run])
  const now = await house.now()
  return {
    ...(given.outcome === 'failed' ? failed : succeeded),
    run,
    definition: definitions.get(`${run.job}@${run.version}`)?.definition ?? null,
    startedAt: now,
    finishedAt: now,
    ...given,
  }
}

/** Hands results to one closer at once, so that they share a batch. */
export async function closeAll(
  house: House,
  closer: TestNode['closer'],
  results: readonly AttemptResult[],
): Promise<CloseAnswer[]> {
  const answers = Promise.all(results.map((result) => closer.close(result)))
  await house.clock.advance(0)
  return answers
}
