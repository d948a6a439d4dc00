import { CarillonError } from '@carillon/contract'
import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSchedule, type Schedule } from './schedule.js'
import { timelineOf } from './timeline.js'

const day = 86_400_000
const zones = [
  'UTC',
  'America/New_York',
  'Europe/Madrid',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'America/St_Johns',
  'Pacific/Apia',
]
const list = (min: number, max: number) =>
  fc
    .uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 })
    .map((values) => values.sort((left, right) => left - right).join())
const field = (min: number, max: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: 2, max: Math.min(30, max) }).map((step) => `*/${step}`),
    list(min, max),
    fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map((ends) => {
      const [low = min, high = max] = ends.sort((left, right) => left - right)
      return `${low}-${high}`
    }),
  )
const monthDays = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  { weight: 2, arbitrary: list(1, 28) },
  { weight: 1, arbitrary: fc.constantFrom('L', 'LW', '15W', '1W', '28W', '28') },
)
const weekdays = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  { weight: 2, arbitrary: fc.constantFrom('1-5', '0', 'MON,WED', '6-7', 'FRI', '*/2') },
  { weight: 1, arbitrary: fc.constantFrom('MON#1', '5#3', '0#5', 'FRIL', '2L') },
)
const months = fc.oneof({ weight: 3, arbitrary: fc.constant('*') }, { weight: 1, arbitrary: field(1, 12) })
const rules = fc
  .tuple(field(0, 59), field(0, 59), field(0, 23), monthDays, months, weekdays)
  .map((fields) => fields.join(' '))

/** The schedule, or null for the few drawn rules that never fire. */
function scheduleOf(rule: string, timezone: string): Schedule | null {
  try {
    return parseSchedule({ schedule: rule, timezone, anchor: 0 })
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'schedule_never_fires') return null
    throw error
  }
}

describe('croner, a second oracle', () => {
  it('names the same ticks wherever the clocks run steadily', () => {
    let compared = 0
    const instants = fc.integer({ min: Date.UTC(1971, 0, 1), max: Date.UTC(2090, 0, 1) })
    fc.assert(
      fc.property(rules, fc.constantFrom(...zones), instants, (rule, timezone, after) => {
        const schedule = scheduleOf(rule, timezone)
        if (schedule === null) return
        const croner = new Cron(rule, { timezone, mode: '5-or-6-parts', paused: true })
        const timeline = timelineOf(timezone)
        let at = after
        for (let step = 0; step < 12; step++) {
          const tick = schedule.next(at)
          const theirs = croner.nextRun(new Date(at))?.getTime() ?? null
          const end = Math.max(tick ?? at, theirs ?? at) + day
          // At a change of the clocks croner makes other choices than ours.
          if (timeline.segmentAt(at - day).end > end) {
            expect(tick).toBe(theirs)
            compared++
          }
          if (tick === null) return
          at = tick
        }
      }),
      { numRuns: 400 },
    )
    expect(compared).toBeGreaterThan(1000)
  })
})
