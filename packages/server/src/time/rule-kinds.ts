import type { CronRule } from './cron-rule.js'
import { inYears, readDate, readMoment } from './instant.js'
import { dayMs } from './civil.js'
import { quote, refusal } from './refusal.js'
import { Recurrence } from './rrule.js'
import type { RecurrenceParts } from './rrule-syntax.js'
import { EndingTicks, IntervalTicks, OnceTicks } from './simple-ticks.js'
import type { RuleTicks } from './ticks.js'
import { type DstPolicy, instantsOf, type Timeline } from './timeline.js'
import { WallTicks } from './wall-ticks.js'

/** The zone of a job, and what it chose about changes of the clocks. */
export interface Place {
  readonly timeline: Timeline
  readonly policy: DstPolicy
}

/** A rule that was read. */
export interface Rule {
  readonly kind: 'cron' | 'interval' | 'once' | 'rrule'
  /** Where it stands in the job. */
  readonly pointer: string
  /** Rules with equal keys have the same ticks in the same place. */
  readonly key: string
  /** Whether it begins with the job's registration, having no beginning of its own. */
  readonly anchored: boolean
  /** Why it has no tick, where that is known. */
  readonly silence?: string
  ticks(anchor: number): RuleTicks
}

export function cronRule(rule: CronRule, pointer: string, { timeline, policy }: Place): Rule {
  return {
    kind: 'cron',
    pointer,
    key: `cron ${rule.key}`,
    anchored: false,
    ticks: () => new WallTicks(rule, timeline, policy),
  }
}

/** The first tick comes a period after the anchor. */
export function intervalRule(
  period: number,
  anchor: number | null,
  pointer: string,
  { timeline }: Place,
): Rule {
  return {
    kind: 'interval',
    pointer,
    key: `every ${period} ${anchor ?? ''}`,
    anchored: anchor === null,
    ticks: (registered) => new IntervalTicks((anchor ?? registered) + period, period, timeline),
  }
}

/** A local time follows the policy: two ticks where the clocks show it twice and both count. */
export function onceRule(text: string, pointer: string, { timeline, policy }: Place): Rule {
  const moment = readMoment(text, pointer)
  const instants = 'instant' in moment ? [moment.instant] : instantsOf(timeline, moment.wall, policy)
  for (const instant of instants) inYears(instant, text, pointer)
  const skipped = 'wall' in moment && instants.length === 0 ? moment.wall : null
  return {
    kind: 'once',
    pointer,
    key: `at ${instants.join()} ${'wall' in moment ? moment.wall : ''}`,
    anchored: false,
    ...(skipped === null
      ? {}
      : { silence: `The clocks jump over ${quote(text)}, and \`dst_gap\` is 'skip'.` }),
    ticks: () => new OnceTicks(instants, 'wall' in moment ? moment.wall : null, timeline),
  }
}

export function recurrenceRule(
  parts: RecurrenceParts,
  dtstart: string | null,
  pointer: string,
  { timeline, policy }: Place,
): Rule {
  const readingAt = (instant: number) => instant + timeline.offsetAt(instant)
  const wholeSecond = (wall: number) => Math.floor(wall / 1000) * 1000
  const moment = dtstart === null ? null : readMoment(dtstart, `${pointer}/dtstart`)
  const start = moment === null ? null : 'wall' in moment ? moment.wall : readingAt(moment.instant)
  const until = readUntil(parts.until, `${pointer}/rrule`)
  return {
    kind: 'rrule',
    pointer,
    key: `rrule ${JSON.stringify(parts)} ${start ?? ''}`,
    anchored: start === null,
    ticks: (registered) => {
      const rule = new Recurrence(parts, wholeSecond(start ?? readingAt(registered)), until?.wall ?? null)
      const ticks = new WallTicks(rule, timeline, policy)
      return until?.instant === undefined ? ticks : new EndingTicks(ticks, until.instant)
    },
  }
}

/** UNTIL is the last reading that counts, or with a "Z" the last instant; a date counts to its end. */
function readUntil(text: string | null, pointer: string): { wall?: number; instant?: number } | null {
  if (text === null) return null
  const date = `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6, 8)}`
  if (text.length === 8) {
    const day = readDate(date)
    if (typeof day === 'number') return { wall: (day + 1) * dayMs - 1 }
    throw refusal('invalid_schedule', pointer, `${day}, the date of UNTIL.`, 'Correct UNTIL.')
  }
  const time = `${text.slice(9, 11)}:${text.slice(11, 13)}:${text.slice(13, 15)}`
  return readMoment(`${date}T${time}${text.slice(15)}`, pointer)
}
