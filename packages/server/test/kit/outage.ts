import type { JobInput } from '@carillon/contract'
import type { OracleSource } from '../oracle/oracle.mjs'
import { oracleTicks } from '../oracle/oracle.mjs'
import { type Becomes, becomesOf } from './missed-model.js'
import { type LedgerRow, ledgerOf, timerOf } from './rows.js'
import { fireTimes, type TestNode } from './test-house.js'
import type { House } from './use-house.js'
import { utcText } from '../../src/time/iso-text.js'

export interface OutageJob {
  key: number
  job_id: string
  input: Partial<JobInput>
  registeredAt: number
  spreadMs: number
}

const minute = 60_000

/** Schedules of every kind, with everything that bounds and spreads one. */
export function kindsOfJobs(now: number): Record<string, Partial<JobInput>> {
  const at = (minutes: number) => utcText(now + minutes * minute)
  const berlin = { timezone: 'Europe/Berlin' }
  return {
    'cron by the minute': { schedule: '*/7 * * * *', ...berlin },
    'cron with seconds': { schedule: '*/40 * * * * *' },
    'every second': { schedule: '* * * * * *' },
    'fixed times over a clock change': { schedule: '*/10 0-4 * * *', ...berlin, dst_overlap: 'both' },
    'fixed times, gap skipped': {
      schedule: '*/10 0-4 * * *',
      ...berlin,
      dst_gap: 'skip',
      dst_overlap: 'last',
    },
    interval: { schedule: '@every 11m' },
    'interval with an anchor': { schedule: { every: '13m', anchor: at(-100) } },
    recurrence: {
      schedule: { rrule: 'FREQ=MINUTELY;INTERVAL=9', dtstart: '2026-01-01T00:00:00' },
      ...berlin,
    },
    union: { schedule: [{ every: '17m', anchor: at(0) }, '*/15 * * * *', '30 */20 * * * *'], ...berlin },
    'one instant': { schedule: at(21) },
    'with exclusions': { schedule: '*/5 * * * *', exclude: ['2031-01-01', '2027-03-27'], ...berlin },
    'ends meanwhile': { schedule: '*/6 * * * *', ends_at: at(33) },
    'begins meanwhile': { schedule: '*/6 * * * *', starts_at: at(33) },
    'so many runs': { schedule: '*/6 * * * *', max_runs: 4 },
    jitter: { schedule: '*/8 * * * *', jitter_seconds: 60 },
    'fire window': { schedule: '*/8 * * * *', fire_window_seconds: 120 },
  }
}

export const missedPolicies: Partial<JobInput>[] = [
  { missed_window: 'SKIP' },
  { missed_window: 'RUN_ONCE' },
  { missed_window: 'RUN_ONCE', misfire_grace_seconds: 150 },
  { missed_window: 'RUN_ALL' },
  { missed_window: 'RUN_ALL', max_missed: 2 },
  { missed_window: 'RUN_ALL', max_missed: 1 },
  { missed_window: 'RUN_ALL', max_missed: 60, misfire_grace_seconds: 1_500 },
  { missed_window: 'RUN_ALL', max_missed: 60, misfire_grace_seconds: 0 },
]

export const overlapPolicies: Partial<JobInput>[] = [
  { overlap_policy: 'SKIP' },
  { overlap_policy: 'ALLOW' },
  { overlap_policy: 'ALLOW', max_concurrent: 2 },
  { overlap_policy: 'QUEUE' },
  { overlap_policy: 'REPLACE' },
]

/**
 * Every kind with every missed-run policy, or with each `nth` of them; the overlap policies take turns. Another turn
 * makes other combinations.
 */
export async function registerAll(house: House, node: TestNode, turn = 0, nth = 1): Promise<OutageJob[]> {
  const kinds = Object.entries(kindsOfJobs(await house.now()))
  const inputs = kinds.flatMap(([name, kind], row) =>
    missedPolicies.flatMap((policy, at) => {
      const overlap = overlapPolicies[(row + at + turn) % overlapPolicies.length]
      return (row + at + turn) % nth === 0 ? [{ name: `${name} ${at}`, ...kind, ...policy, ...overlap }] : []
    }),
  )
  const jobs: OutageJob[] = []
  for (const input of inputs) jobs.push(await registerJob(house, node, input))
  return jobs
}

