import { limits } from '@carillon/contract'
import { BoundedCache } from './bounded-cache.js'
import { BuiltSchedule, RememberingTicks, type Schedule } from './built-schedule.js'
import { earliestInstant, latestInstant } from './civil.js'
import { ExcludingTicks } from './excluding.js'
import { type Exclusions, readExclusions } from './exclusions.js'
import { readInstant } from './instant.js'
import { MovingTicks } from './moving.js'
import { quote, refusal } from './refusal.js'
import type { Place, Rule } from './rule-kinds.js'
import { readRule } from './rules.js'
import { type CalendarSet, excludedPolicies, type OnExcluded, type ScheduleSource } from './source.js'
import type { RuleTicks, Ticks } from './ticks.js'
import { type DstPolicy, dstGaps, dstOverlaps, timelineOf } from './timeline.js'
import { UnionTicks } from './union.js'
import { checkZone } from './zone.js'

export type { Schedule } from './built-schedule.js'
export { checkFrequency } from './frequency.js'
export type { Calendar, CalendarSet, RuleInput, RuleObject, ScheduleInput, ScheduleSource } from './source.js'
export type { DroppedTick } from './ticks.js'

/** A schedule without its bounds and, where rules begin with it, without the job's registration. */
interface Plan {
  build(anchor: number): BuiltSchedule
}

// A plan holds a few kilobytes. Many jobs share few rules: 10,000 plans serve millions of jobs.
const plansByText = new BoundedCache<Plan>(10_000)
const plansByKey = new BoundedCache<Plan>(10_000)

/**
 * Reads a schedule. Equal sources share one object, and sources that say the same in other words do, too.
 * Throws invalid_schedule, invalid_timezone or schedule_never_fires.
 */
export function parseSchedule(source: ScheduleSource): Schedule {
  checkZone(source.timezone)
  const schedule = plansByText.getOrMake(textOf(source), () => makePlan(source)).build(source.anchor)
  const { starts_at: startsAt = null, ends_at: endsAt = null } = source
  return startsAt === null && endsAt === null ? schedule : bound(schedule, source.timezone, startsAt, endsAt)
}

/** What two sources must have in common to be the same but for bounds and registration. */
function textOf(source: ScheduleSource): string {
  const { schedule, timezone, dst_gap: gap, dst_overlap: overlap, exclude, on_excluded: onExcluded } = source
  const rules = typeof schedule === 'string' ? `=${schedule}` : JSON.stringify(schedule)
  const place = `${timezone} ${gap ?? ''} ${overlap ?? ''}`
  if (exclude == null || exclude.length === 0) return `${place} ${rules}`
  return `${place} ${onExcluded ?? ''} ${exclusionKey(exclude, source.calendars ?? {})} ${rules}`
}

// Calendars are long and many jobs name the same one: each is given a number, by the object that holds it and by
// what is in it. An object must not change after it was used.
const numbersByCalendar = new WeakMap<object, number>()
const numbersByContent = new BoundedCache<number>(1000)
let lastNumber = 0

/** All that is excluded, in one text. */
function exclusionKey(exclude: readonly string[], calendars: CalendarSet): string {
  const numbers = exclude.map((name) => {
    const calendar = Object.hasOwn(calendars, name) ? calendars[name] : undefined
    if (calendar === undefined) return 0
    let number = numbersByCalendar.get(calendar)
    if (number === undefined) {
      number = numbersByContent.getOrMake(JSON.stringify(calendar), () => ++lastNumber)
      numbersByCalendar.set(calendar, number)
    }
    return number
  })
  return JSON.stringify([exclude, numbers])
}

function makePlan(source: ScheduleSource): Plan {
  const policy: DstPolicy = {
    gap: choice(source.dst_gap, dstGaps, 'dst_gap'),
    overlap: choice(source.dst_overlap, dstOverlaps, 'dst_overlap'),
  }
  const onExcluded = choice(source.on_excluded, excludedPolicies, 'on_excluded')
  const place = { timeline: timelineOf(source.timezone), policy }
  const rules = readRules(source.schedule, place)
  const exclude = source.exclude ?? []
  const plan = () => planOf(rules, place, exclude, source.calendars ?? {}, onExcluded)
  if (rules.some((rule) => rule.anchored)) return plan()
  const keys = rules.map((rule) => rule.key).sort()
  const excluded = exclude.length === 0 ? '' : onExcluded + exclusionKey(exclude, source.calendars ?? {})
  const key = `${source.timezone} ${policy.gap} ${policy.overlap} ${excluded} ${keys.join(' | ')}`
  return plansByKey.getOrMake(key, plan)
}

