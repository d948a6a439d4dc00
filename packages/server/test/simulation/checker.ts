import type { Lease } from '../../src/cluster/coordination.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import type { Expected } from './jobs.js'
import type { LedgerRow, QueueRow } from './rows.js'
import type { Commit, Store, Write } from './store.js'

/** A delivery that goes on. */
export interface Delivery {
  process: { name: string; state: string }
  run: LeasedRun
}

/**
 * Looks at everything that becomes visible, and says what must not be. It knows the rows before and after, what was asked for
 * by whom, and the ticks by arithmetic; nothing of how statements and services come to their decisions.
 */
export class Checker {
  readonly violations: string[] = []
  /** Deliveries beyond the first of an attempt, and how many of them are accounted for. */
  private extraDeliveries = 0
  private allowedExtra = 0
  private readonly fired = new Set<string>()
  private readonly closed = new Set<string>()
  private readonly delivered = new Set<number>()
  private readonly attempts = new Set<string>()
  private readonly expiries = new Map<string, number>()
  private readonly tokens = new Map<string, number>()

  constructor(
    private readonly store: Store,
    private readonly jobs: ReadonlyMap<number, Expected>,
    /** Deliveries that go on. */
    private readonly open: readonly Delivery[],
  ) {}

  /** After every commit. */
  committed(commit: Commit): void {
    for (const write of commit.writes) this.look(write, commit)
    for (const row of commit.noted) this.noted(row)
  }

  private look(write: Write, commit: Commit): void {
    switch (write.table) {
      case 'partitions': {
        const { before, after } = write
        if (before === null || after === null) return this.fault(`partition ${write.key} came or went`)
        if (after.epoch < before.epoch) this.fault(`the epoch of partition ${write.key} went back`)
        if (after.owner !== before.owner && after.owner !== null && after.epoch === before.epoch)
          this.fault(`partition ${write.key} has another owner under the same epoch`)
        if (after.owner !== null) this.expiries.set(`${after.partition}@${after.epoch}`, after.expires_at)
        return
      }
      case 'incarnations':
        if (
          write.before !== null &&
          write.before.state !== 'alive' &&
          write.after?.state !== write.before.state
        )
          this.fault(`the dead incarnation ${write.key} lives`)
        return
      case 'timers': {
        const { before, after } = write
        if (before === null || after === null) return this.fault(`the timer of ${write.key} came or went`)
        if (after.accounted_through < before.accounted_through)
          this.fault(`the cursor of ${write.key} went back`)
        this.underPresentEpoch(commit, after.partition, `the cursor of ${write.key} was moved`)
        return
      }
      case 'queue':
        return this.lookAtRun(write.before, write.after, commit)
      case 'jobs':
      case 'letters':
        return
    }
  }

  private lookAtRun(before: QueueRow | null, after: QueueRow | null, commit: Commit): void {
    const name = nameOf((before ?? after) as QueueRow)
    if (after !== null && after.slot !== null)
      for (const other of this.store.tables.queue.values())
        if (other !== after && other.job === after.job && other.slot === after.slot)
          this.fault(`${name} shares its place with ${nameOf(other)}`)
    if (before === null && after !== null) {
      if (this.fired.has(name)) this.fault(`${name} was fired twice`)
      if (this.closed.has(name)) this.fault(`${name} was fired after it was closed`)
      if (this.jobs.get(after.job)?.ticks.includes(after.due) !== true) this.fault(`${name} is no tick`)
      this.fired.add(name)
      this.underPresentEpoch(commit, after.partition, `${name} was fired`)
    }
    if (before?.holder != null && (after === null || after.token !== before.token))
      this.letGo(before, commit, name)
    if (before?.holder != null && after?.holder === null && after.attempt === before.attempt)
      this.putBack(before, commit, name)
    if (after?.holder != null && after.token !== before?.token) this.leased(after, name)
    if (after === null && !commit.noted.some((row) => row.final && nameOf(row) === name))
      this.fault(`${name} left the queue without a word`)
    if (after !== null && after.attempt > after.max_attempts) this.fault(`${name} has too many attempts`)
  }

  /** Only its holder, by its token, or a rescuer of a holder that is dead. */
  private letGo(before: QueueRow, { statement, params }: Commit, name: string): void {
    if (statement === 'rescue') {
      if (this.isAlive(before.holder)) this.fault(`${name} was taken from ${before.holder}, which lives`)
      return
    }
    const tokens = (params.tokens ?? []) as number[]
    if (params.holder !== before.holder || !tokens.includes(before.token as number))
      this.fault(`${statement} wrote ${name} with a token that is not the present one`)
  }

  /**
   * It may be delivered again as the same attempt: its holder died before its time and does not know it, or was told to
   * stop. Nobody puts back what he is running.
   */
  private putBack({ token }: QueueRow, { statement }: Commit, name: string): void {
    if (statement === 'rescue' || this.delivered.has(token as number)) this.allowedExtra += 1
    const running = this.open.some(({ run, process }) => run.token === token && process.state !== 'gone')
    if (statement === 'hand-back' && running) this.fault(`${name} was handed back while it runs`)
  }

  private leased({ token, holder }: QueueRow, name: string): void {
    if ((token as number) <= (this.tokens.get(name) ?? 0)) this.fault(`${name} was leased with an old token`)
    this.tokens.set(name, token as number)
    if (!this.isAlive(holder)) this.fault(`${name} was leased by ${holder}, which is dead`)
  }

