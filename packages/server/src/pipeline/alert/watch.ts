import type { Logger } from 'pino'
import { byIndex } from '../../db/by-index.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { breathe, type Clock } from '../../platform/clock.js'
import { parkedUntil } from '../parked.js'
import type { DeadMan } from './dead-man.js'
import { type Finding, fingerprintOf, type JobFacts } from './finding.js'
import { type FleetMemory, type FleetState, judgeFleet, stalledMs } from './judge-fleet.js'
import { type Judged, judgeTail, late, slowMs, startWithinMs, type TailRow } from './judge-tail.js'
import { Learning } from './learning.js'
import { raise, resolve, resolveDelayMs } from './record.js'
import { fleetTenant, RuleBook } from './rule-book.js'
import { gathered } from './storm.js'
import { jobIdOf } from '../../platform/ids.js'

interface Claim {
  now: number
  memory: FleetMemory
  pinged_at: number
}

interface Slice {
  since: number
  until: number
  now: number
  slice_ms: number
  /** There was more in it than one look takes. */
  full: boolean
  /** Jobs of which something may have to be said. */
  noted: number[]
}

const claimStatement = statement<{ every_ms: number; settled_ms: number }, Claim>(
  new URL('./claim-watch.sql', import.meta.url),
)
const keepStatement = statement<{ now: number; memory: string; pinged_at: number }, { looked_at: number }>(
  new URL('./keep-watch.sql', import.meta.url),
)
const sliceStatement = statement<
  { settled_ms: number; oldest_ms: number; most: number; slow_ms: number },
  Slice
>(new URL('./claim-tail.sql', import.meta.url))
const keepTailStatement = statement<{ until: number; slice_ms: number }, { through: number }>(
  new URL('./keep-tail.sql', import.meta.url),
)
const shrinkStatement = statement<Record<string, never>, { slice_ms: number }>(
  new URL('./shrink-tail.sql', import.meta.url),
)
const tailStatement = statement<{ since: number; until: number; slow_ms: number; noted: number[] }, TailRow>(
  new URL('./read-tail.sql', import.meta.url),
)
const wellStatement = statement<{ jobs: number[] }, { job: number }>(
  new URL('./well-again.sql', import.meta.url),
)
const waitingStatement = statement<
  { most: number; parked_until: number },
  JobFacts & { due: number; lag: number }
>(new URL('./waiting.sql', import.meta.url))
const fleetStatement = statement<{ stalled_ms: number; beat_ms: number }, FleetState>(
  new URL('./fleet-state.sql', import.meta.url),
)
const settleStatement = statement<
  { stale_ms: number; quiet_ms: number; delay_ms: number },
  { alert: number }
>(new URL('./settle.sql', import.meta.url))
const forgetStatement = statement<{ kept_ms: number; most: number }, { alerts: number }>(
  new URL('./forget.sql', import.meta.url),
)

/** A row may be committed this long after its instant, and be judged. A later one is missing here alone (docs/operate/alerts.md). */
const settledMs = 3_000
const mostMs = 60_000
/** After an outage of the watch itself: what is older is history, and told by nobody. */
const oldestMs = 3_600_000
/** So many rows of the ledger of which something may have to be said are judged in one look, and so many jobs between two breaths. */
const mostRows = 10_000
const jobsAtOnce = 500
/** A look that took longer is long enough: the next takes no more. Far below the deadline of a statement. */
const longLookMs = 2_000
/** A step of a clock is no lasting state: an hour later it is history. */
const staleMs = 3_600_000
const quietMs = 600_000
const keptMs = 90 * 86_400_000
const mostWaiting = 100

export interface WatchOptions {
  database: Database
  clock: Clock
  log: Logger
  /** How old a heartbeat may be. */
  beatMs: number
  /** How often the fleet looks. */
  everyMs: number
  /** Channels hear of an end so much later. */
  resolveDelayMs?: number
  deadMan?: DeadMan
}

/**
 * Looks at what became of ticks, at what waits and at how the fleet is, and raises alerts. Every process does it, whatever its roles:
 * the one that takes the row of the watch, for all. First the fleet, with the ping to the outside: a small transaction, which a ledger that
 * is too much for one look cannot keep from ending. Then the tail of the ledger: what it finds and how far it is are one transaction.
 */
export class Watch {
  private readonly learning: Learning
  private readonly delayMs: number

  constructor(private readonly options: WatchOptions) {
    this.learning = new Learning(options.clock)
    this.delayMs = options.resolveDelayMs ?? resolveDelayMs
  }

  /** Answers whether more of the ledger is waiting. */
  async runOnce(): Promise<boolean> {
    const { database, deadMan } = this.options
    const looked = await database.transaction((runner) => this.lookAtFleet(runner))
    if (looked === null) return false
    if (looked.ping) await deadMan?.ping(looked.claimed.pinged_at, looked.claimed.now)
    try {
      return await database.transaction((runner) => this.lookAtTail(runner))
    } catch (error) {
      // The error is what is told, also where this cannot be noted either.
      await database.run(shrinkStatement, {}).catch(() => undefined)
      throw error
    }
  }

