import type { Metrics } from '../../platform/metrics.js'
import type { Decided, Decision, OwnedPartition } from './fire-statement.js'
import type { Horizon } from './horizon.js'
import { type PlannedTick, ticksByJob } from './plan.js'

export interface AftermathOptions {
  metrics: Metrics
  horizon: Horizon
  /** Told of every tick that was fired, with how long after it the next one of its job starts; 0: none does. */
  staged: (startAt: number, periodMs: number, now: number) => void
  /** The database has a newer epoch for these. */
  disown: (held: readonly OwnedPartition[]) => void
  /** Told after ticks entered the queue; `leftFrom`: when the first of those starts that are left to whoever leases them. */
  onFired: (leftFrom: number | null) => void
  /** Told of every tick that was fired, where somebody traces them. */
  told?: (tick: PlannedTick, now: number) => void
  /** Told how many missed ticks of how many jobs were left to replays. */
  onDeferred: (ticks: number, jobs: number) => void
}

/** A timer that somebody held, or whose place was taken by a late run, is looked at again so soon. */
const againMs = 50
const earlyAgainMs = 100
/** Those of deleted jobs stay behind: now and then all are forgotten. */
const mostTrailing = 100_000

/** Decisions after which the cursor stands at a later tick. */
const moving: ReadonlySet<Decision> = new Set<Decision>(['fired', 'skipped', 'deferred', 'overlap'])

/** What follows from the database's decisions: where each timer goes on, who has to hear of it, how late we are. */
export class Aftermath {
  /** Jobs that are late by their own history: the tick before took its time, or the place was taken. */
  private readonly trailing = new Set<number>()

  constructor(private readonly options: AftermathOptions) {}

  /** Answers how late the latest tick was that nothing but this scheduler held up. */
  of(owned: readonly OwnedPartition[], ticks: readonly PlannedTick[], decided: readonly Decided[]): number {
    const { metrics, onFired, onDeferred, disown, staged } = this.options
    const tickOf = ticksByJob(ticks)
    const refused = new Set<number>()
    const counts = new Map<Decision, number>()
    const deferred = { ticks: 0, jobs: 0 }
    let fired = false
    let leftFrom: number | null = null
    let lagMs = 0
    let missed = 0
    for (const { job, now, decision, token = null } of decided) {
      const tick = tickOf(job)
      if (tick === undefined) continue
      if (moving.has(decision)) missed += missedBefore(tick)
      counts.set(decision, (counts.get(decision) ?? 0) + 1)
      if (decision === 'fired') {
        fired = true
        this.options.told?.(tick, now)
        staged(tick.availableAt, (tick.nextStart ?? tick.availableAt) - tick.availableAt, now)
        if (token === null) leftFrom = Math.min(leftFrom ?? tick.availableAt, tick.availableAt)
        const lateMs = Math.max(0, now - tick.availableAt)
        metrics.fireLateness.observe(lateMs / 1000)
        if (!this.trailing.has(job)) lagMs = Math.max(lagMs, lateMs)
      } else if (decision === 'deferred') {
        deferred.jobs += 1
        deferred.ticks += tick.replay?.count ?? 0
      } else if (decision === 'refused') refused.add(tick.timer.partition)
      this.follow(tick, decision, now)
    }
    for (const [decision, count] of counts) metrics.ticks.inc({ decision }, count)
    metrics.batch('fire', decided.length)
    if (missed > 0) metrics.missed.inc(missed)
    if (refused.size > 0) {
      metrics.refusedByEpoch.inc(refused.size)
      disown(owned.filter(({ partition }) => refused.has(partition)))
    }
    if (fired) onFired(leftFrom)
    if (deferred.jobs > 0) onDeferred(deferred.ticks, deferred.jobs)
    return lagMs
  }

  /** Tells the wheel where the timer goes on. */
  private follow({ timer, availableAt, nextStart }: PlannedTick, decision: Decision, now: number): void {
    const { horizon } = this.options
    const { job, partition } = timer
    if (decision === 'refused') {
      this.trailing.delete(job)
      return
    }
    if (moving.has(decision)) {
      // The next one is late before anybody could look at it; one that has come level with the time is its own again.
      if (nextStart !== null && nextStart < now) {
        this.trail(job)
        horizon.lookAgainAt(job, { partition, startAt: nextStart }, now)
        return
      }
      this.trailing.delete(job)
      if (nextStart !== null) horizon.startsAt(job, partition, nextStart)
      return
    }
    this.trail(job)
    // A tick whose place is taken is decided at its instant, unless the place becomes free before.
    const again = decision === 'early' ? Math.min(availableAt, now + earlyAgainMs) : now + againMs
    horizon.lookAgainAt(job, { partition, startAt: timer.start_at }, again)
  }

  private trail(job: number): void {
    if (this.trailing.size >= mostTrailing) this.trailing.clear()
    this.trailing.add(job)
  }
}

/** Ticks that were passed over or put off because nobody fired them in time; the one that is fired in their place is none of them. */
function missedBefore({ skip, replay, reason }: PlannedTick): number {
  return reason === 'skipped_by_request' ? 0 : (skip?.count ?? 0) + (replay?.count ?? 0)
}
