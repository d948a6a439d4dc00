import type { Logger } from 'pino'
import { byIndex } from '../../db/by-index.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { parkedUntil } from '../parked.js'
import type { DeadMan } from './dead-man.js'
import { type Finding, fingerprintOf, type JobFacts } from './finding.js'
import { type FleetMemory, type FleetState, judgeFleet, stalledMs } from './judge-fleet.js'
import { type Judged, judgeTail, late, startWithinMs, type TailRow } from './judge-tail.js'
import { Learning } from './learning.js'
import { raise, resolve, resolveDelayMs } from './record.js'
import { fleetTenant, RuleBook } from './rule-book.js'
import { gathered } from './storm.js'
import { jobIdOf } from '../../platform/ids.js'

interface Claim {
  since: number
  until: number
  now: number
  memory: FleetMemory
  pinged_at: number
}

const claimStatement = statement<
  { every_ms: number; settled_ms: number; most_ms: number; oldest_ms: number },
  Claim
>(new URL('./claim-watch.sql', import.meta.url))
const keepStatement = statement<
  { until: number; now: number; memory: string; pinged_at: number },
  { through: number }
>(new URL('./keep-watch.sql', import.meta.url))
const tailStatement = statement<{ since: number; until: number; slow_ms: number }, TailRow>(
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

/** A row may be committed this long after its instant, and be judged. A later one is missing here alone. */
const settledMs = 3_000
const mostMs = 60_000
/** After an outage of the watch itself: what is older is history, and told by nobody. */
const oldestMs = 3_600_000
/** Attempts shorter than this are asked nothing about, unless their job expects something. */
const slowMs = 10_000
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
 * the one that takes the row of the watch, for all. What it finds and how far it is are one transaction.
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
    const { database, everyMs, deadMan } = this.options
    const pass = await database.transaction(async (runner) => {
      const [claimed] = await runner.run(claimStatement, {
        every_ms: everyMs,
        settled_ms: settledMs,
        most_ms: mostMs,
        oldest_ms: oldestMs,
      })
      return claimed === undefined ? null : this.pass(runner, claimed)
    })
    if (pass === null) return false
    if (pass.ping) await deadMan?.ping(pass.claimed.pinged_at, pass.claimed.now)
    return pass.claimed.until < pass.claimed.now - settledMs
  }

  private async pass(runner: Runner, claimed: Claim): Promise<{ claimed: Claim; ping: boolean }> {
    const { since, until, now, pinged_at: pingedAt } = claimed
    await byIndex(runner)
    const rows = until > since ? await runner.run(tailStatement, { since, until, slow_ms: slowMs }) : []
    const waiting = await runner.run(waitingStatement, { most: mostWaiting, parked_until: parkedUntil })
    const rules = await RuleBook.read(runner, [
      fleetTenant,
      ...[...rows, ...waiting].map(({ tenant }) => tenant),
    ])
    const long = rows.filter(({ took }) => took !== null && took >= slowMs).map(({ job }) => job)
    const tail = judgeTail(rows, rules, await this.learning.of(runner, long))
    const fleet = await this.fleet(runner, rules, claimed.memory)
    const found = [...tail.raise, ...lateRuns(waiting, rules)]
    await raise(runner, [...(await gathered(runner, found)), ...fleet.raise])
    await resolve(runner, [...tail.resolve, ...fleet.resolve], this.delayMs)
    await this.tidy(runner, rows)
    const ping = this.options.deadMan?.due(now, pingedAt, fleet.schedulers) ?? false
    const memory = JSON.stringify(fleet.memory)
    await runner.run(keepStatement, { until, now, memory, pinged_at: ping ? now : pingedAt })
    return { claimed, ping }
  }

  private async fleet(
    runner: Runner,
    rules: RuleBook,
    memory: FleetMemory,
  ): Promise<Judged & { memory: FleetMemory; schedulers: number }> {
    const { beatMs } = this.options
    const [state] = await runner.run(fleetStatement, { stalled_ms: stalledMs(rules), beat_ms: beatMs })
    if (state === undefined) throw new Error('The state of the fleet is one row.')
    return { ...judgeFleet(state, rules, memory), schedulers: state.schedulers }
  }

  private async tidy(runner: Runner, rows: readonly TailRow[]): Promise<void> {
    const well = rows.filter(({ failures, overlapped }) => failures === 0 && overlapped === 0)
    if (well.length > 0) await runner.run(wellStatement, { jobs: well.map(({ job }) => job) })
    await runner.run(settleStatement, { stale_ms: staleMs, quiet_ms: quietMs, delay_ms: this.delayMs })
    await runner.run(forgetStatement, { kept_ms: keptMs, most: 1_000 })
  }
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
