import { breathe, pause } from '../../platform/clock.js'
import { NumberMap } from '../../platform/number-map.js'
import type { CloseAnswer, LeasedRun } from '../run.js'
import { DefinitionCache } from '../definition-cache.js'
import { Confirmations } from './confirmations.js'
import { type Closed, type Delivered, isClosed } from './delivered.js'
import { emptied } from './emptied.js'
import { HeldEntry, leaseLost } from './held-entry.js'
import type { Revoked, WorkerOffer, WorkerOptions } from './ports.js'
import { mostPerLease, Room } from './room.js'
import { StartLine } from './start-line.js'
import { Strays } from './strays.js'
import {
  cancelledBeforeStart,
  definitionGone,
  deliveryBroke,
  type Ending,
  endings,
} from './without-target.js'

export { type Delivered, isClosed } from './delivered.js'
export type { WorkerPorts } from './ports.js'

/** So many are started in one go. */
const mostPerStart = 500

/** A leased-ahead run starts only if the last look for revocations is younger than this. */
const freshLookMs = 1_000

/**
 * Holds leased runs, starts each at its instant and hands its result to the record. It leases only what it has room
 * for, so a leased run never waits for a slot, and it holds no state that the database does not have.
 */
export class Worker {
  private readonly entries = new NumberMap<HeldEntry>()
  private readonly line: StartLine<HeldEntry>
  private readonly definitions: DefinitionCache
  private readonly confirmations: Confirmations<HeldEntry>
  private lookedAt = Number.NEGATIVE_INFINITY
  private leasing = true
  /**
   * Why the last leasing pass was no longer worth another, though the queue may hold more: it found no place free, and whoever frees one asks;
   * or it left too few, and whoever frees enough of them does.
   */
  private short: 'full' | 'few' | null = null
  readonly room: Room
  readonly strays: Strays
  /** Counts the deaths: an answer to a question of an earlier life is nobody's. */
  private life = 0

  constructor(private readonly options: WorkerOptions) {
    const { clock, databaseClock, ports, concurrency, self } = options
    this.room = new Room({
      clock,
      concurrency,
      held: () => this.entries.size,
      waiting: () => this.line.size,
      open: () => this.leasing && !this.strays.inDoubt,
    })
    this.strays = new Strays({
      ...{ ports, self },
      knows: (token) => this.entries.has(token),
      settled: () => this.room.settled(),
    })
    this.definitions = new DefinitionCache((wanted) => ports.definitions(wanted))
    this.confirmations = new Confirmations(clock, (entries) => this.confirm(entries))
    this.line = new StartLine(
      clock,
      () => databaseClock.atLeast(),
      (due) => this.startAll(due),
    )
  }

  get inFlight(): number {
    return this.entries.size
  }

  /** The runs that have been under way for longest, so many at most. */
  longest(most: number): { job: number; due: number; startedAt: number }[] {
    const begun = this.entries.values().filter(({ startedAt }) => !Number.isNaN(startedAt))
    begun.sort((a, b) => a.startedAt - b.startedAt)
    return begun.slice(0, most).map(({ run, startedAt }) => ({ job: run.job, due: run.due, startedAt }))
  }

  /** One leasing pass. Answers true when the queue probably holds more, and another is worth it. */
  async leaseOnce(): Promise<boolean> {
    const { ports, clock, self, metrics } = this.options
    if (this.strays.inDoubt) await this.strays.settleDoubt()
    const { free } = this.room
    this.short = free <= 0 ? 'full' : null
    if (!this.leasing || free <= 0) return false
    const most = Math.min(free, mostPerLease)
    const { life } = this
    const sentAt = clock.monotonic()
    const holder = self()
    const runs = await ports.lease(holder, most).catch((error: unknown) => {
      // The statement may have committed without its answer: what it leased must be found and given back.
      this.strays.inDoubt = true
      throw error
    })
    if (life !== this.life) return false
    metrics.leased.inc(runs.length)
    if (runs.length > 0) metrics.batch('queue', runs.length)
    this.room.backlog = runs.length === most
    const taking = this.take(runs, sentAt)
    this.room.tell()
    await taking
    if (this.room.backlog && !this.room.isWorthAsking) this.short = 'few'
    return this.room.backlog && this.short === null
  }

  /**
   * Room for runs that the scheduler of this process is about to make: made as this worker's own they need no lease.
   */
  offer(runs: number): WorkerOffer | null {
    const { clock, self } = this.options
    if (runs === 0 || !this.room.welcomes(runs)) return null
    const { life } = this
    const sentAt = clock.monotonic()
    const settle = this.room.promise(runs)
    return {
      holder: self(),
      room: runs,
      accept: (handed) => {
        if (life === this.life) this.receive(handed, sentAt)
        settle(handed.length)
      },
      doubt: () => {
        this.strays.inDoubt = true
        settle(null)
        this.options.wake()
      },
    }
  }

  private receive(runs: LeasedRun[], sentAt: number): void {
    this.options.metrics.leased.inc(runs.length)
    this.take(runs, sentAt).catch((error: unknown) => {
      this.options.log.warn({ err: error }, 'runs that were handed over are given back')
      this.options.wake()
    })
  }

