import type { Logger } from 'pino'
import { statement } from '../../db/statement.js'
import { breathe } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { readTickChanges, type TickChanges } from '../tick-changes.js'
import { Aftermath, type AftermathOptions } from './aftermath.js'
import type { OwnedPartition } from './fire-statement.js'
import { Findings } from './findings.js'
import { Gathering } from './gathering.js'
import type { Horizon, Whereabouts } from './horizon.js'
import { KnownTimers } from './known-timers.js'
import { Lanes, type TellDecided } from './lanes.js'
import type { Load } from './load.js'
import type { DueTimer, Terms } from './plan.js'
import { type PassPlan, Planning } from './planning.js'
import { Proposing, type ProposingOptions } from './proposing.js'
import type { Scan } from './scan.js'
import { Staging } from './staging.js'

const readStatement = statement<{ jobs: number[]; partitions: number[]; start_ats: number[] }, DueTimer>(
  new URL('./read-timers.sql', import.meta.url),
)

export interface FiringOptions extends Omit<AftermathOptions, 'staged'>, ProposingOptions {
  log: Logger
  metrics: Metrics
  horizon: Horizon
  scan: Scan
  load: Load
  lateToleranceMs: number
  /** Later than this is missed while the scheduler is overloaded. */
  overloadLagMs: number
  /** An operator's order: fire windows so many times as wide. */
  windowFactor: () => number
  owned: () => readonly OwnedPartition[]
  /** Asks for another pass. */
  wake: () => void
}

/** A pass is bounded: what is left over is taken by the next, which follows at once. */
const mostPerPass = 5_000
/** So many are read at once, while those read before are fired. */
const mostPerRead = 1_000

/**
 * Turns due ticks of the owned partitions into runs. The database decides: this loop only proposes, from what it saw,
 * and a proposal that is no longer true is refused by epoch, due or rev.
 */
export class Firing {
  private callOff: (() => void) | null = null
  private readonly planning: Planning
  private readonly proposing: Proposing
  private readonly known = new KnownTimers((partition) => this.minePartitions().has(partition))
  private readonly gathering = new Gathering()
  private gatheredAt = Number.NEGATIVE_INFINITY
  /** The partitions of the list that was answered last. */
  private mine: { owned: readonly OwnedPartition[]; partitions: ReadonlySet<number> } = {
    owned: [],
    partitions: new Set(),
  }
  private readonly findings: Findings
  private readonly lanes = new Lanes((...some) => this.fireSome(...some))
  /** The last pass has failed: until one has ended well, each waits for its statements, or it would end well before they fail. */
  private shaken = false
  private progressedAt: number

  constructor(private readonly options: FiringOptions) {
    this.progressedAt = options.clock.monotonic()
    this.findings = new Findings(options.scan)
    this.planning = new Planning(options)
    this.proposing = new Proposing(options, {
      known: this.known,
      aftermath: new Aftermath({ ...options, staged: (...tick) => options.staging.staged(...tick) }),
      tellUnreadable: (timer, error) => this.planning.tellUnreadable(timer, error),
    })
  }

  /**
   * One pass over the owned partitions. Answers true when there is more than fits.
   *
   * In a crowd, where there is as much as a pass takes, its statements go on while the next pass is made, and the table is scanned
   * beside them: nothing waits for anything else. Otherwise a pass ends with its last statement.
   */
  async runOnce(): Promise<boolean> {
    this.callOff?.()
    try {
      const more = this.options.owned().length === 0 ? await this.ownNothing() : await this.pass()
      this.shaken = false
      return more
    } catch (error) {
      this.shaken = true
      // What the statements had is no longer in the wheel: the next pass has to see it, or it would end well with nothing to fire.
      this.options.scan.soon()
      throw error
    }
  }

  /** How long ago something was fired, or there was nothing to fire: a pass whose statements are under way has got nowhere yet. */
  sinceProgressMs(): number {
    return this.options.clock.monotonic() - this.progressedAt
  }

  private progressed(): void {
    this.progressedAt = this.options.clock.monotonic()
  }

  /** Others fire them now: whoever owns nothing is not behind, and what has failed is no longer its own. */
  private async ownNothing(): Promise<boolean> {
    this.options.load.passed(0)
    await this.lanes.settled().catch(() => undefined)
    await this.findings.forgiven()
    this.progressed()
    return false
  }

