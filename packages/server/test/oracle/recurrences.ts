import fc from 'fast-check'
import type { Scene } from './arbitraries.js'
import { DAY, MINUTE, readWall } from './wall-clock.mjs'

export interface Recurrence {
  rrule: string
  /** A local time. */
  dtstart: string
}

const local = (wall: number) => new Date(wall).toISOString().slice(0, 19)
const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
const some = <T>(values: T[]): fc.Arbitrary<string> =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }).map((list) => list.join())

/** A recurrence rule that began some days before the jump, most of them at an hour close to it. */
export const recurrences = ({ zone, at, near }: Scene): fc.Arbitrary<Recurrence> => {
  const hours = fc.oneof(fc.constant(near.hour), fc.integer({ min: 0, max: 23 }))
  const times = fc.oneof(
    fc.constant(''),
    hours.map((hour) => `;BYHOUR=${hour}`),
    fc
      .tuple(hours, some([0, 15, 30, 45, near.minute]))
      .map(([hour, list]) => `;BYHOUR=${hour};BYMINUTE=${list}`),
  )
  const ordinals = weekdays.flatMap((day) => [`1${day}`, `2${day}`, `-1${day}`, `-2${day}`])
  const days = fc.oneof(
    fc.constantFrom('FREQ=DAILY', `FREQ=DAILY;BYMONTH=${near.month}`, 'FREQ=WEEKLY', 'FREQ=MONTHLY'),
    some(weekdays).map((list) => `FREQ=WEEKLY;BYDAY=${list}`),
    some(ordinals).map((list) => `FREQ=MONTHLY;BYDAY=${list}`),
    some([near.day, 1, 15, -1, -2]).map((list) => `FREQ=MONTHLY;BYMONTHDAY=${list}`),
    some(ordinals).map((list) => `FREQ=YEARLY;BYMONTH=${near.month};BYDAY=${list}`),
    fc.constant(`FREQ=YEARLY;BYMONTH=${near.month};BYMONTHDAY=${near.day}`),
  )
  const rule = fc.oneof(
    fc.tuple(days, times).map((parts) => parts.join('')),
    fc.constantFrom('FREQ=HOURLY', 'FREQ=HOURLY;BYMINUTE=0,20,40', 'FREQ=MINUTELY'),
    hours.map((hour) => `FREQ=MINUTELY;BYHOUR=${hour}`),
  )
  return fc
    .tuple(rule, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 5, max: 60 }))
    .map(([parts, every, back]) => ({
      rrule: every === 1 ? parts : `${parts};INTERVAL=${every}`,
      dtstart: local(Math.floor((readWall(zone, at) - back * DAY) / MINUTE) * MINUTE),
    }))
}

/** The rarer parts of RFC 5545 too, for an oracle that reads all of it. */
export const anyRecurrence = (scene: Scene): fc.Arbitrary<Recurrence> => {
  const began = fc
    .integer({ min: 30, max: 400 })
    .map((back) => Math.floor((readWall(scene.zone, scene.at) - back * DAY) / MINUTE) * MINUTE)
  const position = fc.constantFrom('1', '2', '-1', '-2', '1,-1')
  const rare = fc.oneof(
    fc.tuple(some(weekdays), position).map(([days, n]) => `FREQ=MONTHLY;BYDAY=${days};BYSETPOS=${n}`),
    position.map((n) => `FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=${n}`),
    fc
      .tuple(some([60, 90, 120, 300, 310]), some([-1, -60]))
      .map((days) => `FREQ=YEARLY;BYYEARDAY=${days.join()}`),
    fc
      .tuple(some([1, 13, 14, 40, 44, 53]), some(weekdays))
      .map(([weeks, days]) => `FREQ=YEARLY;BYWEEKNO=${weeks};BYDAY=${days}`),
    some(['20MO', '-1SU', '13FR', '44SU', '10SA']).map((days) => `FREQ=YEARLY;BYDAY=${days}`),
    some([13, 14, 15]).map((days) => `FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=${days}`),
    fc.constantFrom('SU', 'MO', 'WE').map((start) => `FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO,TH;WKST=${start}`),
    fc
      .constantFrom('FREQ=DAILY', 'FREQ=WEEKLY')
      .chain((rule) => fc.integer({ min: 1, max: 400 }).map((n) => `${rule};COUNT=${n}`)),
    fc.constantFrom('FREQ=DAILY', 'FREQ=WEEKLY', 'FREQ=HOURLY;INTERVAL=5').map((rule) => {
      return `${rule};UNTIL=${local(readWall(scene.zone, scene.at)).replace(/[-:]/g, '')}`
    }),
    fc.tuple(some([0, 2, 23, scene.near.hour]), some([0, 30, 59])).map(([hours, minutes]) => {
      return `FREQ=DAILY;BYHOUR=${hours};BYMINUTE=${minutes};BYSETPOS=1,-1`
    }),
    fc.integer({ min: 2, max: 50 }).map((n) => `FREQ=HOURLY;INTERVAL=${n}`),
    fc.integer({ min: 7, max: 2000 }).map((n) => `FREQ=MINUTELY;INTERVAL=${n}`),
  )
  return fc.oneof(
    recurrences(scene),
    fc.tuple(rare, began).map(([rrule, start]) => ({ rrule, dtstart: local(start) })),
  )
}
