import { Flow } from './flow.js'

/** Until it is measured: so many ticks can be staged a second. */
const assumedPerSecond = 20_000
/** A measurement counts so much against those before it. */
const weight = 0.2
/** Fewer at a time than this say nothing about the pace of a crowd: what a statement costs by itself is too much of theirs. */
const leastToMeasure = 400
/** Staging takes a little longer than at its best. */
const reserve = 1.3
/** So much of the pace is there for a crowd, whatever else comes. */
const leastShare = 1 / 4
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
  /** Up to here, what is known to start was taken. */
  private through = Number.NEGATIVE_INFINITY
  private readonly flow = new Flow()

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

  /** So many ticks took so long. */
  measured(ticks: number, tookMs: number): void {
    if (ticks < leastToMeasure || tookMs <= 0) return
    this.perSecond += weight * ((ticks / tookMs) * 1000 - this.perSecond)
  }

  /** A tick that starts then was staged. */
  staged(startAt: number): void {
    this.flow.add(startAt)
  }

  /** Whatever starts up to this instant, as far as it is known, was taken to be staged. */
  taken(through: number): void {
    this.through = Math.max(this.through, through)
  }

  /** The longest time ahead within which more ticks start than can be staged in it. `startBy` says whether so many start up to an instant. */
  aheadMs(now: number, startBy: StartBy): number {
    const flow = this.flow.perSecond(now)
    const crowded = stepsMs.filter((ms) => startBy(now + ms, this.crowdWithin(ms, now, flow)))
    return Math.max(this.isCalm(now, flow, startBy) ? this.calmMs : this.leastMs, ...crowded)
  }

  /**
   * What comes evenly is staged as it comes, however long ahead that is begun: it is no crowd, even where it takes nearly all of the pace.
   * What comes on top of it has the rest of the pace. Never fewer than would be a crowd without a flow: ticks of frequent jobs, which are put off until
   * shortly before their time, are still there though all was taken.
   */
  private crowdWithin(ms: number, now: number, flow: number): number {
    const spare = Math.max(this.perSecond - flow, this.perSecond * leastShare)
    const onTop = this.evenlyBy(now + ms, now, flow) + ((ms / 1000) * spare) / reserve
    return Math.max(onTop, ((ms / 1000) * this.perSecond) / reserve)
  }

  private isCalm(now: number, flow: number, startBy: StartBy): boolean {
    if (this.calmMs >= this.leastMs) return false
    const instant = now + this.leastMs
    const many = Math.floor(this.evenlyBy(instant, now, flow) + this.perSecond * calmSeconds) + 1
    if (startBy(instant, many)) this.calmFrom = now + restlessMs
    return now >= this.calmFrom
  }

  /** So many are there up to an instant because of the even flow: those that were not taken yet. */
  private evenlyBy(instant: number, now: number, flow: number): number {
    return (flow * Math.max(0, instant - Math.max(now, this.through))) / 1000
  }

  /**
   * When a tick may be staged: not longer before its start than half the time since the tick before it, so that between two
   * runs of a frequent job its place is free for a retry, a trigger or one that catches up.
   */
  static notBefore(startAt: number, due: number, previous: number, aheadMs: number): number {
    return startAt - Math.min(aheadMs, Math.max(leastHalfMs, (due - previous) / 2))
  }
}

type StartBy = (instant: number, many: number) => boolean

/** Too little time to stage in would make every tick late. */
const leastHalfMs = 250
