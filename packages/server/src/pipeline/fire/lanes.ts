import { NumberMap } from '../../platform/number-map.js'
import type { DueTimer } from './plan.js'
import type { PassPlan } from './planning.js'

/** So many statements may be under way at once: while the database works at some, the answer to another is worked through here. */
const lanesAtOnce = 2
/** Fewer than this are one statement. */
const worthSeveral = 500

/** One of the lanes may be so many statements behind before all wait for it. */
const mostWaiting = 1

interface Lane {
  /** When all that was given to it has ended. */
  tail: Promise<void>
  /** Given to it, and not begun. */
  waiting: number
}

/** Told of jobs whose ticks are decided, as soon as they are. */
export type TellDecided = (jobs: Iterable<number>) => void

/** Fires one statement, from `from` on. Answers where the next begins, and how late the latest tick of this one was. */
export type FireSome = (
  ready: readonly DueTimer[],
  from: number,
  plan: PassPlan,
  decided: TellDecided,
) => Promise<{ end: number; lagMs: number }>

/**
 * Ticks on their way into statements, several of which are under way at once. By partition: of each there is one statement at a
 * time, in the order in which the ticks were given, or a late one could overtake another of the same job.
 */
export class Lanes {
  private readonly lanes: Lane[] = Array.from({ length: lanesAtOnce }, () => ({
    tail: Promise.resolve(),
    waiting: 0,
  }))
  /** By job: the ticks that it was last given with. */
  private readonly given = new NumberMap<readonly DueTimer[]>()
  private hungry: (() => void)[] = []
  private latestMs: number | null = null
  private failure: { error: unknown } | null = null
  private stopped = false

  constructor(private readonly fire: FireSome) {}

  /** Those whose ticks are not decided yet: what is known of them elsewhere, or read meanwhile, may be of before. */
  jobs(): Iterable<number> {
    return this.given.keys()
  }

  has(job: number): boolean {
    return this.given.has(job)
  }

  get areIdle(): boolean {
    return this.given.size === 0
  }

  add(ready: readonly DueTimer[], plan: PassPlan): void {
    if (ready.length === 0) return
    for (const { job } of ready) this.given.set(job, ready)
    if (ready.length < worthSeveral) {
      this.give(this.lanes, ready, plan)
      return
    }
    this.lanes.forEach((lane, at) => {
      const part = ready.filter(({ partition }) => partition % lanesAtOnce === at)
      if (part.length > 0) this.give([lane], part, plan, ready)
    })
  }

  /**
   * When one of the lanes has nothing to go on with, once it is through with what it does, and none has much. Throws what has
   * failed.
   */
  async wantMore(): Promise<void> {
    while (this.failure === null && !this.hasRoom())
      await new Promise<void>((resolve) => this.hungry.push(resolve))
    await this.throwFailure()
  }

  /** Throws what has failed, once everything that was given has ended. */
  async throwFailure(): Promise<void> {
    if (this.failure !== null) await this.settled()
  }

  /** When everything that was given has ended. Throws what has failed. */
  async settled(): Promise<void> {
    await Promise.all(this.lanes.map(({ tail }) => tail))
    const { failure } = this
    this.failure = null
    if (failure !== null) throw failure.error
  }

  /** How late the latest was of those that have ended since this was asked last; null: none has. */
  takeLatestMs(): number | null {
    const { latestMs } = this
    this.latestMs = null
    return latestMs
  }

  /** What has not begun is left to others. */
  stop(): void {
    this.stopped = true
  }

  private give(
    lanes: readonly Lane[],
    part: readonly DueTimer[],
    plan: PassPlan,
    whole: readonly DueTimer[] = part,
  ): void {
    for (const lane of lanes) lane.waiting += 1
    const done = Promise.all(lanes.map(({ tail }) => tail)).then(async () => {
      for (const lane of lanes) lane.waiting -= 1
      this.tell()
      try {
        await this.fireAll(part, plan, whole)
      } catch (error) {
        this.failure ??= { error }
        this.tell()
      }
      for (const { job } of part) this.forget(job, whole)
    })
    for (const lane of lanes) lane.tail = done
  }

  /** One statement after the other. */
  private async fireAll(
    part: readonly DueTimer[],
    plan: PassPlan,
    whole: readonly DueTimer[],
  ): Promise<void> {
    // Not only at the end: the wheel has their next ticks by then, and whoever takes those must not take them for these.
    const decided: TellDecided = (jobs) => {
      for (const job of jobs) this.forget(job, whole)
    }
    // Behind one that failed nothing is tried: the pass fails, and what it had is found again by a scan.
    for (let at = 0; at < part.length && this.failure === null && !this.stopped; ) {
      const { end, lagMs } = await this.fire(part, at, plan, decided)
      at = end
      this.latestMs = Math.max(this.latestMs ?? 0, lagMs)
    }
  }

  private forget(job: number, whole: readonly DueTimer[]): void {
    if (this.given.get(job) === whole) this.given.delete(job)
  }

  private hasRoom(): boolean {
    const waiting = this.lanes.map((lane) => lane.waiting)
    return Math.min(...waiting) === 0 && Math.max(...waiting) <= mostWaiting
  }

  private tell(): void {
    const { hungry } = this
    this.hungry = []
    for (const resolve of hungry) resolve()
  }
}
