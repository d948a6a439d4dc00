import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.js'
import type { Metrics } from '../platform/metrics.js'
import { assignPartitions } from './assignment.js'
import type { Coordination, Lease } from './coordination.js'

export interface OwnershipOptions {
  coordination: Coordination
  clock: Clock
  log: Logger
  metrics: Metrics
  leaseTtlMs: number
  renewMs: number
  self: () => number
  liveSchedulers: () => number[]
  /** How long ago the firing loop last got on: a node that renews but cannot fire must let go. */
  sinceFiringMs: () => number
  /** Tells the others whether to count on this node for partitions. */
  offer: (able: boolean) => void
  /** Who should own what. Every node has to compute the same. */
  assign?: (live: readonly number[]) => ReadonlyMap<number, readonly number[]>
}

/** For so many lease times a node that could not fire leaves its partitions to others before it tries again. */
const leasesAside = 6

/**
 * The partitions this scheduler may fire. Each node takes, renews and gives back for itself; there is no coordinator.
 *
 * Trust in a lease is counted from before the query that got it was sent, on the monotonic clock: when the answer is
 * late, or the process slept, the trust has run out by itself. Being wrong costs work, never correctness: the firing
 * statement checks the epoch in the database.
 */
export class Ownership {
  private readonly held = new Map<number, { epoch: number; trustedUntil: number }>()
  /** What `current` answered last, and how long that stays true unless something is taken, renewed or lost. */
  private trusted: { leases: readonly Lease[]; until: number } | null = null
  private renewedAt = Number.NEGATIVE_INFINITY
  private heldSince = Number.NEGATIVE_INFINITY
  /** When it last held something or was spare; before that, when it began. */
  private heldLast: number
  private asideUntil = Number.NEGATIVE_INFINITY
  private assignment: { membership: string; partitions: ReadonlySet<number> } = {
    membership: '',
    partitions: new Set(),
  }

  constructor(private readonly options: OwnershipOptions) {
    this.heldLast = options.clock.monotonic()
  }

  /** How long this node has owned nothing; 0 while it owns something, and while it is spare. */
  withoutMs(): number {
    return this.current().length > 0 || this.isSpare() ? 0 : this.options.clock.monotonic() - this.heldLast
  }

  /**
   * Whether others have all there is, and rightly: the fleet counts on this node, and its assignment is empty. That is so of some
   * in a large fleet, long before there are more nodes than partitions. A node that stands aside is not counted on.
   */
  isSpare(): boolean {
    const { self, liveSchedulers } = this.options
    return liveSchedulers().includes(self()) && this.assigned().size === 0
  }

  /** Whether something that this node should own is not its own yet. */
  isShort(): boolean {
    return [...this.assigned()].some((partition) => !this.held.has(partition))
  }

  /** Partitions with their epochs, as far as they can be trusted now. */
  current(): readonly Lease[] {
    const now = this.options.clock.monotonic()
    // Asked for by every statement that fires: the same list again, as long as nothing has changed.
    if (this.trusted !== null && now < this.trusted.until) return this.trusted.leases
    const leases: Lease[] = []
    let until = Number.POSITIVE_INFINITY
    for (const [partition, { epoch, trustedUntil }] of this.held) {
      if (trustedUntil <= now) continue
      leases.push({ partition, epoch })
      until = Math.min(until, trustedUntil)
    }
    this.trusted = { leases, until }
    return leases
  }

  /** One pass: renew when it is time, let go of what is not mine by assignment, take what is and is free. */
  async runOnce(): Promise<undefined> {
    this.loseExpired()
    if (await this.standAside()) return
    await this.renewWhenDue()
    const assigned = this.assigned()
    await this.release(this.leases().filter(({ partition }) => !assigned.has(partition)))
    await this.take([...assigned].filter((partition) => !this.held.has(partition)))
    this.options.metrics.partitionsOwned.set(this.held.size)
    if (this.held.size > 0 || this.isSpare()) this.heldLast = this.options.clock.monotonic()
  }

  /**
   * Leases that the database refused because the partition has a newer epoch: stop using them at once. The newer epoch
   * may be our own, where a refusal arrives after the partition was taken again: that one stays.
   */
  disown(refused: readonly Lease[]): void {
    this.lose(refused)
  }

  /** All of them, because this process was declared dead. */
  dropAll(): void {
    this.held.clear()
    this.trusted = null
    this.options.metrics.partitionsOwned.set(0)
  }

  async releaseAll(): Promise<void> {
    await this.release(this.leases())
    this.options.metrics.partitionsOwned.set(0)
  }