  /**
   * Looks for runs that somebody asked to cancel. One that has not started ends here. One that is under way goes on,
   * unless a newer one replaces it or a person cancelled it: then it is told to stop.
   */
  async lookOnce(): Promise<undefined> {
    await this.look()
  }

  /** False: this process was declared dead, and learns that by its next life sign. Until then nothing may start: its runs may be anybody's. */
  private async look(): Promise<boolean> {
    const { ports, clock, self } = this.options
    const sentAt = clock.monotonic()
    const revoked = await ports.revoked(self())
    if (revoked === null) return false
    this.lookedAt = sentAt
    if (revoked.length > 0) await this.revoke(revoked)
    return true
  }

  private async revoke(revoked: readonly Revoked[]): Promise<void> {
    const tokens = new Set(revoked.map((run) => run.token))
    this.line.remove(({ run }) => tokens.has(run.token))
    // Not only those on the line: some have left it and wait for this very look.
    const ending = this.entries.values().filter(({ run, begun }) => tokens.has(run.token) && !begun)
    for (const entry of ending) entry.begun = true
    for (const { token, stop_requested: cancelled, replaced } of revoked) {
      const entry = this.entries.get(token)
      if (entry !== undefined && (cancelled || replaced))
        this.end(entry, cancelled ? endings.cancelled : endings.replaced)
    }
    await Promise.all(
      ending.map((entry) => this.finish(entry, null, entry.ending?.delivered ?? cancelledBeforeStart)),
    )
  }

  /** Stops leasing and gives back what has not started. */
  async handBack(): Promise<void> {
    this.leasing = false
    await this.room.settled()
    this.line.removeAll()
    const unstarted = this.entries.values().filter(({ begun }) => !begun)
    // A thousand at a time: first those that somebody else has to start first.
    unstarted.sort((a, b) => a.availableAt - b.availableAt)
    for (const { run } of unstarted) this.entries.delete(run.token)
    await this.options.ports.handBack(
      this.options.self(),
      unstarted.map(({ run }) => run),
    )
  }

  /** Waits for runs under way, then signals those that are left to stop and records them as handed back. */
  async drain(withinMs: number): Promise<{ aborted: number }> {
    const { clock, ports } = this.options
    const aborted = await emptied(this.entries, {
      clock,
      withinMs,
      aheadMs: ({ definition }) => (definition && this.options.stopAheadMs?.(definition)) ?? 0,
    })
    // A database that takes nothing must not keep the process from ending: what is unwritten is rescued by the others.
    const enough = new AbortController()
    await Promise.race([ports.drained(), pause(clock, 1_000, enough.signal)])
    enough.abort()
    return { aborted }
  }

  /** This process was declared dead: its runs belong to others. What still goes on is told to stop. */
  abandon(): void {
    this.life += 1
    this.line.removeAll()
    for (const entry of this.entries.values()) entry.stop.stop(leaseLost())
    this.entries.clear()
  }

  private end(entry: HeldEntry, ending: Ending): void {
    if (entry.ending !== null) return
    entry.ending = ending
    entry.stop.stop(ending.why())
  }

  /** For handlers that ask: what was revoked or lost is told to stop. A look that fails says nothing. */
  private async confirm(entries: readonly HeldEntry[]): Promise<void> {
    const { ports, self, log } = this.options
    const runs = entries.map(({ run }) => run)
    try {
      const held = (await this.look()) ? await ports.stillHeld(self(), runs) : new Set<number>()
      for (const { run, stop } of entries) if (!held.has(run.token)) stop.stop(leaseLost())
    } catch (error) {
      log.warn({ err: error }, 'a handler asked for its run, and the look failed')
    }
  }

  private async take(leased: LeasedRun[], sentAt: number): Promise<void> {
    const runs = leased.filter(({ token }) => !this.strays.wasGivenBack(token))
    if (runs.length === 0) return
    // Held from here on, whatever happens next: a failure below must not forget a leased run.
    const entries = runs.map((run) => new HeldEntry(run, sentAt, this.confirmations))
    for (const entry of entries) this.entries.set(entry.run.token, entry)
    try {
      const unknown = entries.filter(({ definition }) => definition === null)
      if (unknown.length > 0) await this.definitions.load(unknown.map(({ run }) => run))
      for (const entry of unknown) entry.definition = this.definitions.of(entry.run)
    } catch (error) {
      for (const { run } of entries) this.entries.delete(run.token)
      this.strays.inDoubt = true
      throw error
    }
    this.line.add(entries)
  }

  /** A crowd is started in parts: between them its first results are on their way to the database. */
  private startAll(entries: HeldEntry[]): void {
    if (entries.length <= mostPerStart && this.isFreshlyLookedAt(entries)) this.startThem(entries)
    else void this.startInParts(entries)
  }

