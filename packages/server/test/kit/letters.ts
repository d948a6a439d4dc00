import type { AttemptResult } from '../../src/pipeline/run.js'
import { runIdOf } from '../../src/platform/ids.js'
import { Account } from '../../src/pipeline/account/account.js'
import { Redriving } from '../../src/pipeline/intervene/redriving.js'
import { composeInterventions, type Interventions } from '../../src/roles/interventions.js'
import { closeAll, lease, resultOf } from './attempts.js'
import { putRuns } from './rows.js'
import { silentLog } from './test-database.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

/** What people can do with runs and dead letters at this node. */
export function hands(node: TestNode): Interventions {
  return composeInterventions(node, { jobOf: (tenant, jobId) => node.registry.find(tenant, jobId) })
}

/** The loop that carries out re-drives of many, without its clock. */
export function redriving(node: TestNode): Redriving {
  return new Redriving({ database: node.database, log: silentLog, onRedriven: () => undefined })
}

type Failure = Partial<Pick<AttemptResult, 'reason' | 'error' | 'result'>>

/** Lets runs of this job die, each of an error of its own if given; answers their ids, the first to die first. */
export async function die(
  house: House,
  node: TestNode,
  job: { key: number },
  failures: readonly Failure[] = [{}],
): Promise<string[]> {
  const ids: string[] = []
  for (const failure of failures) {
    // Apart, so that each has a tick and a death of its own.
    await house.clock.advance(10)
    await putRuns(house, job)
    ids.push(...(await endAll(house, node, job, { outcome: 'failed', retryable: false, ...failure })))
  }
  return ids
}

/** Leases what there is of this job and ends it so; answers the ids of the runs. */
export async function endAll(
  house: House,
  node: TestNode,
  job: { key: number },
  given: Partial<AttemptResult> = {},
): Promise<string[]> {
  const runs = (await lease(node)).filter((run) => run.job === job.key)
  const results = []
  for (const run of runs) results.push(await resultOf(house, node, run, given))
  await closeAll(house, node.closer, results)
  return runs.map(runIdOf)
}

export function accountOf(house: House): Account {
  return new Account({ database: house.database.database, clock: house.clock, lateToleranceMs: 15_000 })
}

/** Where a run is now. It must be in one place. */
export async function placesOf(house: House, job: { key: number }): Promise<Record<string, number>> {
  const [row] = await house.query<Record<string, number>>(
    `SELECT (SELECT count(*)::int FROM carillon.queue WHERE job = $1) AS queued,
            (SELECT count(*)::int FROM carillon.dead_letters WHERE job = $1) AS dead,
            (SELECT count(*)::int FROM carillon.ledger WHERE job = $1 AND final) AS ended`,
    [job.key],
  )
  return row ?? {}
}

/** The run of this job that is in the queue. */
export async function onlyRun(house: House, job: { key: number }): Promise<string> {
  const [row] = await house.query<{
    due: number
    job: number
    origin: number
    seq: number
    partition: number
  }>('SELECT due, job, origin, seq, partition FROM carillon.queue WHERE job = $1', [job.key])
  if (row === undefined) throw new Error('There is no run.')
  return runIdOf(row)
}
