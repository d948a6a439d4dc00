import { cronWords } from './describe-cron.js'
import { recurrenceWords } from './describe-recurrence.js'
import { readMoment } from './instant.js'
import { periodWords } from './number-words.js'
import { type RuleShape, rulesOf, shapeOf } from './rule-shape.js'
import { parseSchedule } from './schedule.js'
import type { ScheduleSource } from './source.js'
import { dstGaps, dstOverlaps, timelineOf } from './timeline.js'

const nicknameWords: Readonly<Record<string, string>> = {
  '@hourly': 'Every hour',
  '@daily': 'At 00:00 every day',
  '@midnight': 'At 00:00 every day',
  '@weekly': 'At 00:00 on Sunday',
  '@monthly': 'At 00:00 on the 1st of the month',
  '@yearly': 'At 00:00 on the 1st of January',
  '@annually': 'At 00:00 on the 1st of January',
}

/**
 * A definition in one line: its rules in words, its zone and its policies, as
 * "At 02:30 every day · Europe/Madrid · dst: gap=run_after overlap=first". Throws what parseSchedule throws.
 */
export function describe(source: ScheduleSource): string {
  parseSchedule(source)
  const shapes = rulesOf(source.schedule).map(shapeOf)
  const { starts_at: startsAt, ends_at: endsAt } = source
  return [
    rulesWords(shapes, source.timezone),
    source.timezone,
    clockPolicy(shapes, source),
    exclusionWords(source),
    startsAt == null ? '' : `from ${startsAt}`,
    endsAt == null ? '' : `before ${endsAt}`,
  ]
    .filter((part) => part !== '')
    .join(' · ')
}

/** The rules alone. */
export function describeRules(source: Pick<ScheduleSource, 'schedule' | 'timezone' | 'anchor'>): string {
  parseSchedule(source)
  return rulesWords(rulesOf(source.schedule).map(shapeOf), source.timezone)
}

function rulesWords(shapes: readonly RuleShape[], zone: string): string {
  return shapes
    .map((shape) => ruleWords(shape, zone))
    .map((words, index) => (index === 0 ? words : words.charAt(0).toLowerCase() + words.slice(1)))
    .join('; and ')
}

function ruleWords(shape: RuleShape, zone: string): string {
  switch (shape.kind) {
    case 'nickname':
      return nicknameWords[shape.name] ?? shape.name
    case 'cron':
      return cronWords(shape.fields)
    case 'interval':
      return `Every ${periodWords(shape.period)}, counted from ${shape.anchor ?? 'the registration'}`
    case 'once':
      return `Once, at ${shape.text.toUpperCase().replace('T', ' ').replace(/Z$/, ' UTC')}`
    case 'rrule':
      return recurrenceWords(shape.parts, shape.text, startOf(shape.dtstart, zone))
  }
}

/** The reading on the wall that a recurrence rule starts at. */
function startOf(dtstart: string | null, zone: string): number | null {
  if (dtstart === null) return null
  const moment = readMoment(dtstart, '/schedule/dtstart')
  return 'wall' in moment ? moment.wall : moment.instant + timelineOf(zone).offsetAt(moment.instant)
}

/** What happens when clocks change: nothing to intervals and instants, and in UTC nothing at all. */
function clockPolicy(shapes: readonly RuleShape[], source: ScheduleSource): string {
  const above = (shape: RuleShape) =>
    shape.kind === 'interval' || (shape.kind === 'once' && 'instant' in shape.moment)
  if (source.timezone.toUpperCase() === 'UTC' || shapes.every(above)) return ''
  return `dst: gap=${source.dst_gap ?? dstGaps[0]} overlap=${source.dst_overlap ?? dstOverlaps[0]}`
}

const mostExclusions = 3

function exclusionWords({ exclude, on_excluded: policy }: ScheduleSource): string {
  if (exclude == null || exclude.length === 0) return ''
  const more = exclude.length - mostExclusions
  const names = exclude.slice(0, mostExclusions).join(', ') + (more > 0 ? ` and ${more} more` : '')
  if (policy == null || policy === 'exclude') return `not on ${names}`
  const which = policy === 'next_business_day' ? 'next' : 'previous'
  return `moved from ${names} to the ${which} business day`
}
