import { dayMs, latestInstant } from './civil.js'
import { effort } from './effort.js'
import type { DroppedTick, RuleTicks, TimesOfDay, WallRule } from './ticks.js'
import { type DstPolicy, type Segment, type Timeline, widestOffset } from './timeline.js'

/** A rule that names only readings which no clock shows is given up after so many changes: 400 years repeat. */
const mostSegments = 1200

/**
 * The ticks of a rule about readings on the wall, in one zone. The time is walked in segments in which the clocks run
 * steadily: in each of them a range of readings is accepted, and the gap before it may add one tick.
 */
export class WallTicks implements RuleTicks {
  readonly rule: WallRule
  readonly timeline: Timeline
  readonly policy: DstPolicy

  constructor(rule: WallRule, timeline: Timeline, policy: DstPolicy) {
    this.rule = rule
    this.timeline = timeline
    this.policy = policy
  }

  next(after: number): number | null {
    const { rule, timeline } = this
    let segment = timeline.segmentAt(after + 1)
    for (let step = 0; step < mostSegments && segment.start <= latestInstant; step++) {
      effort.steps++
      if (segment.start > after && this.#fillsGap(segment)) return segment.start
      const wall = rule.nextWall(Math.max(this.#firstAccepted(segment), after + 1 + segment.offset) - 1)
      if (wall !== null && wall < this.#endAccepted(segment)) return wall - segment.offset
      // Clocks put back show readings again that lie before `wall`.
      if (segment.tailShift < 0) segment = timeline.segmentAt(segment.end)
      else if (wall === null) return null
      else segment = timeline.segmentAt(Math.max(segment.end, wall - widestOffset))
    }
    return null
  }

  prev(atOrBefore: number): number | null {
    const { rule, timeline } = this
    let segment = timeline.segmentAt(atOrBefore)
    for (let step = 0; step < mostSegments && segment.end > 0; step++) {
      effort.steps++
      const wall = rule.prevWall(Math.min(this.#endAccepted(segment) - 1, atOrBefore + segment.offset))
      if (wall !== null && wall >= this.#firstAccepted(segment)) return wall - segment.offset
      if (this.#fillsGap(segment)) return segment.start
      if (segment.headShift < 0) segment = timeline.segmentAt(segment.start - 1)
      else if (wall === null) return null
      else segment = timeline.segmentAt(Math.min(segment.start - 1, wall + widestOffset))
    }
    return null
  }

  count(from: number, to: number): number {
    let count = 0
    let segment = this.timeline.segmentAt(from)
    for (;;) {
      effort.steps++
      const first = Math.max(this.#firstAccepted(segment), from + segment.offset)
      const last = Math.min(this.#endAccepted(segment) - 1, to + segment.offset)
      if (last >= first) count += this.rule.countWalls(first, last)
      if (segment.start >= from && segment.start <= to && this.#fillsGap(segment)) {
        // A tick that the rule names for the end of the gap anyway was counted above.
        if (this.rule.countWalls(segment.start + segment.offset, segment.start + segment.offset) === 0)
          count++
      }
      if (segment.end > to) return count
      segment = this.timeline.segmentAt(segment.end)
    }
  }

  dropped(from: number, to: number, most: number): DroppedTick[] {
    const dropped: DroppedTick[] = []
    if (this.rule.followsWall || this.policy.gap === 'run_after') return dropped
    let segment = this.timeline.segmentAt(from)
    while (segment.end <= to && dropped.length < most) {
      effort.steps++
      segment = this.timeline.segmentAt(segment.end)
      for (const wall of this.#wallsInGap(segment, most - dropped.length)) {
        dropped.push({ at: segment.start, wall, reason: 'dst_gap' })
      }
    }
    return dropped
  }

  nominal(tick: number): number[] {
    const segment = this.timeline.segmentAt(tick)
    const wall = tick + segment.offset
    const own = this.rule.countWalls(wall, wall) > 0 ? [wall] : []
    const jumped = tick === segment.start && this.#fillsGap(segment)
    return jumped ? [...this.#wallsInGap(segment, dayMs / 1000), ...own] : own
  }

  timesOn(day: number): TimesOfDay | null {
    return this.rule.timesOn(day)
  }

  /** The first reading of a segment that counts: where clocks were put back, its first ones may have counted before. */
  #firstAccepted({ start, offset, headShift }: Segment): number {
    const repeated = !this.rule.followsWall && this.policy.overlap === 'first' && headShift < 0
    return start + offset - (repeated ? headShift : 0)
  }

  /** The end of the readings that count: where clocks will be put back, the last ones may count afterwards. */
  #endAccepted({ end, offset, tailShift }: Segment): number {
    const repeats = !this.rule.followsWall && this.policy.overlap === 'last' && tailShift < 0
    return end + offset + (repeats ? tailShift : 0)
  }

  /** Whether the rule names a reading in the gap before a segment, and runs right after it instead. */
  #fillsGap({ start, offset, headShift }: Segment): boolean {
    if (headShift <= 0 || this.rule.followsWall || this.policy.gap === 'skip') return false
    const wall = this.rule.nextWall(start + offset - headShift - 1)
    return wall !== null && wall < start + offset
  }

  #wallsInGap({ start, offset, headShift }: Segment, most: number): number[] {
    const walls: number[] = []
    if (headShift <= 0) return walls
    let wall = this.rule.nextWall(start + offset - headShift - 1)
    while (wall !== null && wall < start + offset && walls.length < most) {
      effort.steps++
      walls.push(wall)
      wall = this.rule.nextWall(wall)
    }
    return walls
  }
}