  /** All that is held, trusted or not. */
  private leases(): Lease[] {
    return [...this.held].map(([partition, { epoch }]) => ({ partition, epoch }))
  }

  /** Computed again only when somebody came or went: it is asked for several times a second. */
  private assigned(): ReadonlySet<number> {
    const { assign = assignPartitions } = this.options
    const self = this.options.self()
    const live = this.options.liveSchedulers()
    const membership = [self, ...live].join()
    if (membership !== this.assignment.membership) {
      this.assignment = { membership, partitions: new Set(assign(live).get(self)) }
    }
    return this.assignment.partitions
  }

  private loseExpired(): void {
    const trusted = new Set(this.current().map(({ partition }) => partition))
    this.lose(this.leases().filter(({ partition }) => !trusted.has(partition)))
  }

  /**
   * Lets go of everything when this node renews but cannot fire, and stays aside for a while: else it would be assigned
   * the same partitions again. Not where no other node could take them. The firing loop has a lease time from when there
   * was something to fire: after an outage it may need a moment to come back.
   */
  private async standAside(): Promise<boolean> {
    const { clock, leaseTtlMs, sinceFiringMs, offer, liveSchedulers, self, log } = this.options
    const now = clock.monotonic()
    const idleMs = this.held.size === 0 ? 0 : Math.min(sinceFiringMs(), now - this.heldSince)
    const replaceable = liveSchedulers().some((node) => node !== self())
    if (!replaceable) this.asideUntil = Number.NEGATIVE_INFINITY
    else if (idleMs > leaseTtlMs) {
      log.error({ partitions: this.held.size }, 'the firing loop makes no progress: giving partitions back')
      this.asideUntil = now + leasesAside * leaseTtlMs
    }
    const aside = now < this.asideUntil
    offer(!aside)
    if (aside) await this.releaseAll()
    return aside
  }

  private async renewWhenDue(): Promise<void> {
    const { clock, renewMs, leaseTtlMs } = this.options
    const sentAt = clock.monotonic()
    if (this.held.size === 0 || sentAt - this.renewedAt < renewMs) return
    const leases = this.leases()
    const renewed = await this.renew(leases)
    this.renewedAt = sentAt
    const kept = new Map(renewed.map(({ partition, epoch }) => [partition, epoch]))
    for (const [partition, lease] of this.held) {
      if (kept.get(partition) === lease.epoch) lease.trustedUntil = sentAt + leaseTtlMs
    }
    this.trusted = null
    this.lose(leases.filter(({ partition }) => !kept.has(partition)))
  }

  private async renew(leases: Lease[]): Promise<Lease[]> {
    const { coordination, self, leaseTtlMs } = this.options
    try {
      return await coordination.renew(self(), leases, leaseTtlMs)
    } catch (error) {
      // A renewal that failed is a loss, not a reason to hope: they are taken again, under a new epoch, when it can be.
      this.lose(leases)
      throw error
    }
  }

  private async take(wanted: number[]): Promise<void> {
    if (wanted.length === 0) return
    const { coordination, clock, leaseTtlMs, self, log } = this.options
    const sentAt = clock.monotonic()
    const incarnation = self()
    const taken = await coordination.take(incarnation, wanted, leaseTtlMs)
    // Declared dead meanwhile, and back under a new id: what the old one took is not ours.
    if (incarnation !== self()) return
    if (this.held.size === 0) this.heldSince = sentAt
    this.trusted = null
    for (const { partition, epoch } of taken) {
      this.held.set(partition, { epoch, trustedUntil: sentAt + leaseTtlMs })
    }
    this.options.metrics.partitionsTaken.inc(taken.length)
    if (taken.length > 0) log.info({ partitions: taken.length, of: wanted.length }, 'took partitions')
  }

  private async release(leases: Lease[]): Promise<void> {
    if (leases.length === 0) return
    // Forgotten before the others are told: from here on nothing is fired for them.
    for (const { partition } of leases) this.held.delete(partition)
    this.trusted = null
    await this.options.coordination.release(this.options.self(), leases)
    this.options.metrics.partitionsReleased.inc(leases.length)
    this.options.log.info({ partitions: leases.length }, 'gave partitions back')
  }

  private lose(leases: readonly Lease[]): void {
    const lost = leases.filter(
      ({ partition, epoch }) => this.held.get(partition)?.epoch === epoch && this.held.delete(partition),
    ).length
    if (lost === 0) return
    this.trusted = null
    this.options.metrics.partitionsLost.inc(lost)
    this.options.log.warn({ partitions: lost }, 'lost partitions: their leases were not renewed in time')
  }
}
