import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { backfillOrigin } from '../backfill-seq.js'
import { parkedUntil } from '../parked.js'
import { noTickChanges } from '../tick-changes.js'
import { isGap, isSkipped, isTick, type Life, type LifeRow, readLives, type UnreadableLife } from './life.js'
import { type JobRecords, noRecords, noTickRecords, readRecords } from './records.js'
import { type Evidence, judge, type Verdict } from './verdict.js'

export interface AttemptRow {
  attempt: number
  max_attempts: number | null
  round: number
  outcome: string
  final: boolean
  reason: string | null
  error: string | null
  available_at: number | null
  fired_at: number | null
  leased_at: number | null
  started_at: number | null
  finished_at: number | null
  recorded_at: number
  worker: number | null
  catch_up: boolean
  ticks: number
}

export interface QueueRow {
  attempt: number
  max_attempts: number
  round: number
  /** Null: parked until its job is resumed. */
  available_at: number | null
  fired_at: number
  leased_at: number | null
  holder: number | null
  catch_up: boolean
  last_error: string | null
  kind: 'http' | 'task' | 'command'
  /** The task, or the host that is called. */
  task: string
  /** What protects its host; null where nothing does. */
  breaker: 'closed' | 'open' | 'half_open' | 'draining' | null
  breaker_since: number | null
  breaker_retry_at: number | null
  target_rate: number | null
  target_concurrent: number | null
  target_error: string | null
  reason: string
}

export interface RunInTheWay {
  due: number
  started_at: number | null
  finished_at: number | null
}

const horizonStatement = statement<Record<string, never>, { now: number; ledger_from: number | null }>(
  new URL('./horizon.sql', import.meta.url),
)
const attemptsStatement = statement<{ job: number; due: number }, AttemptRow>(
  new URL('./tick-attempts.sql', import.meta.url),
)
const queueStatement = statement<{ job: number; due: number; parked_until: number }, QueueRow>(
  new URL('./tick-in-queue.sql', import.meta.url),
)
const inTheWayStatement = statement<{ job: number; at: number }, RunInTheWay>(
  new URL('./run-in-the-way.sql', import.meta.url),
)

/** A run that a backfill made of the instant; without an outcome while it is on its way. */
export interface BackfillRun {
  seq: number
  outcome: string | null
  recorded_at: number | null
}

const backfillsStatement = statement<{ job: number; due: number; origin: number }, BackfillRun>(
  new URL('./tick-backfills.sql', import.meta.url),
)

/** All that the database knows about one instant of one job, of one moment. */
export interface Facts {
  at: number
  now: number
  ledgerFrom: number | null
  row: LifeRow
  jobId: string
  /** Null: its definition is gone, or cannot be read. */
  life: Life | null
  problem: string | null
  isTick: boolean
  isGap: boolean
  records: JobRecords
  evidence: Evidence
  verdict: Verdict
  attempts: AttemptRow[]
  queued: QueueRow | null
  /** The run that was going on, for a tick that met one. */
  inTheWay: RunInTheWay | null
  backfills: BackfillRun[]
}

/** The life of one job, readable or not. */
export async function readLife(runner: Runner, job: number): Promise<Life | UnreadableLife | null> {
  const { lives, unreadable } = await readLives(runner, {
    tenant: null,
    after: job - 1,
    last: job,
    ended_from: 0,
    most: 1,
  })
  return lives[0] ?? unreadable[0] ?? null
}

/** Call it in a snapshot. */
export async function readFacts(
  runner: Runner,
  found: Life | UnreadableLife,
  at: number,
  lateToleranceMs: number,
): Promise<Facts> {
  const { job } = found.row
  const [horizon] = await runner.run(horizonStatement, {})
  const all = await readRecords(runner, { jobs: [job], from: at, to: at + 1, recorded_from: 0 })
  const records = all.get(job) ?? noRecords()
  const life = 'stretches' in found ? found : null
  const asked = life !== null && isSkipped(life, at)
  const evidence = {
    tick: at,
    records: records.byTick.get(at) ?? noTickRecords(),
    ranges: asked ? [] : records.ranges,
    replays: asked ? [] : records.replays,
  }
  const verdict = judge(
    life ?? { ...found, stretches: [], changes: noTickChanges, end: 0 },
    evidence,
    lateToleranceMs,
  )
  const [queued] = await runner.run(queueStatement, { job, due: at, parked_until: parkedUntil })
  const overlapped = verdict.reason === 'overlap'
  const [inTheWay] = overlapped ? await runner.run(inTheWayStatement, { job, at }) : []
  return {
    at,
    now: horizon?.now ?? found.row.now,
    ledgerFrom: horizon?.ledger_from ?? null,
    row: found.row,
    jobId: found.jobId,
    life,
    problem: 'problem' in found ? found.problem : null,
    isTick: life !== null && isTick(life, at),
    isGap: life !== null && isGap(life, at),
    records,
    evidence,
    verdict,
    attempts: await runner.run(attemptsStatement, { job, due: at }),
    queued: queued ?? null,
    inTheWay: inTheWay ?? null,
    backfills: await runner.run(backfillsStatement, { job, due: at, origin: backfillOrigin }),
  }
}