  private async lookAtFleet(runner: Runner): Promise<{ claimed: Claim; ping: boolean } | null> {
    const { everyMs, beatMs, deadMan } = this.options
    const [claimed] = await runner.run(claimStatement, { every_ms: everyMs, settled_ms: settledMs })
    if (claimed === undefined) return null
    const { now, pinged_at: pingedAt } = claimed
    await byIndex(runner)
    const rules = await RuleBook.read(runner, [fleetTenant])
    const [state] = await runner.run(fleetStatement, { stalled_ms: stalledMs(rules), beat_ms: beatMs })
    if (state === undefined) throw new Error('The state of the fleet is one row.')
    const fleet = judgeFleet(state, rules, claimed.memory)
    await raise(runner, fleet.raise)
    await resolve(runner, fleet.resolve, this.delayMs)
    const ping = deadMan?.due(now, pingedAt, state.schedulers) ?? false
    const memory = JSON.stringify(fleet.memory)
    await runner.run(keepStatement, { now, memory, pinged_at: ping ? now : pingedAt })
    return { claimed, ping }
  }

  private async lookAtTail(runner: Runner): Promise<boolean> {
    const { clock } = this.options
    const began = clock.monotonic()
    await byIndex(runner)
    const asked = { settled_ms: settledMs, oldest_ms: oldestMs, most: mostRows, slow_ms: slowMs }
    const [slice] = await runner.run(sliceStatement, asked)
    if (slice === undefined) return false
    const { since, until, now, noted } = slice
    const rows =
      noted.length > 0 ? await runner.run(tailStatement, { since, until, slow_ms: slowMs, noted }) : []
    const waiting = await runner.run(waitingStatement, { most: mostWaiting, parked_until: parkedUntil })
    const rules = await RuleBook.read(
      runner,
      [...rows, ...waiting].map(({ tenant }) => tenant),
    )
    const tail = await this.judge(runner, rows, rules)
    const found = [...tail.raise, ...lateRuns(waiting, rules)]
    await raise(runner, await gathered(runner, found))
    await resolve(runner, tail.resolve, this.delayMs)
    await this.tidy(runner, rows)
    const isLong = clock.monotonic() - began > longLookMs
    await runner.run(keepTailStatement, { until, slice_ms: nextSlice(slice, isLong) })
    return until < now - settledMs
  }

  /** A few jobs at a time: an outage touches all of them, and the process has other things to do. */
  private async judge(runner: Runner, rows: readonly TailRow[], rules: RuleBook): Promise<Judged> {
    const long = rows.filter(({ took }) => took !== null && took >= slowMs).map(({ job }) => job)
    const learned = await this.learning.of(runner, long)
    const judged: Judged = { raise: [], resolve: [] }
    for (let at = 0; at < rows.length; at += jobsAtOnce) {
      if (at > 0) await breathe(this.options.clock)
      const some = judgeTail(rows.slice(at, at + jobsAtOnce), rules, learned)
      judged.raise.push(...some.raise)
      judged.resolve.push(...some.resolve)
    }
    return judged
  }

  private async tidy(runner: Runner, rows: readonly TailRow[]): Promise<void> {
    const well = rows.filter(({ failures, overlapped }) => failures === 0 && overlapped === 0)
    if (well.length > 0) await runner.run(wellStatement, { jobs: well.map(({ job }) => job) })
    await runner.run(settleStatement, { stale_ms: staleMs, quiet_ms: quietMs, delay_ms: this.delayMs })
    await runner.run(forgetStatement, { kept_ms: keptMs, most: 1_000 })
  }
}

/** Twice as much as went well, up to a bound; no more than went through where that was long. */
function nextSlice({ since, until, slice_ms: slice, full }: Slice, isLong: boolean): number {
  const base = full ? until - since : slice
  return Math.min(isLong ? base : base * 2, mostMs)
}

/** Runs that should have started by now. The tail tells when a later one has started in time. */
function lateRuns(waiting: readonly (JobFacts & { due: number; lag: number })[], rules: RuleBook): Finding[] {
  const seen = new Set<number>()
  return waiting.flatMap((run) => {
    const rule = rules.find(run.tenant, 'late_start', run)
    const within = startWithinMs(run, rule)
    if (!rule.enabled || within === null || run.lag <= within || seen.has(run.job)) return []
    seen.add(run.job)
    const { subject, detail, mark } = late(run, within, run.lag, run.due)
    const { tenant, job } = run
    return [
      {
        ...{ tenant, job, kind: 'late_start' as const, severity: rule.severity, subject, mark },
        fingerprint: fingerprintOf('late_start', run),
        detail: { job_id: jobIdOf(run.uuid), ...detail },
      },
    ]
  })
}
