import type { Logger } from 'pino'
import type { Database } from '../db/pool.js'
import { statement } from '../db/statement.js'
import type { Clock } from '../platform/clock.js'
import type { Metrics } from '../platform/metrics.js'
import { assignPartitions } from './assignment.js'

interface HeldPartition {
  partition: number
  epoch: number
}

const takeStatement = statement<{ incarnation: number; wanted: number[]; ttl_ms: number }, HeldPartition>(
  new URL('./take-partitions.sql', import.meta.url),
)
const renewStatement = statement<
  { incarnation: number; partitions: number[]; epochs: number[]; ttl_ms: number },
  HeldPartition
>(new URL('./renew-partitions.sql', import.meta.url))
const releaseStatement = statement<{ incarnation: number; partitions: number[] }, { partition: number }>(
  new URL('./release-partitions.sql', import.meta.url),
)

export interface OwnershipOptions {
  database: Database
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
  private renewedAt = Number.NEGATIVE_INFINITY
  private heldSince = Number.NEGATIVE_INFINITY
  private asideUntil = Number.NEGATIVE_INFINITY

  constructor(private readonly options: OwnershipOptions) {}

  /** Partitions with their epochs, as far as they can be trusted now. */
  current(): HeldPartition[] {
    const now = this.options.clock.monotonic()
    return [...this.held].flatMap(([partition, lease]) =>
      lease.trustedUntil > now ? [{ partition, epoch: lease.epoch }] : [],
    )
  }

  /** One pass: renew when it is time, let go of what is not mine by assignment, take what is and is free. */
  async runOnce(): Promise<undefined> {
    this.loseExpired()
    if (await this.standAside()) return
    await this.renewWhenDue()
    const assigned = new Set(assignPartitions(this.options.liveSchedulers()).get(this.options.self()) ?? [])
    await this.release([...this.held.keys()].filter((partition) => !assigned.has(partition)))
    await this.take([...assigned].filter((partition) => !this.held.has(partition)))
    this.options.metrics.partitionsOwned.set(this.held.size)
  }

  /** A partition that the database says belongs to a newer epoch: stop using it at once. */
  disown(partitions: readonly number[]): void {
    this.lose(partitions)
  }

  /** All of them, because this process was declared dead. */
  dropAll(): void {
    this.held.clear()
    this.options.metrics.partitionsOwned.set(0)
  }

  async releaseAll(): Promise<void> {
    await this.release([...this.held.keys()])
    this.options.metrics.partitionsOwned.set(0)
  }

  private loseExpired(): void {
    const now = this.options.clock.monotonic()
    this.lose([...this.held].flatMap(([partition, lease]) => (lease.trustedUntil <= now ? [partition] : [])))
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
    const partitions = [...this.held.keys()]
    const renewed = await this.renew(partitions)
    this.renewedAt = sentAt
    const kept = new Set(renewed.map((row) => row.partition))
    for (const partition of kept) {
      const lease = this.held.get(partition)
      if (lease !== undefined) lease.trustedUntil = sentAt + leaseTtlMs
    }
    this.lose(partitions.filter((partition) => !kept.has(partition)))
  }

  private async renew(partitions: number[]): Promise<HeldPartition[]> {
    const { database, self, leaseTtlMs } = this.options
    try {
      return await database.run(renewStatement, {
        incarnation: self(),
        partitions,
        epochs: partitions.map((partition) => this.held.get(partition)?.epoch ?? 0),
        ttl_ms: leaseTtlMs,
      })
    } catch (error) {
      // A renewal that failed is a loss, not a reason to hope: they are taken again, under a new epoch, when it can be.
      this.lose(partitions)
      throw error
    }
  }

  private async take(wanted: number[]): Promise<void> {
    if (wanted.length === 0) return
    const { database, clock, leaseTtlMs, self, log } = this.options
    const sentAt = clock.monotonic()
    const incarnation = self()
    const taken = await database.run(takeStatement, { incarnation, wanted, ttl_ms: leaseTtlMs })
    // Declared dead meanwhile, and back under a new id: what the old one took is not ours.
    if (incarnation !== self()) return
    if (this.held.size === 0) this.heldSince = sentAt
    for (const { partition, epoch } of taken) {
      this.held.set(partition, { epoch, trustedUntil: sentAt + leaseTtlMs })
    }
    if (taken.length > 0) log.info({ partitions: taken.length, of: wanted.length }, 'took partitions')
  }

  private async release(partitions: number[]): Promise<void> {
    if (partitions.length === 0) return
    // Forgotten before the database is told: from here on nothing is fired for them.
    for (const partition of partitions) this.held.delete(partition)
    await this.options.database.run(releaseStatement, { incarnation: this.options.self(), partitions })
    this.options.log.info({ partitions: partitions.length }, 'gave partitions back')
  }

  private lose(partitions: readonly number[]): void {
    const lost = partitions.filter((partition) => this.held.delete(partition)).length
    if (lost === 0) return
    this.options.metrics.partitionsLost.inc(lost)
    this.options.log.warn({ partitions: lost }, 'lost partitions: their leases were not renewed in time')
  }
}
