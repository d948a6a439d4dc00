/** Until it is measured: so many ticks can be staged a second. */
const assumedPerSecond = 20_000
/** A measurement counts so much against those before it. */
const weight = 0.2
/** Staging takes a little longer than at its best. */
const reserve = 1.3
/** What can be staged in so long is little. Much less than there is: a process that has just begun is slower than it will be. */
const calmSeconds = 0.4
/** So long after more than that: with every change to longer ahead, all that lies between comes up at once, and holds up starts. */
const restlessMs = 10_000
const stepsMs = [1_000, 2_000, 3_000, 5_000, 8_000, 12_000, 20_000, 30_000, 45_000, 60_000]

/**
 * How early ticks are staged. Usually by the setting; where more start at one instant than can be staged in that time, by as
 * much as they need; and a little later where little starts, and somebody would have to hold it until then.
 */
export class Staging {
  private perSecond = assumedPerSecond
  private calmFrom = Number.NEGATIVE_INFINITY

  /** `calmMs`: as long ahead where little starts, if that is less. */
  constructor(
    private readonly leastMs: number,
    private readonly calmMs = leastMs,
  ) {}

  /**
   * Where a worker of this process gets runs as they are made, and holds them from then on: not longer before their time than it would lease
   * them, while little starts.
   */
  static inFront(settingMs: number, heldMs = settingMs): Staging {
    return new Staging(settingMs, Math.min(settingMs, Math.max(heldMs, leastHalfMs)))
  }

  /** So many ticks took so long. Small batches say nothing about the pace of large ones. */
  measured(ticks: number, tookMs: number): void {
    if (ticks < 200 || tookMs <= 0) return
    this.perSecond += weight * ((ticks / tookMs) * 1000 - this.perSecond)
  }

  /** The longest time ahead within which more ticks start than can be staged in it. `startBy` says whether so many start up to an instant. */
  aheadMs(now: number, startBy: (instant: number, many: number) => boolean): number {
    const crowded = stepsMs.filter((ms) => startBy(now + ms, ((ms / 1000) * this.perSecond) / reserve))
    return Math.max(this.isCalm(now, startBy) ? this.calmMs : this.leastMs, ...crowded)
  }

  private isCalm(now: number, startBy: (instant: number, many: number) => boolean): boolean {
    if (this.calmMs >= this.leastMs) return false
    if (startBy(now + this.leastMs, Math.floor(this.perSecond * calmSeconds) + 1))
      this.calmFrom = now + restlessMs
    return now >= this.calmFrom
  }

  /**
   * When a tick may be staged: not longer before its start than half the time since the tick before it, so that between two
   * runs of a frequent job its place is free for a retry, a trigger or one that catches up.
   */
  static notBefore(startAt: number, due: number, previous: number, aheadMs: number): number {
    return startAt - Math.min(aheadMs, Math.max(leastHalfMs, (due - previous) / 2))
  }
}

/** Too little time to stage in would make every tick late. */
const leastHalfMs = 250
