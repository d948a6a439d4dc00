import fc from 'fast-check'
import { type WallParts, partsOf } from './cron-matcher.mjs'
import { HOUR, MINUTE, transitions } from './wall-clock.mjs'

// Random schedules aimed at the places where clocks change: half of the hours and minutes that are drawn lie close to
// what the wall shows just before or after a jump, and half of the dates are the date of the jump.

export interface Scene {
  zone: string
  /** The jump that the window lies around; the middle of the year in a year without one. */
  at: number
  from: number
  to: number
  near: WallParts
}

const everyZone = Intl.supportedValuesOf('timeZone')

export const scenes = (reach: number): fc.Arbitrary<Scene> =>
  fc
    .record({
      zone: fc.constantFrom(...everyZone),
      year: fc.integer({ min: 1970, max: 2037 }),
      which: fc.nat({ max: 5 }),
      back: fc.integer({ min: MINUTE, max: reach }),
      ahead: fc.integer({ min: MINUTE, max: reach }),
      whole: fc.boolean(),
      shift: fc.integer({ min: -90, max: 90 }),
    })
    .map(({ zone, year, which, back, ahead, whole, shift }) => {
      const jumps = jumpsOf(zone, year)
      const jump = jumps[which % Math.max(1, jumps.length)]
      const at = jump?.at ?? Date.UTC(year, 6, 1)
      const rounded = (instant: number) => (whole ? Math.floor(instant / MINUTE) * MINUTE : instant)
      const wall = (shift % 2 === 0 ? jump?.before : jump?.after) ?? at
      return {
        zone,
        at,
        from: rounded(at - back),
        to: rounded(at + ahead),
        near: partsOf(wall + shift * MINUTE),
      }
    })

const jumpsByYear = new Map<string, ReturnType<typeof transitions>>()

function jumpsOf(zone: string, year: number): ReturnType<typeof transitions> {
  const key = `${zone} ${year}`
  const known = jumpsByYear.get(key)
  if (known) return known
  // The first days of 1970 are left out: a window that began before 1970 would ask for ticks that do not exist.
  const jumps = transitions(zone, Date.UTC(year, 0, 5), Date.UTC(year + 1, 0, 1), 3 * HOUR)
  jumpsByYear.set(key, jumps)
  return jumps
}

const monthNames = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ')
const weekdayNames = 'SUN MON TUE WED THU FRI SAT'.split(' ')

/** One field: every, a step, single values, lists, ranges that may run over the end, ranges with a step. */
function field(min: number, max: number, near: number): fc.Arbitrary<string> {
  const value = fc.oneof(fc.constant(near), fc.integer({ min, max }))
  const step = fc.integer({ min: 2, max: Math.max(2, Math.floor((max - min + 1) / 2)) })
  const range = fc.tuple(value, value).filter(([low, high]) => low !== high)
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    { weight: 1, arbitrary: fc.constant('*/1') },
    { weight: 3, arbitrary: step.map((n) => `*/${n}`) },
    { weight: 6, arbitrary: value.map(String) },
    { weight: 3, arbitrary: fc.uniqueArray(value, { minLength: 2, maxLength: 4 }).map((all) => all.join()) },
    { weight: 3, arbitrary: range.map(([low, high]) => `${low}-${high}`) },
    { weight: 2, arbitrary: fc.tuple(range, step).map(([[low, high], n]) => `${low}-${high}/${n}`) },
    { weight: 1, arbitrary: fc.tuple(value, step).map(([low, n]) => `${low}/${n}`) },
    { weight: 1, arbitrary: fc.tuple(value, range).map(([one, [low, high]]) => `${one},${low}-${high}`) },
  )
}