  private async pass(): Promise<boolean> {
    const { scan, horizon, load } = this.options
    await this.throwFailures()
    const now = this.options.databaseClock.atLeast()
    const aheadMs = this.aheadMs(now)
    // What the wheel knew of comes first in every pass, however much a scan has found.
    const wanted = horizon.take(now, aheadMs, mostPerPass)
    const full = wanted.size >= mostPerPass
    this.options.staging.taken(horizon.takenThrough(now + aheadMs), now)
    this.gathered(wanted.size)
    const overdueMs = full ? this.overdueMs(now) : 0
    // One that is being fired goes on from there, whatever the wheel was told meanwhile.
    for (const job of this.lanes.jobs()) wanted.delete(job)
    const crowd = full && !this.shaken
    try {
      await this.lookAndFire(wanted, aheadMs, crowd)
    } catch (error) {
      horizon.putBack(wanted)
      throw error
    }
    if (!crowd || this.lanes.areIdle) this.progressed()
    const latestMs = this.lanes.takeLatestMs()
    if (latestMs !== null || !full) load.passed(Math.max(latestMs ?? 0, overdueMs))
    const more = full || this.findings.size > 0 || scan.goesOn
    if (!more) this.wakeForNext()
    return more
  }

  /** Before anything is taken. Both at once: they mostly have one cause, and it shall fail one pass. */
  private async throwFailures(): Promise<void> {
    const looked = Promise.resolve().then(() => this.findings.throwFailure())
    await Promise.all([this.lanes.throwFailure(), looked])
  }

  /** What is left in `wanted` when this throws was not given to the statements. */
  private async lookAndFire(
    wanted: Map<number, Whereabouts>,
    aheadMs: number,
    crowd: boolean,
  ): Promise<void> {
    if (crowd) this.findings.lookBeside(this.lanes.jobs())
    else await this.calmDown(wanted)
    // Of statements that went on beside a pass. One that came up again meanwhile is on its way already: twice would undo what the first found.
    for (const [job, whereabouts] of this.proposing.takeMistaken())
      if (!wanted.has(job) && !this.lanes.has(job)) wanted.set(job, whereabouts)
    this.findings.moveTo(wanted, mostPerPass)
    await this.fireThose(wanted, aheadMs, crowd)
    if (crowd) return
    const mistaken = this.proposing.takeMistaken()
    if (mistaken.size > 0) await this.fireThose(mistaken, aheadMs, crowd)
  }

  /** Before a look that is waited for: what is under way from a crowd is over, and seen as it is. */
  private async calmDown(wanted: ReadonlyMap<number, Whereabouts>): Promise<void> {
    await this.lanes.settled()
    await this.findings.look((job, startAt) => wanted.get(job)?.startAt === startAt)
  }

  private gathered(ticks: number): void {
    const now = this.options.clock.monotonic()
    this.gathering.passed(ticks, now - this.gatheredAt)
    this.gatheredAt = now
  }

  /** Later than the tolerance is missed, as after an outage: that is no overload, unless one was on before. */
  private overdueMs(now: number): number {
    const { horizon, load, lateToleranceMs } = this.options
    const overdueMs = horizon.overdueMs(now)
    return load.overloaded || overdueMs <= lateToleranceMs ? overdueMs : 0
  }

  /** A job of ours was changed, or a partition has become ours: look into the table at once. */
  lookNow(): void {
    this.options.scan.soon()
    this.options.wake()
  }

  /** The wheel was told of something: it may come up before the pass that was planned. */
  horizonChanged(): void {
    this.wakeForNext()
  }

  /** Begins nothing more. Resolves when the statements under way have ended, however they end. */
  async stop(): Promise<void> {
    this.callOff?.()
    this.lanes.stop()
    await this.lanes.settled().catch(() => undefined)
  }

  private aheadMs(now: number): number {
    const { staging, horizon, metrics } = this.options
    const aheadMs = staging.aheadMs(now, (instant, many) => horizon.startBy(instant, many))
    metrics.stageAhead.set(aheadMs / 1000)
    metrics.wheelTimers.set(horizon.size)
    return aheadMs
  }

  private async fireThose(wanted: Map<number, Whereabouts>, aheadMs: number, crowd: boolean): Promise<void> {
    this.findings.taken(wanted.keys())
    await this.readAndFire(wanted, aheadMs)
    await (crowd ? this.lanes.wantMore() : this.lanes.settled())
  }

  /** Those that are known at once; others are read part by part, each while the one before it is fired. */
  private async readAndFire(wanted: Map<number, Whereabouts>, aheadMs: number): Promise<void> {
    const { known, unknown } = this.toRead(wanted)
    let reading = this.read(unknown, 0)
    await this.fireAll(known, aheadMs, wanted)
    for (let at = mostPerRead; ; at += mostPerRead) {
      const timers = await reading
      if (at < unknown.length) reading = this.read(unknown, at)
      await this.fireAll(timers, aheadMs, wanted)
      if (at >= unknown.length) return
    }
  }

  private toRead(wanted: Map<number, Whereabouts>) {
    const { databaseClock } = this.options
    const mine = this.minePartitions()
    const now = databaseClock.atLeast()
    const known: DueTimer[] = []
    const unknown: [number, Whereabouts][] = []
    wanted.forEach((whereabouts, job) => {
      if (!mine.has(whereabouts.partition)) return
      const timer = this.known.take(job, whereabouts, now)
      if (timer === null) unknown.push([job, whereabouts])
      else known.push(timer)
    })
    return { known, unknown }
  }