  private async startInParts(entries: HeldEntry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += mostPerStart) {
      if (at > 0) {
        await breathe(this.options.clock)
        await this.options.ports.behind()
      }
      await this.startSome(entries.slice(at, at + mostPerStart))
    }
  }

  private async startSome(entries: HeldEntry[]): Promise<void> {
    const { clock } = this.options
    if (!this.isFreshlyLookedAt(entries) && !(await this.lookAgain(entries))) {
      // Without a fresh look nothing starts. The runs stay leased and are tried again.
      clock.after(100, () => this.line.add(entries.filter(({ run }) => this.entries.has(run.token))))
      return
    }
    this.startThem(entries)
  }

  private isFreshlyLookedAt(entries: readonly HeldEntry[]): boolean {
    const oldestAllowed = this.options.clock.monotonic() - freshLookMs
    return this.lookedAt >= oldestAllowed || entries.every(({ lookedAt }) => lookedAt >= oldestAllowed)
  }

  private startThem(entries: readonly HeldEntry[]): void {
    const { log } = this.options
    const unrecorded = (error: unknown) =>
      log.error({ err: error }, 'a run could not be recorded: it is given back and runs again')
    for (const entry of entries) {
      // Whatever one of them does, those behind it are to start.
      try {
        this.start(entry)?.catch(unrecorded)
      } catch (error) {
        this.forget(entry)
        unrecorded(error)
      }
    }
  }

  /** After a pause of this process its runs may be somebody else's: only those that are still held may start. */
  private async lookAgain(entries: readonly HeldEntry[]): Promise<boolean> {
    const { ports, self } = this.options
    const runs = entries.map(({ run }) => run)
    try {
      const isAlive = await this.look()
      const held = await ports.stillHeld(self(), runs)
      for (const { run, begun } of entries) if (!begun && !held.has(run.token)) this.entries.delete(run.token)
      return isAlive
    } catch (error) {
      this.options.log.warn({ err: error }, 'runs wait: the look for revocations failed')
      return false
    }
  }

  /** Null: it is not to be started any more. Hardly anything here waits, since a run that does nothing costs mostly waiting. */
  private start(entry: HeldEntry): Promise<void> | null {
    const { databaseClock, metrics, ports } = this.options
    const { run, definition, stop } = entry
    if (!this.entries.has(run.token) || entry.begun) return null
    entry.begun = true
    const startedAt = databaseClock.atLeast()
    entry.startedAt = startedAt
    metrics.startLag.observe(Math.max(0, startedAt - entry.availableAt) / 1000)
    if (definition === null) return this.finish(entry, startedAt, definitionGone)
    const concluded = (delivered: Delivered | Closed) => this.conclude(entry, startedAt, delivered)
    const broke = (error: unknown) => this.conclude(entry, startedAt, deliveryBroke(error))
    try {
      return ports.deliver(run, definition, stop, entry).then(concluded, broke)
    } catch (error) {
      // One that cannot even begin, as with a damaged definition, has failed like any other: those behind it are to start.
      return broke(error) ?? null
    }
  }

  private conclude(
    entry: HeldEntry,
    startedAt: number,
    delivered: Delivered | Closed,
  ): Promise<void> | undefined {
    if (isClosed(delivered)) {
      this.forget(entry)
      return
    }
    const stopped = delivered.reason === 'worker_stopped'
    // A result that came all the same is the result.
    const ended = stopped ? (entry.ending?.delivered ?? this.lostByStopping(entry, delivered)) : delivered
    return ended === null ? this.giveUp(entry) : this.finish(entry, startedAt, ended)
  }

  /** Where the job must never run twice, what was begun and cut short is closed as it is. Otherwise null: it is given back. */
  private lostByStopping({ definition }: HeldEntry, delivered: Delivered): Delivered | null {
    return definition?.definition.on_lost === 'fail' ? delivered : null
  }

  /** Cut short by this worker's own shutdown: that is no failure of the run's, and uses up no attempt. */
  private async giveUp(entry: HeldEntry): Promise<void> {
    const { ports, self } = this.options
    await ports.handBack(self(), [entry.run])
    this.entries.delete(entry.run.token)
  }

  private finish(entry: HeldEntry, startedAt: number | null, delivered: Delivered): Promise<void> {
    const { ports, databaseClock } = this.options
    const { outcome, retryable, retryAfterMs, reason, error, result } = delivered
    const closing = ports.close({
      run: entry.run,
      definition: entry.definition?.definition ?? null,
      startedAt,
      finishedAt: Math.max(databaseClock.atLeast(), startedAt ?? 0),
      outcome,
      retryable,
      retryAfterMs,
      reason,
      error,
      result,
    })
    return closing.then(
      (answer) => this.closed(entry, answer),
      (error: unknown) => {
        this.forget(entry)
        throw error
      },
    )
  }

  private closed(entry: HeldEntry, answer: CloseAnswer): void {
    this.forget(entry)
    if (answer === 'stale')
      this.options.log.warn(
        { job: entry.definition?.jobId },
        'a result came after its lease was lost: kept as stale',
      )
  }

  /** Its place is free. */
  private forget(entry: HeldEntry): void {
    this.entries.delete(entry.run.token)
    this.room.freed()
    if (this.short === null || (this.short === 'few' && !this.room.isWorthAsking)) return
    this.short = null
    this.options.wake()
  }
}
