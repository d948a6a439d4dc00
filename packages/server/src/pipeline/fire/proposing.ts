import type { DatabaseClock } from '../../db/database-clock.js'
import { hadToGiveWay, isAboutARow, isDeadlock } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import type { Clock } from '../../platform/clock.js'
import type { Aftermath } from './aftermath.js'
import { firePlainStatement, inOrder, isPlain, plainDecisions, plainParams } from './fire-plain.js'
import { type Decided, fireParams, fireStatement, type OwnedPartition } from './fire-statement.js'
import { type HandOver, runsFor } from './hand-over.js'
import type { Whereabouts } from './horizon.js'
import type { KnownTimers } from './known-timers.js'
import type { TellDecided } from './lanes.js'
import type { DueTimer, PlannedTick } from './plan.js'
import type { Staging } from './staging.js'

export interface ProposingOptions {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  staging: Staging
  self: () => number
  /** Decides ticks whose place is taken, and whose policy lets them wait or replace. */
  settleOverlap: (owner: number, owned: readonly OwnedPartition[], ticks: PlannedTick[]) => Promise<Decided[]>
  /** The worker of this process, where it has one: its runs need not be leased first. */
  handOver?: HandOver
}

/** What it learns from the answers, and whom it tells. */
export interface ProposingParts {
  known: KnownTimers
  aftermath: Aftermath
  tellUnreadable: (timer: DueTimer, error: unknown) => void
}

const mostContested = 5_000
const longestWaitMs = 100
/** However much there is to do, and however little room the worker of this process has. */
const mostPerStatement = 2_500
const leastPerStatement = 1_000

/** Hands planned ticks to the statements that fire them, and takes what was decided where it belongs. */
export class Proposing {
  /** Timers that had changed since they were known. */
  private mistaken = new Map<number, Whereabouts>()
  /** Timers that somebody held, or that were changed, when they were last to be fired: the short statement would wait for each again. */
  private readonly contested = new Set<number>()

  constructor(
    private readonly options: ProposingOptions,
    private readonly parts: ProposingParts,
  ) {}

  /** So many ticks make one statement: no more than its worker may take, or it would take none. */
  get mostAtOnce(): number {
    const most = this.options.handOver?.mostAtOnce ?? mostPerStatement
    return Math.max(leastPerStatement, Math.min(mostPerStatement, most))
  }

  /** Timers of which something else was remembered than is true: they have to be read. Each is named once. */
  takeMistaken(): Map<number, Whereabouts> {
    const { mistaken } = this
    this.mistaken = new Map()
    return mistaken
  }

  /** Plain ticks by the short statement; what that leaves, and all others, by the one that decides. Answers how late the latest was. */
  async fire(owned: readonly OwnedPartition[], ticks: PlannedTick[], decided: TellDecided): Promise<number> {
    // In the order of the statement, whose answers come in it.
    const plain = inOrder(ticks.filter((tick) => isPlain(tick) && !this.contested.has(tick.timer.job)))
    const fired = plain.length === 0 ? [] : await this.firePlain(owned, plain)
    if (fired.length === 0) return this.decide(owned, ticks)
    const lagMs = this.parts.aftermath.of(owned, plain, fired)
    if (fired.length === ticks.length) return lagMs
    const done = new Set(fired.map(({ job }) => job))
    decided(done)
    const left = ticks.filter(({ timer }) => !done.has(timer.job))
    return Math.max(lagMs, await this.decide(owned, left))
  }

  /** Answers those that were fired. Where a row stood in the way of all of them, none was, and nothing has changed. */
  private async firePlain(owned: readonly OwnedPartition[], ticks: PlannedTick[]): Promise<Decided[]> {
    const { database, databaseClock, self, handOver, clock, staging } = this.options
    await this.roomFor(ticks.length)
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
      this.parts.known.learn(ticks, decided)
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

  /** Waits for the worker of this process, where that is soon over. */
  private async roomFor(runs: number): Promise<void> {
    const { handOver, clock } = this.options
    if (handOver === undefined) return
    const until = clock.monotonic() + longestWaitMs
    for (let waiting = handOver.ready(runs, until); waiting !== null; waiting = handOver.ready(runs, until))
      await waiting
  }

  private async decide(owned: readonly OwnedPartition[], ticks: PlannedTick[]): Promise<number> {
    if (ticks.length === 0) return 0
    const { clock, self, staging, settleOverlap } = this.options
    const begun = clock.monotonic()
    try {
      const decided = await this.send(owned, ticks)
      staging.measured(decided.length, clock.monotonic() - begun)
      for (const [job, whereabouts] of this.parts.known.mistaken(ticks, decided))
        this.mistaken.set(job, whereabouts)
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
      // Last: what fails before this is sent again, with its timers as they were.
      this.parts.known.learn(ticks, decided)
      return this.parts.aftermath.of(owned, ticks, [
        ...decided.filter(({ job }) => !taken.has(job)),
        ...settled,
      ])
    } catch (error) {
      if (isDeadlock(error)) return this.leftForLater(owned, ticks)
      if (!isAboutARow(error)) throw error
      return this.fireApart(owned, ticks, error)
    }
  }

  private contend(decided: readonly Decided[]): void {
    // Those of deleted jobs stay behind: now and then all are forgotten.
    if (this.contested.size >= mostContested) this.contested.clear()
    for (const { job, decision } of decided) {
      if (decision === 'changed') this.contested.add(job)
      else this.contested.delete(job)
    }
  }

  /** The statement, with as much for the worker of this process as that has room for. */
  private async send(owned: readonly OwnedPartition[], ticks: PlannedTick[]): Promise<Decided[]> {
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
  private leftForLater(owned: readonly OwnedPartition[], ticks: PlannedTick[]): number {
    const now = this.options.databaseClock.atLeast()
    const decided = ticks.map(({ timer: { job, due } }) => ({ job, due, now, decision: 'changed' as const }))
    return this.parts.aftermath.of(owned, ticks, decided)
  }

  /** One row that the tables refuse fails the whole statement: it is found by halving, and the others are fired. */
  private async fireApart(
    owned: readonly OwnedPartition[],
    ticks: PlannedTick[],
    error: unknown,
  ): Promise<number> {
    const [first] = ticks
    if (first !== undefined && ticks.length === 1) {
      this.parts.tellUnreadable(first.timer, error)
      return 0
    }
    const middle = Math.ceil(ticks.length / 2)
    const before = await this.decide(owned, ticks.slice(0, middle))
    return Math.max(before, await this.decide(owned, ticks.slice(middle)))
  }
}
