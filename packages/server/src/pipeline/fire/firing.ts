import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/database-clock.js'
import { hadToGiveWay, isAboutARow, isDeadlock } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf } from '../../platform/ids.js'
import type { Metrics } from '../../platform/metrics.js'
import type { CalendarSet } from '../../time/schedule.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { readTickChanges, type TickChanges } from '../tick-changes.js'
import { Aftermath, type AftermathOptions } from './aftermath.js'
import { firePlainStatement, isPlain, plainDecisions, plainParams } from './fire-plain.js'
import { type Decided, fireParams, fireStatement, type OwnedPartition } from './fire-statement.js'
import { type HandOver, runsFor } from './hand-over.js'
import type { Horizon, Whereabouts } from './horizon.js'
import { KnownTimers } from './known-timers.js'
import type { Load } from './load.js'
import { type DueTimer, type PlannedTick, planTick, type Terms } from './plan.js'
import type { Scan } from './scan.js'
import { Staging } from './staging.js'

const readStatement = statement<{ jobs: number[]; partitions: number[]; start_ats: number[] }, DueTimer>(
  new URL('./read-timers.sql', import.meta.url),
)

export interface FiringOptions extends AftermathOptions {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  log: Logger
  metrics: Metrics
  horizon: Horizon
  scan: Scan
  staging: Staging
  load: Load
  lateToleranceMs: number
  /** Later than this is missed while the scheduler is overloaded. */
  overloadLagMs: number
  /** An operator's order: fire windows so many times as wide. */
  windowFactor: () => number
  self: () => number
  owned: () => OwnedPartition[]
  /** Decides ticks whose place is taken, and whose policy lets them wait or replace. */
  settleOverlap: (owner: number, owned: OwnedPartition[], ticks: PlannedTick[]) => Promise<Decided[]>
  /** The worker of this process, where it has one: its runs need not be leased first. */
  handOver?: HandOver
  /** Asks for another pass. */
  wake: () => void
}

/** A pass is bounded: what is left over is taken by the next, which follows at once. */
const mostPerPass = 5_000
const mostPerStatement = 1_000
/** Ticks are computed in slices: a long computation must hold up no heartbeat and no start of a run. */
const sliceMs = 20
const repeatTellMs = 60_000
/**
 * Turns due ticks of the owned partitions into runs. The database decides: this loop only proposes, from what it saw,
 * and a proposal that is no longer true is refused by epoch, due or rev.
 */
export class Firing {
  private callOff: (() => void) | null = null
  private readonly toldAt = new Map<number, number>()
  private readonly aftermath: Aftermath
  private readonly known = new KnownTimers()
  /** Timers that somebody held, or that were changed, when they were last to be fired. The short statement would wait for each again. */
  private readonly contested = new Set<number>()
  /** Timers of this pass that had changed since they were known. */
  private mistaken = new Map<number, Whereabouts>()
  /** What the last scan found and no pass has looked at yet, by job: a scan after an outage finds more than a pass takes. */
  private found = new Map<number, Whereabouts>()

  constructor(private readonly options: FiringOptions) {
    this.aftermath = new Aftermath(options)
  }