/** A field with few values; the first of them where it is left out. */
function choice<T extends string>(value: T | null | undefined, known: readonly [T, ...T[]], name: string): T {
  const chosen = value ?? known[0]
  if (known.includes(chosen)) return chosen
  const message = `${quote(String(value))} is not a value of \`${name}\`.`
  throw refusal('invalid_schedule', `/${name}`, message, `Use one of: ${known.join(', ')}.`)
}

function readRules(schedule: ScheduleSource['schedule'], place: Place): Rule[] {
  const several = Array.isArray(schedule)
  const inputs: readonly unknown[] = several ? schedule : [schedule]
  if (inputs.length === 0 || inputs.length > limits.rules) {
    const message = `The schedule has ${inputs.length} rules.`
    throw refusal('invalid_schedule', '/schedule', message, `Give one to ${limits.rules} rules.`)
  }
  const rules = inputs.map((input, index) =>
    readRule(input, several ? `/schedule/${index}` : '/schedule', place),
  )
  // The same rule twice is the rule once.
  return [...new Map(rules.map((rule) => [rule.key, rule])).values()]
}

function planOf(
  rules: readonly Rule[],
  place: Place,
  exclude: readonly string[],
  calendars: CalendarSet,
  onExcluded: OnExcluded,
): Plan {
  if (exclude.length > limits.exclusions) {
    const message = `\`exclude\` has ${exclude.length} entries; at most ${limits.exclusions} are taken.`
    throw refusal('invalid_schedule', '/exclude', message, 'Put the dates into a calendar and name it.')
  }
  const exclusions = exclude.length === 0 ? null : readExclusions(exclude, calendars, place.timeline)
  const build = (anchor: number): BuiltSchedule => {
    const parts = rules.map((rule) => rule.ticks(anchor))
    const [first] = parts
    const all = first === undefined || parts.length > 1 ? new UnionTicks(parts, place.timeline) : first
    checkFires(all, rules)
    const kind = parts.length > 1 ? 'union' : (rules[0]?.kind ?? 'union')
    const ticks = exclusions === null ? all : excluding(all, exclusions, place, onExcluded)
    const arithmetic = ticks === all && (kind === 'interval' || kind === 'once')
    return new BuiltSchedule(kind, all, arithmetic ? ticks : new RememberingTicks(ticks))
  }
  if (rules.some((rule) => rule.anchored)) return { build }
  const built = build(0)
  return { build: () => built }
}

/** A rule may be silent beside others, as long as one of them speaks. */
function checkFires(all: RuleTicks, rules: readonly Rule[]): void {
  if (all.next(earliestInstant - 1) !== null) return
  throw refusal(
    'schedule_never_fires',
    rules[0]?.pointer ?? '/schedule',
    rules[0]?.silence ?? 'The rule names no instant at all, or only such that the clocks jump over.',
    'Check its days against its months, and its times against the changes of the clocks.',
  )
}

function excluding(rules: RuleTicks, exclusions: Exclusions, place: Place, onExcluded: OnExcluded): Ticks {
  if (onExcluded === 'exclude') return new ExcludingTicks(rules, exclusions)
  const direction = onExcluded === 'next_business_day' ? 1 : -1
  return new MovingTicks(rules, exclusions, place.timeline, place.policy, direction)
}

function bound(
  schedule: BuiltSchedule,
  zone: string,
  startsAt: string | null,
  endsAt: string | null,
): Schedule {
  const read = (text: string, pointer: string) => readInstant(text, pointer, timelineOf(zone))
  const first = startsAt === null ? earliestInstant : read(startsAt, '/starts_at')
  const end = endsAt === null ? latestInstant + 1 : read(endsAt, '/ends_at')
  if (end <= first) {
    const message = `\`ends_at\` (${endsAt}) is not after \`starts_at\` (${startsAt}).`
    throw refusal('invalid_schedule', '/ends_at', message, 'Give a later end.')
  }
  return schedule.within(first, end - 1)
}
