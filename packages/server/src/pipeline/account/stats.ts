import {
  type RunCounts,
  type Stats as StatsView,
  type StatsHistory,
  statsHistoryLimits,
} from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { parkedUntil } from '../parked.js'
import { lagClasses } from './run-counting.js'
import { utcText } from '../../time/iso-text.js'

interface StatsRow {
  now: number
  ready: number
  waiting: number
  running: number
  waiting_retry: number
  parked: number
  oldest_ready: number | null
  jobs: Partial<Record<keyof StatsView['jobs'], number>>
  dead_letters: number
  nodes: number
  replays: number
  ticks: number
}

interface CountRow {
  outcome: string
  lag: number
  minute: boolean
  runs: number
  first: number
  max_lag: number
}

const showStatement = statement<{ tenant: number; parked_until: number }, StatsRow>(
  new URL('./show-stats.sql', import.meta.url),
)
const countsStatement = statement<{ tenant: number; minute_ms: number; hour_ms: number }, CountRow>(
  new URL('./read-counts.sql', import.meta.url),
)
const historyStatement = statement<
  { tenant: number; span_ms: number; step_ms: number },
  Omit<CountRow, 'minute'> & { at: number }
>(new URL('./read-history.sql', import.meta.url))
const countedStatement = statement<Record<string, never>, { now: number; through: number }>(
  new URL('./read-counted.sql', import.meta.url),
)

/** Counting a million jobs takes a while: then the answer is kept for longer. */
const keptMs = 1_000
const keptFactor = 20
const mostTenants = 1_000

/** An answer for each tenant, for a moment: whoever asks meanwhile gets the one that is there, or is on its way. */
class Kept<Answer> {
  private readonly known = new Map<number, { until: number; answer: Promise<Answer> }>()

  constructor(private readonly clock: Clock) {}

  get(tenant: number, ask: () => Promise<Answer>): Promise<Answer> {
    const { clock } = this
    const begun = clock.monotonic()
    const known = this.known.get(tenant)
    if (known !== undefined && begun < known.until) return known.answer
    const entry = { until: Number.POSITIVE_INFINITY, answer: ask() }
    this.known.delete(tenant)
    this.known.set(tenant, entry)
    for (const oldest of this.known.keys()) if (this.known.size > mostTenants) this.known.delete(oldest)
    const keep = () => {
      const took = clock.monotonic() - begun
      entry.until = begun + Math.max(keptMs, took * keptFactor)
    }
    entry.answer.then(keep, () => this.known.delete(tenant))
    return entry.answer
  }
}

/** How things go, in numbers. What many ask for within a moment is counted once. */
export class Stats {
  private readonly numbers: Kept<StatsView>
  private readonly minutes: Kept<StatsHistory>

  constructor(private readonly options: { database: Database; clock: Clock }) {
    this.numbers = new Kept(options.clock)
    this.minutes = new Kept(options.clock)
  }

  get(tenant: number): Promise<StatsView> {
    return this.numbers.get(tenant, () => this.count(tenant))
  }

  /** The last minute, for those who are told again and again. */
  recent(tenant: number): Promise<StatsHistory> {
    return this.minutes.get(tenant, () => this.history(tenant, 1))
  }

  /** In pieces that are long enough for some two hundred of them. Never one that was read before it was asked for. */
  async history(tenant: number, minutes: number): Promise<StatsHistory> {
    const { database } = this.options
    const step = statsHistoryLimits.steps.find((seconds) => (minutes * 60) / seconds <= 240) ?? 60
    const [clock] = await database.run(countedStatement, {})
    if (clock === undefined) throw new Error('Nothing says up to where the ledger is counted.')
    const rows = await database.run(historyStatement, {
      tenant,
      span_ms: minutes * 60_000,
      step_ms: step * 1_000,
    })
    const pieces = byPiece(rows)
    return {
      now: utcText(clock.now),
      through: utcText(clock.through),
      step_seconds: step,
      data: [...pieces].map(([at, counts]) => ({ at: utcText(at), counts: summed(counts) })),
    }
  }

  private async count(tenant: number): Promise<StatsView> {
    const { database } = this.options
    const [row] = await database.run(showStatement, { tenant, parked_until: parkedUntil })
    if (row === undefined) throw new Error('Counting gave no answer.')
    const counts = await database.run(countsStatement, { tenant, minute_ms: 60_000, hour_ms: 3_600_000 })
    return {
      now: utcText(row.now),
      jobs: { active: 0, paused: 0, ended: 0, cancelled: 0, ...row.jobs },
      queue: {
        ready: row.ready,
        waiting: row.waiting,
        running: row.running,
        waiting_retry: row.waiting_retry,
        parked: row.parked,
        oldest_ready_ms: row.oldest_ready === null ? null : row.now - row.oldest_ready,
      },
      last_minute: summed(counts.filter(({ minute }) => minute)),
      last_hour: summed(counts),
      dead_letters: row.dead_letters,
      nodes: { alive: row.nodes },
      catch_up: { replays: row.replays, ticks: row.ticks },
    }
  }
}

function byPiece<Row extends { at: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const pieces = new Map<number, Row[]>()
  for (const row of rows) {
    const piece = pieces.get(row.at)
    if (piece === undefined) pieces.set(row.at, [row])
    else piece.push(row)
  }
  return pieces
}

type Counted = Omit<CountRow, 'minute'>

function summed(rows: readonly Counted[]): RunCounts {
  const of = (outcome: string) => sum(rows.filter((row) => row.outcome === outcome).map(({ runs }) => runs))
  const late = rows.filter(({ lag }) => lag >= 0)
  return {
    fired: sum(rows.map(({ first }) => first)),
    success: of('success'),
    failed: of('failed') + of('retried'),
    dead: of('dead'),
    skipped: of('skipped'),
    lag_ms:
      late.length === 0
        ? null
        : { p50: share(late, 0.5), p95: share(late, 0.95), p99: share(late, 0.99), max: most(late) },
  }
}

/** The upper end of the class in which this share of the runs is reached; never more than the latest of all. */
function share(rows: readonly Counted[], part: number): number {
  const wanted = part * sum(rows.map(({ first }) => first))
  let counted = 0
  for (const row of rows.toSorted((a, b) => a.lag - b.lag)) {
    counted += row.first
    if (counted >= wanted) return Math.min(lagClasses[row.lag] ?? most(rows), most(rows))
  }
  return most(rows)
}

function most(rows: readonly Counted[]): number {
  return Math.max(...rows.map(({ max_lag: lag }) => lag))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
