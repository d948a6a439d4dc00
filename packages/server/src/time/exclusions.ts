import { dayMs } from './civil.js'
import { readDate, readInstant } from './instant.js'
import { nearest } from './nearest.js'
import { quote, refusal } from './refusal.js'
import type { Calendar, CalendarSet } from './source.js'
import { type Segment, type Timeline, widestOffset } from './timeline.js'

/** A stretch of time with nothing in it: from <= instant < to. */
export interface Interval {
  readonly from: number
  readonly to: number
}

/** Excluded days with both ends, as day numbers of the job's zone. */
export interface DayRange {
  readonly first: number
  readonly last: number
}

interface Reason extends Interval {
  readonly detail: string
}

/** Disjoint intervals in rising order. */
export class Intervals {
  readonly list: readonly Interval[]

  constructor(intervals: readonly Interval[]) {
    const list: { from: number; to: number }[] = []
    for (const { from, to } of [...intervals].sort((left, right) => left.from - right.from)) {
      const last = list.at(-1)
      if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
      else if (from < to) list.push({ from, to })
    }
    this.list = list
  }

  /** The interval that an instant lies in. */
  at(instant: number): Interval | null {
    const found = this.list[this.indexFrom(instant)]
    return found !== undefined && found.from <= instant ? found : null
  }

  /** The position of the first interval that ends after an instant. */
  indexFrom(instant: number): number {
    let low = 0
    let high = this.list.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.list[middle]?.to ?? 0) > instant) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** What a job's `exclude` and its calendars leave out. */
export interface Exclusions {
  /** Merged, in rising order. */
  readonly days: readonly DayRange[]
  readonly blackouts: Intervals
  /** Days and blackouts together. */
  readonly closed: Intervals
  reasonAt(instant: number): string
}

const dateHint =
  'Give a date ("2026-12-25"), a range of dates ("2026-12-24/2027-01-02") or the name of a calendar.'

/** Reads the exclusions of a job. Throws invalid_schedule about the entry at fault. */
export function readExclusions(
  exclude: readonly string[],
  calendars: CalendarSet,
  timeline: Timeline,
): Exclusions {
  const days: DayRange[] = []
  const blackouts: Reason[] = []
  const reasons: Reason[] = []
  const addDays = (text: string, pointer: string, where: string, detail: string) => {
    const range = readDays(text, pointer, where)
    days.push(range)
    reasons.push(...instantsOfDays(timeline, range).map((interval) => ({ ...interval, detail })))
  }
  for (const [index, entry] of exclude.entries()) {
    const pointer = `/exclude/${index}`
    if (/^\d{4,}-/.test(entry)) {
      addDays(entry, pointer, '', entry)
      continue
    }
    const calendar = calendarOf(entry, calendars, pointer)
    for (const date of calendar.dates)
      addDays(date, pointer, ` of calendar ${quote(entry)}`, `calendar ${entry}: ${date}`)
    blackouts.push(...readBlackouts(calendar, entry, pointer, timeline))
  }
  reasons.push(...blackouts)
  return {
    days: mergeDays(days),
    blackouts: new Intervals(blackouts),
    closed: new Intervals(reasons),
    reasonAt: (instant) =>
      reasons.find(({ from, to }) => from <= instant && instant < to)?.detail ?? 'excluded',
  }
}

function readDays(text: string, pointer: string, where: string): DayRange {
  const [from = '', to = from, ...more] = text.split('/')
  const first = readDate(from)
  const last = readDate(to)
  const problem =
    typeof first === 'string'
      ? first
      : typeof last === 'string'
        ? last
        : more.length > 0
          ? `${quote(text)} has more than one slash`
          : last < first
            ? `The range ${quote(text)} ends before it begins`
            : null
  if (problem !== null) throw refusal('invalid_schedule', pointer, `${problem}${where}.`, dateHint)
  return { first: Number(first), last: Number(last) }
}

function calendarOf(name: string, calendars: CalendarSet, pointer: string): Calendar {
  const calendar = Object.hasOwn(calendars, name) ? calendars[name] : undefined
  if (calendar !== undefined) return calendar
  const known = Object.keys(calendars)
  const suggestion = nearest(name, known)
  throw refusal(
    'invalid_schedule',
    pointer,
    `There is no calendar ${quote(name)}.`,
    suggestion === null
      ? `${dateHint} Create a calendar before a job names it.`
      : `Did you mean "${suggestion}"?`,
  )
}

function readBlackouts(calendar: Calendar, name: string, pointer: string, timeline: Timeline): Reason[] {
  return (calendar.blackouts ?? []).map((blackout) => {
    const from = readInstant(blackout.from, pointer, timeline)
    const to = readInstant(blackout.to, pointer, timeline)
    if (to <= from) {
      throw refusal(
        'invalid_schedule',
        pointer,
        `A blackout of calendar ${quote(name)} ends (${blackout.to}) before it begins (${blackout.from}).`,
        'Correct its `from` and `to`.',
      )
    }
    return { from, to, detail: blackout.reason }
  })
}

/** Ranges that touch become one. */
function mergeDays(ranges: readonly DayRange[]): DayRange[] {
  const merged: { first: number; last: number }[] = []
  for (const { first, last } of [...ranges].sort((left, right) => left.first - right.first)) {
    const previous = merged.at(-1)
    if (previous !== undefined && first <= previous.last + 1) previous.last = Math.max(previous.last, last)
    else merged.push({ first, last })
  }
  return merged
}

/**
 * The instants at which the clocks show one of these days. More than one interval where clocks are put back over a
 * midnight, so that a day ends, and begins once more.
 */
export function instantsOfDays(timeline: Timeline, { first, last }: DayRange): Interval[] {
  const begin = first * dayMs
  const end = (last + 1) * dayMs
  const shown = ({ start, end: segmentEnd, offset }: Segment) => ({
    from: Math.max(start, begin - offset),
    to: Math.min(segmentEnd, end - offset),
  })
  const intervals: Interval[] = []
  // Only near both ends do the clocks matter: in between it is one of these days wherever one is.
  if (end - begin > 2 * widestOffset) intervals.push({ from: begin + widestOffset, to: end - widestOffset })
  for (const edge of [begin, end]) {
    let segment = timeline.segmentAt(edge - widestOffset)
    for (;;) {
      const interval = shown(segment)
      if (interval.from < interval.to) intervals.push(interval)
      if (segment.end > edge + widestOffset) break
      segment = timeline.segmentAt(segment.end)
    }
  }
  return [...new Intervals(intervals).list]
}