  private underPresentEpoch({ statement, params }: Commit, partition: number, what: string): void {
    const row = this.store.tables.partitions.get(partition)
    const at = (params.partitions as number[]).indexOf(partition)
    // Its owner may have given it back while the statement was under way: that needs no new epoch.
    if ((params.epochs as number[])[at] !== row?.epoch)
      this.fault(`${what} by ${statement} under an epoch that is not the present one`)
  }

  private noted(row: LedgerRow): void {
    const name = nameOf(row)
    const ticks = this.jobs.get(row.job)?.ticks ?? []
    if (row.max_attempts !== null && row.attempt > row.max_attempts)
      this.fault(`${name} has too many attempts`)
    if (!row.final) return
    for (const due of ticks.filter((tick) => tick >= row.due && tick <= (row.due_to ?? row.due))) {
      const tick = `${row.job}@${due}`
      if (this.closed.has(tick)) this.fault(`${tick} was closed twice`)
      if (row.outcome === 'skipped' && this.fired.has(tick)) this.fault(`${tick} was fired and skipped`)
      this.closed.add(tick)
    }
  }

  /** A process is about to fire by these leases. Each has an end by the database's clock, and it is not over. */
  trusts(process: { name: string }, leases: readonly Lease[], now: number): void {
    for (const { partition, epoch } of leases) {
      const expiry = this.expiries.get(`${partition}@${epoch}`)
      if (expiry === undefined || expiry < now)
        this.fault(`${process.name} goes by a lease of partition ${partition} that is over`)
    }
  }

  started({ process, run }: Delivery, now: number): void {
    const name = nameOf(run)
    if (now < run.availableAt || now < run.due) this.fault(`${name} was started before its time`)
    if (this.delivered.has(run.token)) this.fault(`${name} was delivered twice under one token`)
    this.delivered.add(run.token)
    for (const other of this.open) {
      if (nameOf(other.run) !== name || other.process.state === 'gone') continue
      if (this.isAlive(other.run.holder) && this.isAlive(run.holder))
        this.fault(`${name} is run by ${other.process.name} and by ${process.name}, and both live`)
    }
    const attempt = `${name} ${run.attempt}`
    if (this.attempts.has(attempt)) this.extraDeliveries += 1
    this.attempts.add(attempt)
  }

  /** When nothing goes wrong any more and all was worked off. */
  atTheEnd(): void {
    const { tables, ledger } = this.store
    for (const row of tables.queue.values()) this.fault(`${nameOf(row)} is still in the queue`)
    for (const { partition, owner } of tables.partitions.values())
      if (owner === null || !this.isAlive(owner)) this.fault(`partition ${partition} has no live owner`)
    for (const { incarnation, state, rescued_at } of tables.incarnations.values())
      if (state !== 'alive' && rescued_at === null)
        this.fault(`the dead incarnation ${incarnation} was not rescued`)
    if (this.extraDeliveries > this.allowedExtra)
      this.fault(`${this.extraDeliveries} extra deliveries, of which ${this.allowedExtra} are accounted for`)
    for (const { job, ticks } of this.jobs.values()) {
      const rows = ledger.filter((row) => row.job === job)
      for (const due of ticks) {
        if (!this.closed.has(`${job}@${due}`)) this.fault(`${job}@${due} has no final row`)
        const runs = rows.filter((row) => row.due === due && row.outcome !== 'stale')
        this.attemptsOf(runs, `${job}@${due}`)
      }
      this.chainOf(rows, ticks)
    }
    this.deadLetters()
  }

  /** Numbered from one without a gap, with tokens that grow; the last one is final, and it alone. */
  private attemptsOf(rows: readonly LedgerRow[], name: string): void {
    const made = rows.filter(({ attempt }) => attempt > 0)
    if (!made.every(({ attempt }, at) => attempt === at + 1))
      this.fault(`${name} has the attempts ${made.map(({ attempt }) => attempt).join()}`)
    if (!made.every(({ token }, at) => at === 0 || (token ?? 0) > (made[at - 1]?.token ?? 0)))
      this.fault(`${name} has falling tokens`)
    if (!made.every(({ final }, at) => final === (at === made.length - 1)))
      this.fault(`${name} ended before its last attempt`)
  }

  /** Each final row leads to the tick after it, under epochs that do not fall. */
  private chainOf(rows: readonly LedgerRow[], ticks: readonly number[]): void {
    const final = rows.filter((row) => row.final).sort((a, b) => a.due - b.due)
    for (const [at, row] of final.entries()) {
      const next = ticks.find((tick) => tick > (row.due_to ?? row.due)) ?? null
      if (row.next_due !== next) this.fault(`${nameOf(row)} leads to ${row.next_due} and not to ${next}`)
      if (row.epoch < (final[at - 1]?.epoch ?? 0))
        this.fault(`${nameOf(row)} has an older epoch than the tick before`)
    }
  }

  private deadLetters(): void {
    const dead = new Set(this.store.ledger.filter((row) => row.final && row.outcome === 'dead').map(nameOf))
    const letters = new Set([...this.store.tables.letters.values()].map(nameOf))
    for (const name of dead) if (!letters.has(name)) this.fault(`${name} is dead without a letter`)
    for (const name of letters) if (!dead.has(name)) this.fault(`${name} has a letter and is not dead`)
  }

  private isAlive(incarnation: number | null): boolean {
    return incarnation !== null && this.store.tables.incarnations.get(incarnation)?.state === 'alive'
  }

  fault(what: string): void {
    this.violations.push(what)
  }
}

export function nameOf({ job, due }: { job: number; due: number }): string {
  return `${job}@${due}`
}
