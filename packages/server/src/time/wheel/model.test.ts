import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TimingWheel } from '../wheel.js'

/** What a wheel must be equal to: a list of timers, sorted when somebody asks. */
class Model {
  readonly timers = new Map<number, { at: number; tag: number }>()

  dueThrough(at: number): number[] {
    return [...this.timers.values()]
      .flatMap((timer) => (timer.at <= at ? [timer.at] : []))
      .sort((a, b) => a - b)
  }
}

type Step =
  | { does: 'insert'; key: number; delay: number; tag: number }
  | { does: 'cancel'; key: number }
  | { does: 'advance'; by: number; most: number }

const latest = 2 ** 48
/** Few keys, so that replacing and cancelling meet something; among them some that differ in the high bits only. */
const keys = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 30 }) },
  fc.integer({ min: 0, max: 30 }).map((key) => key * 2 ** 48 + 5),
  fc.maxSafeInteger(),
)
/** Where the levels of the wheel end, and beside it. */
const edges = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 3 }), fc.integer({ min: -2, max: 2 }))
  .map(([level, units, beside]) => Math.max(0, units * 1024 ** level + beside))
const spans = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: 0, max: 3_000 }),
  fc.integer({ min: 0, max: 700_000 }),
  edges,
  fc.integer({ min: 0, max: latest }),
)
const inserting = fc.record({
  does: fc.constant('insert' as const),
  key: keys,
  delay: fc.oneof({ weight: 5, arbitrary: spans }, fc.integer({ min: -5_000, max: 0 })),
  tag: fc.integer({ min: 0, max: 255 }),
})
const cancelling = fc.record({ does: fc.constant('cancel' as const), key: keys })
const advancing = fc.record({
  does: fc.constant('advance' as const),
  by: fc.oneof({ weight: 4, arbitrary: spans.filter((span) => span < 2 ** 31) }, spans),
  most: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(Number.POSITIVE_INFINITY)),
})
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof({ weight: 5, arbitrary: inserting }, cancelling, { weight: 2, arbitrary: advancing }),
  { maxLength: 120, size: 'max' },
)
const starts = fc.oneof(
  fc.constantFrom(0, 1_767_225_600_000, 1024 ** 4 - 3, 1024 ** 3 * 1_500 - 1),
  fc.integer({ min: 0, max: 2 ** 42 }),
)

function run(startsAt: number, tickMs: number, capacity: number, script: readonly Step[]): void {
  const wheel = new TimingWheel({ startsAt, capacity, tickMs })
  const model = new Model()
  let now = startsAt
  for (const step of script) {
    if (step.does === 'insert') {
      const at = Math.min(latest, Math.max(0, now + step.delay))
      const fits = model.timers.has(step.key) || model.timers.size < capacity
      expect(wheel.insert(step.key, at, step.tag)).toBe(fits)
      if (fits) model.timers.set(step.key, { at, tag: step.tag })
    } else if (step.does === 'cancel') {
      expect(wheel.cancel(step.key)).toBe(model.timers.delete(step.key))
    } else {
      now = Math.min(latest, now + step.by)
      const due = model.dueThrough(now)
      const taken = takenBy(wheel, model, now, step.most)
      expect(taken).toEqual(due.slice(0, step.most))
      if (taken.length === due.length && step.most > due.length && wheel.size > 0) {
        // A caller that sleeps until then gets on.
        expect(wheel.nextAt()).toBeGreaterThan(now)
      }
    }
    agree(wheel, model, now)
  }
  // Nothing is forgotten, whatever came before.
  const rest = model.dueThrough(latest)
  expect(takenBy(wheel, model, latest, Number.POSITIVE_INFINITY)).toEqual(rest)
  expect(wheel.size).toBe(0)
}

/** The instants in the order in which they came. Each must be one that the model has, and only once. */
function takenBy(wheel: TimingWheel, model: Model, to: number, most: number): number[] {
  const taken: number[] = []
  wheel.advance(to, most, (key, at, tag) => {
    expect({ at, tag }).toEqual(model.timers.get(key))
    model.timers.delete(key)
    taken.push(at)
  })
  return taken
}

