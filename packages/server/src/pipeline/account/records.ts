import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

export interface LedgerRecord {
  job: number
  due: number
  due_to: number | null
  ticks: number
  outcome: 'success' | 'failed' | 'dead' | 'stale' | 'skipped' | 'cancelled'
  final: boolean
  round: number
  attempt: number
  catch_up: boolean
  reason: string | null
  available_at: number | null
  leased_at: number | null
  started_at: number | null
}

interface InFlightRecord {
  job: number
  due: number
  round: number
  place: 'queue' | 'dead_letters'
}

export interface ReplayRecord {
  job: number
  from_ms: number
  to_ms: number
  cursor_ms: number
  done: number
  total: number
  per_minute: number | null
  version: number
  reason: string
  state: 'running' | 'paused'
}

interface Slice {
  jobs: number[]
  from: number
  to: number
}

const ledgerStatement = statement<Slice & { recorded_from: number }, LedgerRecord>(
  new URL('./read-ledger.sql', import.meta.url),
)
const inFlightStatement = statement<Slice, InFlightRecord>(new URL('./read-in-flight.sql', import.meta.url))
const replaysStatement = statement<Slice, ReplayRecord>(new URL('./read-open-replays.sql', import.meta.url))

/** What the tables say about one tick. */
export interface TickRecords {
  finals: LedgerRecord[]
  /** Its first attempt: whether that was late decides whether the run was. */
  first: LedgerRecord | null
  /** Its round in the queue, if it is there. */
  queued: number | null
  /** Its round as a dead letter, if it is one. */
  letter: number | null
}

/** What the tables say about the ticks of one job in a slice of time. */
export interface JobRecords {
  byTick: Map<number, TickRecords>
  /** Records that stand for several ticks, by their first. */
  ranges: LedgerRecord[]
  /** Records of wall times that the clocks jumped over: no ticks. */
  gaps: LedgerRecord[]
  replays: ReplayRecord[]
}

/** All records of some jobs in from <= tick < to. Call it in one snapshot with the lives of the jobs. */
export async function readRecords(
  runner: Runner,
  slice: Slice & { recorded_from: number },
): Promise<Map<number, JobRecords>> {
  const { recorded_from, ...plain } = slice
  const records = new Map(slice.jobs.map((job) => [job, noRecords()]))
  const of = (job: number): JobRecords => records.get(job) ?? noRecords()
  for (const row of await runner.run(ledgerStatement, { ...plain, recorded_from }))
    addLedger(of(row.job), row)
  for (const row of await runner.run(inFlightStatement, plain)) {
    const tick = tickRecords(of(row.job), row.due)
    if (row.place === 'queue') tick.queued = row.round
    else tick.letter = row.round
  }
  for (const row of await runner.run(replaysStatement, plain)) of(row.job).replays.push(row)
  for (const { ranges } of records.values()) ranges.sort((a, b) => a.due - b.due)
  return records
}

export function noRecords(): JobRecords {
  return { byTick: new Map(), ranges: [], gaps: [], replays: [] }
}

export function noTickRecords(): TickRecords {
  return { finals: [], first: null, queued: null, letter: null }
}

function addLedger(records: JobRecords, row: LedgerRecord): void {
  if (row.final && row.outcome === 'skipped' && row.reason === 'dst_gap') records.gaps.push(row)
  else if (row.final && row.due_to !== null) records.ranges.push(row)
  else {
    const tick = tickRecords(records, row.due)
    if (row.final) tick.finals.push(row)
    if (row.attempt === 1 && row.round === 0) tick.first = row
  }
}

function tickRecords(records: JobRecords, due: number): TickRecords {
  let tick = records.byTick.get(due)
  if (tick === undefined) {
    tick = noTickRecords()
    records.byTick.set(due, tick)
  }
  return tick
}
