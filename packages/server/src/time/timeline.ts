import type { DstGap, DstOverlap } from '@carillon/contract'
import { BoundedCache } from './bounded-cache.js'
import { cycleDays, cycleYears, dayMs, dayOf, hourMs, minuteMs, yearOf, yearStart } from './civil.js'
import { effort } from './effort.js'

export { type DstGap, type DstOverlap, dstGaps, dstOverlaps } from '@carillon/contract'

/**
 * A stretch of time in which the clocks of a zone are steadily ahead of UTC by `offset`: start <= instant < end.
 * Stretches are also cut where a year of UTC begins; there the shifts are 0.
 */
export interface Segment {
  readonly start: number
  readonly end: number
  readonly offset: number
  /** By how much the clocks were put forward (gap, > 0) or back (overlap, < 0) at `start`. */
  readonly headShift: number
  /** The same at `end`. */
  readonly tailShift: number
}

/** No zone is further from UTC than this since 1970, in either direction. */
export const widestOffset = 15 * hourMs

/** Zone data names changes one by one up to a year before this one, and by two yearly rules from then on. */
const firstRegularYear = 2101
/** The closest two changes of any zone since 1970 are seven days apart. */
const sampleMs = 2 * dayMs
const regularSampleMs = 15 * dayMs

/** What the clocks of one zone do, found from Intl a year at a time and kept. */
export class Timeline {
  readonly #formatter: Intl.DateTimeFormat
  readonly #years = new Map<number, readonly Segment[]>()
  #latest: Segment = { start: 0, end: 0, offset: 0, headShift: 0, tailShift: 0 }

  constructor(zone: string) {
    this.#formatter = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  }

  segmentAt(instant: number): Segment {
    const latest = this.#latest
    if (instant >= latest.start && instant < latest.end) return latest
    return (this.#latest = this.#search(instant))
  }

  offsetAt(instant: number): number {
    return this.segmentAt(instant).offset
  }

  #search(instant: number): Segment {
    const segments = this.#segmentsOf(yearOf(dayOf(instant)))
    let index = segments.length - 1
    while (index > 0 && (segments[index]?.start ?? 0) > instant) index--
    const found = segments[index]
    if (found === undefined) throw new RangeError(`no clock reading at ${instant}`)
    return found
  }

  #segmentsOf(year: number): readonly Segment[] {
    const cycles = Math.floor((year - firstRegularYear) / cycleYears)
    if (cycles > 0) return this.#repeated(year - cycles * cycleYears, cycles * cycleDays * dayMs)
    let segments = this.#years.get(year)
    if (segments === undefined) {
      segments = this.#sample(year)
      this.#years.set(year, segments)
    }
    return segments
  }

  #repeated(year: number, later: number): Segment[] {
    return this.#segmentsOf(year).map((segment) => ({
      ...segment,
      start: segment.start + later,
      end: segment.end + later,
    }))
  }

  #sample(year: number): Segment[] {
    const begin = yearStart(year) * dayMs
    const end = yearStart(year + 1) * dayMs
    const step = year < firstRegularYear ? sampleMs : regularSampleMs
    const segments: Segment[] = []
    let start = begin
    let offset = this.#read(begin)
    let headShift = offset - this.#read(begin - 1000)
    for (let from = begin; from < end; from += step) {
      const to = Math.min(from + step, end - 1000)
      const later = this.#read(to)
      if (later === offset) continue
      const change = this.#bisect(from, to, offset)
      const tailShift = later - offset
      segments.push({ start, end: change, offset, headShift, tailShift })
      start = change
      offset = later
      headShift = tailShift
    }
    segments.push({ start, end, offset, headShift, tailShift: this.#read(end) - offset })
    return segments
  }

  /** The first whole second after `from` with another offset; there is one at or before `to`. */
  #bisect(from: number, to: number, offset: number): number {
    let low = from / 1000
    let high = to / 1000
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#read(middle * 1000) === offset) low = middle
      else high = middle
    }
    return high * 1000
  }

  /** The offset as Intl tells it: "…, GMT", "…, GMT+05:30" or "…, GMT-00:44:30". */
  #read(instant: number): number {
    effort.steps++
    const text = this.#formatter.format(instant)
    const at = text.indexOf('GMT') + 3
    if (at === text.length) return 0
    const part = (index: number) => Number(text.slice(at + index, at + index + 2) || '0')
    const size = part(1) * hourMs + part(4) * minuteMs + part(7) * 1000
    return text[at] === '+' ? size : -size
  }
}

// There are about 600 zones; a formatter holds tens of kilobytes, and a year of segments some hundred bytes.
const timelines = new BoundedCache<Timeline>(160)

/** The timeline of a zone that Intl knows; throws a RangeError for any other. */
export function timelineOf(zone: string): Timeline {
  return timelines.getOrMake(zone, () => new Timeline(zone))
}

export interface DstPolicy {
  readonly gap: DstGap
  readonly overlap: DstOverlap
}

/** The instants at which the clocks show `wall`, and the end of the gap that jumps over it, if one does. */
export function readingsOf(timeline: Timeline, wall: number): { shown: number[]; gapEnd: number | null } {
  const shown: number[] = []
  let gapEnd: number | null = null
  let segment = timeline.segmentAt(wall - widestOffset)
  for (;;) {
    effort.steps++
    const at = wall - segment.offset
    if (at >= segment.start && at < segment.end) shown.push(at)
    // Before a gap the clocks showed an earlier offset; what lies between both readings was never shown.
    if (at < segment.start && at >= segment.start - segment.headShift) gapEnd = segment.start
    if (segment.end > wall + widestOffset) return { shown, gapEnd: shown.length > 0 ? null : gapEnd }
    segment = timeline.segmentAt(segment.end)
  }
}

/** The instants that a wall reading stands for under a policy: none, one or two. */
export function instantsOf(timeline: Timeline, wall: number, policy: DstPolicy): number[] {
  const { shown, gapEnd } = readingsOf(timeline, wall)
  if (gapEnd !== null) return policy.gap === 'run_after' ? [gapEnd] : []
  if (shown.length < 2 || policy.overlap === 'both') return shown
  return policy.overlap === 'first' ? shown.slice(0, 1) : shown.slice(-1)
}