function dayField(near: number): fc.Arbitrary<string> {
  const day = fc.integer({ min: 1, max: 31 })
  return fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom('*', '*', '?') },
    { weight: 6, arbitrary: field(1, 31, near).filter((text) => !text.startsWith('*')) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 15 }).map((n) => `*/${n}`) },
    { weight: 1, arbitrary: fc.constant('L') },
    { weight: 1, arbitrary: fc.constant('LW') },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 27 }).map((n) => `L-${n}`) },
    { weight: 2, arbitrary: fc.oneof(fc.constant(near), day).map((n) => `${n}W`) },
    { weight: 1, arbitrary: day.map((n) => `${n},L`) },
  )
}

function weekdayField(near: number): fc.Arbitrary<string> {
  const day = fc.oneof(fc.constant(near), fc.integer({ min: 0, max: 6 }))
  const named = fc.oneof(
    day.map((n) => weekdayNames[n] ?? ''),
    day.map(String),
    day.map((n) => (n === 0 ? '7' : String(n))),
  )
  const plain = fc.oneof(
    named,
    fc.uniqueArray(day, { minLength: 2, maxLength: 3 }).map((all) => all.join()),
    fc
      .tuple(day, day)
      .filter(([low, high]) => low !== high)
      .map(([low, high]) => `${weekdayNames[low]}-${weekdayNames[high]}`),
    fc.tuple(named, fc.integer({ min: 1, max: 5 })).map(([name, n]) => `${name}#${n}`),
    named.map((name) => `${name}L`),
    fc.tuple(named, named).map(([first, last]) => `${first}#1,${last}L`),
  )
  return fc.oneof(
    { weight: 7, arbitrary: fc.constantFrom('*', '*', '?', '*/1') },
    { weight: 3, arbitrary: plain },
    { weight: 1, arbitrary: plain.map((text) => `+${text}`) },
  )
}

function monthField(near: number): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 16, arbitrary: fc.constant('*') },
    { weight: 2, arbitrary: fc.constantFrom(String(near), monthNames[near - 1] ?? '') },
    { weight: 2, arbitrary: field(1, 12, near) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.nat({ max: 11 }), fc.nat({ max: 11 }))
        .filter(([low, high]) => low !== high)
        .map(([low, high]) => `${monthNames[low]}-${monthNames[high]}`),
    },
  )
}

/** A rule of five fields, aimed at a wall reading. */
export const cronRules = (near: WallParts): fc.Arbitrary<string> =>
  fc
    .tuple(
      field(0, 59, near.minute),
      field(0, 23, near.hour),
      dayField(near.day),
      monthField(near.month),
      weekdayField(near.weekday),
    )
    .map((fields) => fields.join(' '))

/** A rule of six fields: a handful of seconds around the minute. */
export const secondRules = (near: WallParts): fc.Arbitrary<string> =>
  fc.tuple(field(0, 59, 0), cronRules(near)).map((fields) => fields.join(' '))

export const policies = fc.record({
  dst_gap: fc.constantFrom('run_after' as const, 'skip' as const),
  dst_overlap: fc.constantFrom('first' as const, 'last' as const, 'both' as const),
})

/** Instants of a window, most of them close to its jump. */
export const probesOf = ({ at, from, to }: Scene): fc.Arbitrary<number[]> =>
  fc.array(
    fc.oneof(
      fc.integer({ min: from, max: to }),
      fc.integer({ min: -2 * HOUR, max: 2 * HOUR }).map((by) => Math.min(to, Math.max(from, at + by))),
      fc.constantFrom(-1, 0, 1).map((by) => Math.min(to, Math.max(from, at + by))),
    ),
    { maxLength: 4 },
  )

/** Reading the clock costs more than judging a rule: each window is asked about several cases. */
export const casesAround = <T>(
  around: fc.Arbitrary<Scene>,
  caseOf: (scene: Scene) => fc.Arbitrary<T>,
): fc.Arbitrary<{ scene: Scene; cases: T[] }> =>
  around.chain((scene) =>
    fc.record({ scene: fc.constant(scene), cases: fc.array(caseOf(scene), { minLength: 1, maxLength: 10 }) }),
  )