function agree(wheel: TimingWheel, model: Model, now: number): void {
  expect(wheel.size).toBe(model.timers.size)
  for (const key of [0, 1, 2, 3, 5]) expect(wheel.has(key)).toBe(model.timers.has(key))
  const all = model.dueThrough(latest)
  const next = wheel.nextAt()
  if (all.length === 0) expect(next).toBe(null)
  else expect(next).toBeLessThanOrEqual(all[0] as number)
  for (const ahead of [0, 700, 5_000, 2 ** 21]) {
    const through = Math.min(latest, now + ahead)
    const [count, after] = [wheel.countThrough(through), wheel.countAfter(through)]
    expect(count).toBeLessThanOrEqual(all.length)
    expect(count - after).toBeGreaterThanOrEqual(model.dueThrough(through).length)
    expect(after).toBeGreaterThanOrEqual(0)
    expect(after).toBeLessThanOrEqual(wheel.countBeside(through))
    expect(wheel.countBeside(through)).toBeLessThanOrEqual(count)
  }
  expect(wheel.countThrough(latest)).toBe(all.length)
}

it('equals a sorted list, whatever is inserted, replaced, cancelled and handed out', () => {
  const tickWidths = fc.constantFrom(1, 1, 1, 10, 1_000)
  const capacities = fc.constantFrom(3, 1_000_000)
  fc.assert(fc.property(starts, tickWidths, capacities, steps, run), { numRuns: 500 })
})

it('counts through an instant to the slot: at most the timers of the next 1,024 ticks too many within the horizon, and how many these are', () => {
  const delays = fc.array(fc.integer({ min: 0, max: 600_000 }), { minLength: 1, maxLength: 60, size: 'max' })
  const moves = fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 6 })
  fc.assert(
    fc.property(starts, delays, moves, spans, (startsAt, waits, advances, ahead) => {
      const wheel = new TimingWheel({ startsAt, capacity: 100 })
      const model = new Model()
      waits.forEach((delay, key) => {
        wheel.insert(key, startsAt + delay, 0)
        model.timers.set(key, { at: startsAt + delay, tag: 0 })
      })
      let now = startsAt
      for (const by of [0, ...advances]) {
        now += by
        takenBy(wheel, model, now, Number.POSITIVE_INFINITY)
        const through = Math.min(latest, now + ahead)
        const wholeSlot = Math.floor(through / 1024) * 1024 + 1023
        const count = wheel.countThrough(through)
        expect(count).toBeGreaterThanOrEqual(model.dueThrough(through).length)
        expect(count).toBeLessThanOrEqual(model.dueThrough(wholeSlot).length)
        expect(count - wheel.countAfter(through)).toBe(model.dueThrough(through).length)
      }
    }),
    { numRuns: 500 },
  )
})

it('equals a sorted list with tens of thousands of timers, while all its arrays grow', () => {
  const sizes = fc.integer({ min: 20_000, max: 40_000 })
  fc.assert(
    fc.property(starts, sizes, fc.integer({ min: 1, max: 2 ** 31 - 1 }), (startsAt, size, seed) => {
      const wheel = new TimingWheel({ startsAt, capacity: size })
      const model = new Model()
      const wrong: number[] = []
      for (let n = 0; n < size; n++) {
        const key = Math.imul(n, 0x9e37_79b1) + seed
        const at = startsAt + ((Math.imul(n, seed) >>> 8) % 900_000)
        wheel.insert(key, at, n & 255)
        model.timers.set(key, { at, tag: n & 255 })
        // Every third of the earlier ones goes again, from anywhere in the order.
        if (n % 3 === 0) {
          const other = Math.imul(n >> 1, 0x9e37_79b1) + seed
          if (wheel.cancel(other) !== model.timers.delete(other)) wrong.push(other)
        }
      }
      const expected = model.dueThrough(latest)
      const taken: number[] = []
      for (let to = startsAt; taken.length < expected.length && to < startsAt + 2_000_000; to += 777) {
        wheel.advance(to, 500, (key, at, tag) => {
          const timer = model.timers.get(key)
          if (timer?.at !== at || timer.tag !== tag) wrong.push(key)
          taken.push(at)
        })
      }
      expect(wrong).toEqual([])
      expect(taken).toEqual(expected)
      expect(wheel.size).toBe(0)
    }),
    { numRuns: 8 },
  )
})