export async function registerJob(
  house: House,
  node: TestNode,
  input: Partial<JobInput>,
): Promise<OutageJob> {
  const { key, job_id } = await node.register(input)
  const { due, start_at } = await timerOf(house, { key })
  return { key, job_id, input, registeredAt: await house.now(), spreadMs: (start_at ?? 0) - (due ?? 0) }
}

/** The ticks of a job after one instant up to and including another, by the oracle. */
export function ticksOf(job: OutageJob, after: number, to: number): number[] {
  const { schedule, timezone, dst_gap, dst_overlap, exclude, on_excluded, starts_at, ends_at } = job.input
  const source = {
    schedule,
    timezone: timezone ?? 'UTC',
    anchor: job.registeredAt,
    ...(dst_gap !== undefined && { dst_gap }),
    ...(dst_overlap !== undefined && { dst_overlap }),
    ...(exclude !== undefined && { exclude }),
    ...(on_excluded !== undefined && { on_excluded }),
    ...(starts_at !== undefined && { starts_at }),
    ...(ends_at !== undefined && { ends_at }),
  } as OracleSource
  return oracleTicks(source, after + 1, to)
}

/** When somebody looked after the job again and decided what becomes of the missed ticks. */
export async function lookedAtOf(house: House, job: OutageJob, wokeAt: number): Promise<number> {
  const [row] = await house.query<{ at: number | null }>(
    `SELECT least((SELECT min(recorded_at) FROM carillon.ledger WHERE job = $1 AND reason = 'missed'),
                  (SELECT min(created_at) FROM carillon.replays WHERE job = $1)) AS at`,
    [job.key],
  )
  return row?.at ?? wokeAt
}

/** What must have become of a job's ticks up to the end of the outage. */
export function expectedOf(job: OutageJob, wokeAt: number): Becomes {
  const ticks = ticksOf(job, job.registeredAt, wokeAt)
  const { spreadMs } = job
  return becomesOf(job.input, { ticks, spreadMs, now: wokeAt, lateToleranceMs: fireTimes.lateToleranceMs })
}

/** The same, read from the ledger: what was passed over, caught up and run up to the end of the outage. */
export async function foundOf(house: House, job: OutageJob, wokeAt: number): Promise<Becomes> {
  const rows = (await ledgerOf(house, job)).filter((row) => row.final && row.due <= wokeAt)
  const ran = (caughtUp: boolean) =>
    rows.filter((row) => row.outcome === 'success' && row.catch_up === caughtUp).map(({ due }) => due)
  const passed = rows.filter((row) => row.outcome === 'skipped' && row.reason !== 'dst_gap')
  const [range] = passed
  if (passed.length > 1 || (range !== undefined && range.reason !== 'missed')) {
    throw new Error(`${job.input.name ?? job.key} has ${passed.map(inWords).join('; ')}`)
  }
  return {
    skipped:
      range === undefined ? null : { from: range.due, to: range.due_to ?? range.due, count: range.ticks },
    caughtUp: ran(true),
    fresh: ran(false),
  }
}

const inWords = ({ due, due_to, ticks, reason }: LedgerRow) =>
  `${due} to ${due_to ?? due}: ${ticks} skipped, ${reason ?? 'without a reason'}`

/** One look of every stage of a node, and time for what has begun to end. */
export async function turnOf(house: House, node: TestNode): Promise<void> {
  await node.beat()
  await node.firing.runOnce()
  await node.catchUp.runOnce()
  await node.worker.lookOnce()
  await node.worker.leaseOnce()
  await house.finished(node)
}

/**
 * Turns until nothing that was due up to an instant waits any more. Steps slow enough that a frequent job trails behind
 * for seconds (that alone must count as no overload), then larger ones for what starts long after its tick.
 */
export async function workOff(house: House, nodes: TestNode[], upTo: number): Promise<void> {
  for (let turns = 0; turns < 3_000; turns++) {
    for (const node of nodes) await turnOf(house, node)
    if ((await owedUpTo(house, upTo)) === 0) return
    await house.clock.advance(turns < 200 ? 200 : 500)
  }
  throw new Error('The ticks of the outage were not worked off.')
}

async function owedUpTo(house: House, upTo: number): Promise<number> {
  const [row] = await house.query<{ owed: number }>(
    `SELECT (SELECT count(*) FROM carillon.queue WHERE due <= $1)::int
          + (SELECT count(*) FROM carillon.timers WHERE due <= $1)::int
          + (SELECT count(*) FROM carillon.replays WHERE state = 'running')::int AS owed`,
    [upTo],
  )
  return row?.owed ?? 0
}
