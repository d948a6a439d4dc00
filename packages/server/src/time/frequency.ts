import type { CarillonError } from '@carillon/contract'
import { BuiltSchedule, type Schedule } from './built-schedule.js'
import { CronRule } from './cron-rule.js'
import { effort } from './effort.js'
import { refusal } from './refusal.js'
import { IntervalTicks } from './simple-ticks.js'
import { instantsOf } from './timeline.js'
import { WallTicks } from './wall-ticks.js'
import { utcText } from './iso-text.js'

const daySeconds = 86_400
/** How many ticks are compared one by one where no analysis can tell. */
const comparedTicks = 5000
/** How many days are looked at for a pair that the analysis says there is. */
const comparedDays = 20_000
/** After so many years dates fall on the same weekdays again, and clocks change on the same dates. */
const comparedYearsMs = 28 * 365.25 * 86_400_000

/** What passed before, and from when on: jobs with one rule share a schedule. */
const passed = new WeakMap<Schedule, { minIntervalMs: number; from: number }>()

/**
 * Throws schedule_too_frequent, naming two ticks after `from` that are closer than `minIntervalMs`. Exact for a cron
 * rule: it compares the times of a day, the days that follow each other, and what happens at each change of the
 * clocks in 28 years; and for an interval, whose ticks are a period apart. Of other schedules the first 5000 ticks are
 * compared.
 */
export function checkFrequency(schedule: Schedule, from: number, minIntervalMs: number): void {
  const known = passed.get(schedule)
  if (known !== undefined && known.minIntervalMs >= minIntervalMs && known.from <= from) return
  const ticks = schedule instanceof BuiltSchedule ? schedule.rules : null
  if (ticks instanceof WallTicks && ticks.rule instanceof CronRule && schedule.kind === 'cron') {
    checkCron(schedule, ticks, ticks.rule, from, minIntervalMs)
  } else if (!isPlainInterval(schedule, minIntervalMs)) {
    compare(schedule, from, Number.POSITIVE_INFINITY, minIntervalMs)
  }
  passed.set(schedule, { minIntervalMs, from })
}

/** Every job has an instant of its own from which its interval counts: comparing ticks for each would take half of registering it. */
function isPlainInterval(schedule: Schedule, minIntervalMs: number): boolean {
  return (
    schedule instanceof BuiltSchedule &&
    schedule.plain &&
    schedule.rules instanceof IntervalTicks &&
    schedule.rules.period >= minIntervalMs
  )
}

function checkCron(
  schedule: Schedule,
  ticks: WallTicks,
  rule: CronRule,
  from: number,
  minIntervalMs: number,
): void {
  // Two readings on the wall are a second apart at least.
  if (minIntervalMs <= 1000) return
  const { days, times } = rule
  const overNight = days.closest() * daySeconds + times.first - times.last
  if (Math.min(times.closest(), overNight) * 1000 < minIntervalMs) {
    compare(schedule, from, Number.POSITIVE_INFINITY, minIntervalMs, 400)
    compareDays(schedule, ticks, rule, from, minIntervalMs)
  }
  compareChanges(schedule, ticks, from, minIntervalMs)
}

/** Compares ticks after `from` with the ones that follow them, until one is after `to`. */
function compare(
  schedule: Schedule,
  from: number,
  to: number,
  minIntervalMs: number,
  most = comparedTicks,
): void {
  let previous = schedule.next(from)
  for (let compared = 0; compared < most && previous !== null && previous <= to; compared++) {
    effort.steps++
    const tick = schedule.next(previous)
    if (tick === null) return
    if (tick - previous < minIntervalMs) throw tooFrequent(previous, tick, minIntervalMs)
    previous = tick
  }
}

/** Looks day by day for a close pair; one may be far in the future. */
function compareDays(
  schedule: Schedule,
  { timeline, policy }: WallTicks,
  { days, times }: CronRule,
  from: number,
  minIntervalMs: number,
): void {
  let day = days.next(Math.floor(from / 86_400_000) - 2)
  for (let looked = 0; looked < comparedDays && day !== null; looked++) {
    effort.steps++
    const next = days.next(day)
    const closeTimes = times.closest() * 1000 < minIntervalMs
    const closeDays =
      next !== null && ((next - day) * daySeconds + times.first - times.last) * 1000 < minIntervalMs
    if (closeTimes || closeDays) {
      const begin = (day * daySeconds + (closeTimes ? times.first : times.last)) * 1000
      const [at] = instantsOf(timeline, begin, policy)
      if (at !== undefined) {
        const end = closeTimes ? at + 86_400_000 : at
        compare(schedule, Math.max(from, at - 1), end, minIntervalMs)
      }
    }
    day = next
  }
}

/** Looks at each change of the clocks: it may bring two ticks together, and repeat some. */
function compareChanges(
  schedule: Schedule,
  { timeline }: WallTicks,
  from: number,
  minIntervalMs: number,
): void {
  const end = from + comparedYearsMs
  let segment = timeline.segmentAt(from)
  while (segment.end < end) {
    effort.steps++
    segment = timeline.segmentAt(segment.end)
    if (segment.headShift === 0) continue
    const before = schedule.prev(segment.start - 1)
    const begin = before === null ? segment.start - 1 : before - 1
    compare(schedule, Math.max(from, begin), segment.start + Math.abs(segment.headShift), minIntervalMs)
  }
}

function tooFrequent(first: number, second: number, minIntervalMs: number): CarillonError {
  return refusal(
    'schedule_too_frequent',
    '/schedule',
    `The ticks ${utcText(first)} and ${utcText(second)} are ${(second - first) / 1000} s apart; ` +
      `at least ${minIntervalMs / 1000} s are required.`,
    'Lengthen the interval, or lower CARILLON_MIN_INTERVAL_SECONDS on the server.',
  )
}
