import { BoundedCache } from './bounded-cache.js'
import { cronDays } from './cron-days.js'
import { type CronField, type CronFields, readCronFields } from './cron-syntax.js'
import { DayTimes } from './day-times.js'
import type { MonthDays } from './month-days.js'
import type { WallRule } from './ticks.js'
import { TimeTable } from './time-table.js'

/** The readings on the wall that one cron expression names. */
export class CronRule extends DayTimes implements WallRule {
  readonly followsWall: boolean
  /** One spelling for equal rules. */
  readonly key: string

  constructor(key: string, days: MonthDays, times: TimeTable, followsWall: boolean) {
    super(days, times)
    this.key = key
    this.followsWall = followsWall
  }
}

function keyOf(fields: CronFields): string {
  const { seconds, minutes, hours, days, months, weekdays, bothDays } = fields
  const texts = [seconds, minutes, hours, days, months, weekdays].map(fieldKey)
  return `${texts.join(' ')}${bothDays ? ' +' : ''}`
}

function fieldKey({ values, special, any }: CronField): string {
  const texts = special.map((day) => Object.values(day).join('.')).sort()
  return [any ? '*' : values.join(), ...texts].join(';')
}

// A rule holds about two kilobytes.
const rules = new BoundedCache<CronRule>(4096)

/** Reads a cron expression; equal ones share one rule. Throws invalid_schedule or schedule_never_fires. */
export function readCron(source: string, pointer: string, andDays = false): CronRule {
  const fields = readCronFields(source, pointer, andDays)
  const key = keyOf(fields)
  return rules.getOrMake(key, () => {
    const times = new TimeTable(fields.hours.values, fields.minutes.values, fields.seconds.values)
    return new CronRule(key, cronDays(fields, source, pointer), times, fields.hours.any)
  })
}