  private minePartitions(): ReadonlySet<number> {
    const owned = this.options.owned()
    if (owned !== this.mine.owned)
      this.mine = { owned, partitions: new Set(owned.map(({ partition }) => partition)) }
    return this.mine.partitions
  }

  private read(unknown: readonly [number, Whereabouts][], from: number): Promise<DueTimer[]> {
    const { database, databaseClock } = this.options
    const entries = unknown.slice(from, from + mostPerRead)
    if (entries.length === 0) return Promise.resolve([])
    const sample = databaseClock.begin()
    const reading = database
      .run(readStatement, {
        jobs: entries.map(([job]) => job),
        partitions: entries.map(([, { partition }]) => partition),
        start_ats: entries.map(([, { startAt }]) => startAt),
      })
      .then((timers) => {
        const [first] = timers
        if (first !== undefined) sample(first.now)
        return timers
      })
    // It fails the pass when it is waited for. Should the pass fail before that, nobody waits.
    reading.catch(() => undefined)
    return reading
  }

  /** Gives those whose moment has come to the statements: they are no longer among those that are wanted. */
  private async fireAll(
    timers: DueTimer[],
    aheadMs: number,
    wanted: Map<number, Whereabouts>,
  ): Promise<void> {
    if (timers.length === 0) return
    const near = timers.filter((timer) => this.isReady(timer, aheadMs))
    const changes = await this.changesOf(near)
    const ready = near.filter((timer) => !this.waitsToBePassed(timer, changes.get(timer.job)))
    const calendars = await readCalendars(
      this.options.database,
      ready.flatMap(({ tenant, definition }) => (namesCalendar(definition) ? [tenant] : [])),
    )
    this.lanes.add(ready, { terms: this.terms(), calendars, changes })
    for (const { job } of ready) wanted.delete(job)
  }

  /** One statement, planned while those of other lanes are under way. */
  private async fireSome(
    ready: readonly DueTimer[],
    from: number,
    plan: PassPlan,
    decided: TellDecided,
  ): Promise<{ end: number; lagMs: number }> {
    const { ticks, end } = await this.planning.plan(ready, from, this.proposing.mostAtOnce, plan)
    // Ownership may have gone meanwhile: each statement names what is held now.
    const lagMs = await this.proposing.fire(this.options.owned(), ticks, decided)
    this.progressed()
    decided(ready.slice(from, end).map(({ job }) => job))
    await breathe(this.options.clock)
    return { end, lagMs }
  }

  private terms(): Terms {
    const { lateToleranceMs, overloadLagMs, load, windowFactor } = this.options
    return {
      lateToleranceMs: load.overloaded ? Math.min(overloadLagMs, lateToleranceMs) : lateToleranceMs,
      overloaded: load.overloaded,
      windowFactor: windowFactor(),
    }
  }

  /** A timer that moved on since the wheel heard of it, or that is not to be staged yet, waits for its moment. */
  private isReady(timer: DueTimer, aheadMs: number): boolean {
    const { job, partition, due, start_at, accounted_through, now } = timer
    const { horizon } = this.options
    if (start_at > now + aheadMs) {
      this.known.keep(timer)
      horizon.startsAt(job, partition, start_at)
      return false
    }
    const notBefore = Staging.notBefore(start_at, due, accounted_through, aheadMs)
    if (notBefore <= now) return true
    this.known.keep(timer)
    horizon.lookAgainAt(job, { partition, startAt: start_at }, notBefore)
    return false
  }

  /** Only jobs of which something is asked ahead of their cursors: the others have nothing to read. */
  private changesOf(timers: readonly DueTimer[]): Promise<ReadonlyMap<number, TickChanges>> {
    const changed = timers.filter(
      ({ ticks_changed_until: until, accounted_through: after }) => (until ?? 0) > after,
    )
    return readTickChanges(
      this.options.database,
      changed.map(({ job, accounted_through: after }) => ({ job, after })),
    )
  }

  /** A tick that is left out on request is noted at its time and not before: until then it can be restored. */
  private waitsToBePassed(
    { job, partition, due, start_at: startAt, now }: DueTimer,
    changes: TickChanges | undefined,
  ): boolean {
    if (startAt <= now || changes?.isSkipped(due) !== true) return false
    this.options.horizon.lookAgainAt(job, { partition, startAt }, startAt)
    return true
  }

  /** Be there when the next timer comes up, whatever the scan interval. */
  private wakeForNext(): void {
    const { clock, wake, horizon, databaseClock } = this.options
    this.callOff?.()
    const now = databaseClock.atLeast()
    const aheadMs = this.aheadMs(now)
    const at = horizon.nextLookAt(aheadMs, this.gathering.waitMs(aheadMs))
    if (at === null) return
    this.callOff = clock.after(Math.max(1, Math.min(longestSleepMs, at - now)), wake)
  }
}

/** The loop comes by itself before that. */
const longestSleepMs = 60_000