  /** One pass over the owned partitions. Answers true when there is more than fits. */
  async runOnce(): Promise<boolean> {
    const { owned, scan, horizon, load } = this.options
    this.callOff?.()
    if (owned().length === 0) {
      // Others fire them now: whoever owns nothing is not behind.
      load.passed(0)
      return false
    }
    if (this.found.size === 0) this.found = await scan.runOnce()
    const now = this.options.databaseClock.atLeast()
    const aheadMs = this.aheadMs(now)
    // What the wheel knew of comes first in every pass, however much a scan has found.
    const wanted = horizon.take(now, aheadMs, mostPerPass)
    const full = wanted.size >= mostPerPass
    const overdueMs = full ? this.overdueMs(now) : 0
    this.takeFound(wanted)
    let lagMs = await this.fireAll(await this.read(wanted), aheadMs)
    const mistaken = this.mistaken
    this.mistaken = new Map()
    if (mistaken.size > 0) lagMs = Math.max(lagMs, await this.fireAll(await this.read(mistaken), aheadMs))
    load.passed(Math.max(lagMs, overdueMs))
    const more = full || this.found.size > 0 || scan.cutShort
    if (!more) this.wakeForNext()
    return more
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

  stop(): void {
    this.callOff?.()
  }

  private takeFound(wanted: Map<number, Whereabouts>): void {
    let taken = 0
    for (const [job, whereabouts] of this.found) {
      if (taken++ >= mostPerPass) break
      this.found.delete(job)
      wanted.set(job, whereabouts)
    }
  }

  private aheadMs(now: number): number {
    const { staging, horizon, metrics } = this.options
    const aheadMs = staging.aheadMs(now, (instant) => horizon.startingBy(instant))
    metrics.stageAhead.set(aheadMs / 1000)
    metrics.wheelTimers.set(horizon.size)
    return aheadMs
  }

  private async read(wanted: Map<number, Whereabouts>): Promise<DueTimer[]> {
    const { database, databaseClock, owned } = this.options
    const mine = new Set(owned().map(({ partition }) => partition))
    const now = databaseClock.atLeast()
    const known: DueTimer[] = []
    const entries = [...wanted].filter(([job, whereabouts]) => {
      if (!mine.has(whereabouts.partition)) return false
      const timer = this.known.take(job, whereabouts, now)
      if (timer !== null) known.push(timer)
      return timer === null
    })
    if (entries.length === 0) return known
    const sample = databaseClock.begin()
    const timers = await database.run(readStatement, {
      jobs: entries.map(([job]) => job),
      partitions: entries.map(([, { partition }]) => partition),
      start_ats: entries.map(([, { startAt }]) => startAt),
    })
    const [first] = timers
    if (first !== undefined) sample(first.now)
    return [...timers, ...known].sort((a, b) => a.start_at - b.start_at)
  }

  /** Answers how late the latest of the fresh ticks was. */
  private async fireAll(timers: DueTimer[], aheadMs: number): Promise<number> {
    const near = timers.filter((timer) => this.isReady(timer, aheadMs))
    const changes = await this.changesOf(near)
    const ready = near.filter((timer) => !this.waitsToBePassed(timer, changes.get(timer.job)))
    const calendars = await readCalendars(
      this.options.database,
      ready.flatMap(({ tenant, definition }) => (namesCalendar(definition) ? [tenant] : [])),
    )
    const plan = { terms: this.terms(), calendars, changes }
    const lanes = inLanes(ready)
    // All of them to their end, also beside one that fails: the next pass must not meet a statement of this one.
    const ended = await Promise.allSettled(lanes.map((lane) => this.fireLane(lane, plan)))
    return Math.max(0, ...ended.map(valueOf))
  }

  /** One statement after the other, each planned while those of other lanes are under way. */
  private async fireLane(ready: DueTimer[], { terms, calendars, changes }: PassPlan): Promise<number> {
    let lagMs = 0
    for (let at = 0; at < ready.length; ) {
      const slice = this.planSlice(ready, at, terms, calendars, changes)
      at = slice.end
      // Ownership may have gone meanwhile: each statement names what is held now.
      lagMs = Math.max(lagMs, await this.fire(this.options.owned(), slice.ticks))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return lagMs
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

  private terms(): Terms {
    const { lateToleranceMs, overloadLagMs, load, windowFactor } = this.options
    return {
      lateToleranceMs: load.overloaded ? Math.min(overloadLagMs, lateToleranceMs) : lateToleranceMs,
      overloaded: load.overloaded,
      windowFactor: windowFactor(),
    }
  }

  /** Plans from `from` on until a statement is full or the slice's time is over. */
  private planSlice(
    timers: DueTimer[],
    from: number,
    terms: Terms,
    calendars: ReadonlyMap<number, CalendarSet>,
    changes: ReadonlyMap<number, TickChanges>,
  ): { ticks: PlannedTick[]; end: number } {
    const { clock } = this.options
    const begun = clock.monotonic()
    const ticks: PlannedTick[] = []
    let end = from
    while (end < timers.length && ticks.length < mostPerStatement && clock.monotonic() - begun < sliceMs) {
      const timer = timers[end] as DueTimer
      ticks.push(...this.plan(timer, terms, calendars.get(timer.tenant), changes.get(timer.job)))
      end += 1
    }
    return { ticks, end }
  }

  /** A job whose rule cannot be evaluated must not stop the others. Its cursor stays, so nothing is lost. */
  private plan(
    timer: DueTimer,
    terms: Terms,
    calendars: CalendarSet | undefined,
    changes: TickChanges | undefined,
  ): PlannedTick[] {
    try {
      return [planTick(timer, terms, calendars, changes)]
    } catch (error) {
      this.tellUnreadable(timer, error)
      return []
    }
  }

  /** Once when it is found, then once a minute: every scan meets it again. */
  private tellUnreadable(timer: DueTimer, error: unknown): void {
    this.options.metrics.ticks.inc({ decision: 'unreadable' })
    const now = this.options.clock.monotonic()
    const told = this.toldAt.get(timer.job)
    if (told !== undefined && now - told < repeatTellMs) return
    if (this.toldAt.size >= mostPerPass) this.toldAt.clear()
    this.toldAt.set(timer.job, now)
    this.options.log.error(
      { job: jobIdOf(timer.uuid), err: error },
      'the schedule of a job cannot be evaluated',
    )
  }

  /** Plain ticks by the short statement; what that leaves, and all others, by the one that decides. */
  private async fire(owned: OwnedPartition[], ticks: PlannedTick[]): Promise<number> {
    const plain = ticks.filter((tick) => isPlain(tick) && !this.contested.has(tick.timer.job))
    const fired = plain.length === 0 ? [] : await this.firePlain(owned, plain)
    if (fired.length === 0) return this.decide(owned, ticks)
    const lagMs = this.aftermath.of(owned, plain, fired)
    if (fired.length === ticks.length) return lagMs
    const done = new Set(fired.map(({ job }) => job))
    const left = ticks.filter(({ timer }) => !done.has(timer.job))
    return Math.max(lagMs, await this.decide(owned, left))
  }

  /** Answers those that were fired. Where a row stood in the way of all of them, none was, and nothing has changed. */
  private async firePlain(owned: OwnedPartition[], ticks: PlannedTick[]): Promise<Decided[]> {
    const { database, databaseClock, self, handOver, clock, staging } = this.options
    const receiver = handOver?.offer(ticks.length) ?? null
    const begun = clock.monotonic()
    const sample = databaseClock.begin()
    try {
      const [answer] = await database.run(firePlainStatement, plainParams(self(), owned, ticks, receiver))
      if (answer === undefined) throw new Error('The statement that fires answered nothing.')
      sample(answer.now)
      const decided = plainDecisions(ticks, answer)
      receiver?.accept(runsFor(receiver.holder, owned, ticks, decided))
      staging.measured(decided.length, clock.monotonic() - begun)
      this.known.learn(ticks, decided)
      return decided
    } catch (error) {
      if (isAboutARow(error) || hadToGiveWay(error)) {
        receiver?.accept([])
        return []
      }
      receiver?.doubt(error)
      throw error
    }
  }

  private async decide(owned: OwnedPartition[], ticks: PlannedTick[]): Promise<number> {
    if (ticks.length === 0) return 0
    const { clock, self, staging, settleOverlap } = this.options
    const begun = clock.monotonic()
    try {
      const decided = await this.send(owned, ticks)
      staging.measured(decided.length, clock.monotonic() - begun)
      for (const [job, whereabouts] of this.known.mistaken(ticks, decided))
        this.mistaken.set(job, whereabouts)
      this.known.learn(ticks, decided)
      this.contend(decided)
      const taken = new Set(decided.flatMap(({ job, decision }) => (decision === 'taken' ? [job] : [])))
      const settled =
        taken.size === 0
          ? []
          : await settleOverlap(
              self(),
              owned,
              ticks.filter(({ timer }) => taken.has(timer.job)),
            )
      return this.aftermath.of(owned, ticks, [...decided.filter(({ job }) => !taken.has(job)), ...settled])
    } catch (error) {
      if (isDeadlock(error)) return this.leftForLater(owned, ticks)
      if (!isAboutARow(error)) throw error
      return this.fireApart(owned, ticks, error)
    }
  }

  private contend(decided: readonly Decided[]): void {
    // Those of deleted jobs stay behind: now and then all are forgotten.
    if (this.contested.size >= mostPerPass) this.contested.clear()
    for (const { job, decision } of decided) {
      if (decision === 'changed') this.contested.add(job)
      else this.contested.delete(job)
    }
  }

  /** The statement, with as much for the worker of this process as that has room for. */
  private async send(owned: OwnedPartition[], ticks: PlannedTick[]): Promise<Decided[]> {
    const { database, databaseClock, self, handOver } = this.options
    const receiver = handOver?.offer(ticks.filter(({ runDue }) => runDue !== null).length) ?? null
    const sample = databaseClock.begin()
    try {
      const decided = await database.run(fireStatement, fireParams(self(), owned, ticks, receiver))
      const [first] = decided
      if (first !== undefined) sample(first.now)
      receiver?.accept(runsFor(receiver.holder, owned, ticks, decided))
      return decided
    } catch (error) {
      receiver?.doubt(error)
      throw error
    }
  }

  /** A lease held one place and wanted another that this had: nothing was fired, and the next look finds the places taken. */
  private leftForLater(owned: OwnedPartition[], ticks: PlannedTick[]): number {
    const now = this.options.databaseClock.atLeast()
    const decided = ticks.map(({ timer: { job, due } }) => ({ job, due, now, decision: 'changed' as const }))
    return this.aftermath.of(owned, ticks, decided)
  }

  /** One row that the tables refuse fails the whole statement: it is found by halving, and the others are fired. */
  private async fireApart(owned: OwnedPartition[], ticks: PlannedTick[], error: unknown): Promise<number> {
    const [first] = ticks
    if (first !== undefined && ticks.length === 1) {
      this.tellUnreadable(first.timer, error)
      return 0
    }
    const middle = Math.ceil(ticks.length / 2)
    const before = await this.decide(owned, ticks.slice(0, middle))
    return Math.max(before, await this.decide(owned, ticks.slice(middle)))
  }

  /** Be there when the next timer comes up, whatever the scan interval. */
  private wakeForNext(): void {
    const { clock, wake, horizon, databaseClock } = this.options
    this.callOff?.()
    const now = databaseClock.atLeast()
    const aheadMs = this.aheadMs(now)
    const at = horizon.nextLookAt(aheadMs, aheadMs / gatheredShare)
    if (at === null) return
    this.callOff = clock.after(Math.max(1, Math.min(longestSleepMs, at - now)), wake)
  }
}

/** What all ticks of a pass are planned with. */
interface PassPlan {
  terms: Terms
  calendars: ReadonlyMap<number, CalendarSet>
  changes: ReadonlyMap<number, TickChanges>
}

/** Fewer than this are one statement. */
const worthTwoLanes = 500

/**
 * Ticks in two lanes, whose statements are under way at once. By partition: of each there is one statement at a time, or a late
 * one could overtake another of the same job.
 */
function inLanes(timers: DueTimer[]): DueTimer[][] {
  if (timers.length < worthTwoLanes) return [timers]
  const even = timers.filter(({ partition }) => partition % 2 === 0)
  const odd = timers.filter(({ partition }) => partition % 2 !== 0)
  return [even, odd]
}

function valueOf(settled: PromiseSettledResult<number>): number {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

/**
 * There is no hurry as long as ticks are staged well before their time: those of so small a part of it are staged together,
 * in one statement, instead of one after the other.
 */
const gatheredShare = 20
/** The loop comes by itself before that. */
const longestSleepMs = 60_000
