import { type CronFields, readCronFields } from './cron-syntax.js'
import { looksLikeInstant, type Moment, readMoment } from './instant.js'
import { parsePeriod, secondsPeriod } from './interval.js'
import { type RecurrenceParts, readRecurrence } from './rrule-syntax.js'
import type { RuleInput, ScheduleInput } from './source.js'

/** A rule in its parts, for telling people about it. */
export type RuleShape =
  | { readonly kind: 'nickname'; readonly name: string }
  | { readonly kind: 'cron'; readonly text: string; readonly fields: CronFields }
  | { readonly kind: 'interval'; readonly period: number; readonly anchor: string | null }
  | { readonly kind: 'once'; readonly text: string; readonly moment: Moment }
  | {
      readonly kind: 'rrule'
      readonly text: string
      readonly parts: RecurrenceParts
      readonly dtstart: string | null
    }

/** The rules of a schedule that parseSchedule takes. */
export function rulesOf(schedule: ScheduleInput): readonly RuleInput[] {
  return isList(schedule) ? schedule : [schedule]
}

function isList(schedule: ScheduleInput): schedule is readonly RuleInput[] {
  return Array.isArray(schedule)
}

/** The parts of a rule that parseSchedule takes. */
export function shapeOf(rule: RuleInput): RuleShape {
  if (typeof rule === 'string') return shapeOfText(rule)
  if ('cron' in rule) return cronShape(rule.cron, rule.day_match === 'and')
  if ('at' in rule) return onceShape(rule.at.trim())
  if ('rrule' in rule) {
    const text = rule.rrule.trim()
    return {
      kind: 'rrule',
      text,
      parts: readRecurrence(text, '/schedule'),
      dtstart: rule.dtstart?.trim() ?? null,
    }
  }
  const { every, anchor } = rule
  const period = typeof every === 'number' ? secondsPeriod(every, '/schedule') : parsePeriod(every.trim())
  return { kind: 'interval', period, anchor: anchor?.trim() ?? null }
}

function shapeOfText(source: string): RuleShape {
  const text = source.trim()
  if (looksLikeInstant(text)) return onceShape(text)
  if (!text.startsWith('@')) return cronShape(source, false)
  const name = text.toLowerCase()
  if (!name.startsWith('@every')) return { kind: 'nickname', name }
  return { kind: 'interval', period: parsePeriod(name.slice('@every'.length).trim()), anchor: null }
}

function cronShape(text: string, andDays: boolean): RuleShape {
  return { kind: 'cron', text: text.trim(), fields: readCronFields(text, '/schedule', andDays) }
}

function onceShape(text: string): RuleShape {
  return { kind: 'once', text, moment: readMoment(text, '/schedule') }
}
