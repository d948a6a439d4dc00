import { type EvenFlow, Flow } from './flow.js'

/** Until it is measured: so many ticks can be staged a second. */
const assumedPerSecond = 20_000
/** A measurement counts so much against those before it. */
const weight = 0.2
/** Fewer at a time than this say nothing about the pace of a crowd: what a statement costs by itself is too much of theirs. */
const leastToMeasure = 400
/** Staging takes a little longer than at its best. */
const reserve = 1.3
/** Of the pace, so much at most is left to what comes evenly: what takes more of it for a while, and then is over, is a crowd. */
const mostForFlow = 3 / 4
/** What can be staged in so long is little. Much less than there is: a process that has just begun is slower than it will be. */
const calmSeconds = 0.4
/** So long after more than that: with every change to longer ahead, all that lies between comes up at once, and holds up starts. */
const restlessMs = 10_000
const longestMs = 60_000
const stepsMs = [1_000, 2_000, 3_000, 5_000, 8_000, 12_000, 20_000, 30_000, 45_000, longestMs]

/**
 * How early ticks are staged. Usually by the setting; where more start at one instant than can be staged in that time, by as
 * much as they need; and a little later where little starts, and somebody would have to hold it until then.
 */
export class Staging {
  private perSecond = assumedPerSecond
  private calmFrom = Number.NEGATIVE_INFINITY
  /** Up to here, what is known to start was taken. */
  private through = Number.NEGATIVE_INFINITY
  private readonly flow: Flow

  /** `calmMs`: as long ahead where little starts, if that is less. */
  constructor(
    private readonly leastMs: number,
    private readonly calmMs = leastMs,
  ) {
    this.flow = new Flow([leastMs, ...stepsMs])
  }

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

  /** A tick that starts then was staged, and the next one of its job starts a period later; 0: none is known. */
  staged(startAt: number, periodMs: number, now: number): void {
    this.flow.add(startAt, periodMs, now)
  }

  /** Whatever starts up to this instant, as far as it is known, was taken to be staged. */
  taken(through: number, now: number): void {
    // Farther ahead than it can be, the clock was set back.
    this.through = this.through > now + longestMs ? through : Math.max(this.through, through)
  }

  /**
   * The longest time ahead within which more ticks start than can be staged in it, beside those that come evenly. `startBy` says whether so
   * many start up to an instant.
   */
  aheadMs(now: number, startBy: StartBy): number {
    const { perSecond, untaken } = this.evenly(now)
    const crowded = stepsMs.filter((ms, at) => {
      const spare = ((ms / 1000) * (this.perSecond - perSecond)) / reserve
      // Never fewer than would be a crowd if nothing came evenly.
      const many = Math.max((untaken[at + 1] ?? 0) + spare, ((ms / 1000) * this.perSecond) / reserve)
      return startBy(now + ms, many)
    })
    return Math.max(this.isCalm(now, untaken[0] ?? 0, startBy) ? this.calmMs : this.leastMs, ...crowded)
  }

  /**
   * What comes evenly is staged as it comes, however long ahead that is begun: earlier it would only wait longer. `untaken`: how many of it are
   * there because of that, by span, not counting what was taken already.
   */
  private evenly(now: number): { perSecond: number; untaken: number[] } {
    const flow: EvenFlow = this.flow.at(now)
    const share = Math.min(1, (this.perSecond * mostForFlow) / flow.perSecond)
    const perSecond = flow.perSecond * share
    const takenOfIt = (perSecond * Math.max(0, this.through - now)) / 1000
    return { perSecond, untaken: flow.within.map((timers) => Math.max(0, timers * share - takenOfIt)) }
  }

  private isCalm(now: number, untaken: number, startBy: StartBy): boolean {
    if (this.calmMs >= this.leastMs) return false
    const many = Math.floor(untaken + this.perSecond * calmSeconds) + 1
    // Farther ahead than it can be, the clock was set back.
    if (startBy(now + this.leastMs, many) || this.calmFrom > now + restlessMs)
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

type StartBy = (instant: number, many: number) => boolean

/** Too little time to stage in would make every tick late. */
const leastHalfMs = 250
