import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import { StartLine } from './start-line.js'

interface Entry {
  name: string
  availableAt: number
}

const epoch = 1_000_000

/** A start line over a database clock that the test moves; what leaves is noted with the time at which it left. */
function lineOf() {
  const clock = new ManualClock(0)
  const left: { name: string; at: number }[] = []
  let behind = 0
  const databaseNow = () => Math.floor(epoch + clock.monotonic() - behind)
  const line = new StartLine<Entry>(clock, databaseNow, (entries) =>
    left.push(...entries.map(({ name }) => ({ name, at: databaseNow() }))),
  )
  return {
    clock,
    left,
    line,
    names: () => left.map(({ name }) => name),
    /** The database's clock steps, or a worse sample lowers the bound. */
    lower: (byMs: number) => {
      behind += byMs
    },
  }
}

function entry(name: string, inMs: number): Entry {
  return { name, availableAt: epoch + inMs }
}

describe('a run at the start line', () => {
  it('waits for its instant and leaves at it', async () => {
    const { clock, line, left } = lineOf()
    line.add([entry('a', 100)])
    await clock.advance(99)
    expect(left).toEqual([])
    expect(line.size).toBe(1)
    await clock.advance(1)
    expect(left).toEqual([{ name: 'a', at: epoch + 100 }])
    expect(line.size).toBe(0)
  })

  it('leaves at once when its instant has come', () => {
    const { line, names } = lineOf()
    line.add([entry('past', -5_000), entry('now', 0)])
    expect(names()).toEqual(['past', 'now'])
  })

  it('never leaves early: whatever is added, removed or moved, its time has come when it leaves', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), inMs: fc.integer({ min: -500, max: 3_000 }) }),
      fc.record({
        kind: fc.constant('advance' as const),
        inMs: fc.double({ min: 0, max: 900, noNaN: true }),
      }),
      fc.record({ kind: fc.constant('lower' as const), inMs: fc.integer({ min: 0, max: 700 }) }),
      fc.record({ kind: fc.constant('remove' as const), inMs: fc.integer({ min: 0, max: 20 }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, line, left, lower } = lineOf()
        const due = new Map<string, number>()
        const removed = new Set<string>()
        for (const [at, { kind, inMs }] of steps.entries()) {
          if (kind === 'add') {
            const availableAt = Math.floor(epoch + clock.monotonic()) + inMs
            due.set(`run ${at}`, availableAt)
            line.add([{ name: `run ${at}`, availableAt }])
          } else if (kind === 'advance') await clock.advance(inMs)
          else if (kind === 'lower') lower(inMs)
          else for (const { name } of line.remove(({ name }) => name === `run ${inMs}`)) removed.add(name)
        }
        await clock.advance(60_000)
        for (const { name, at } of left) expect(at).toBeGreaterThanOrEqual(due.get(name) ?? Infinity)
        const names = left.map(({ name }) => name)
        expect([...names, ...removed].sort()).toEqual([...due.keys()].sort())
        expect(line.size).toBe(0)
      }),
      { numRuns: 60 },
    )
  })

  it('waits longer when the database clock turns out to be behind', async () => {
    const { clock, line, left, lower } = lineOf()
    line.add([entry('a', 100)])
    lower(50)
    await clock.advance(149)
    expect(left).toEqual([])
    await clock.advance(1)
    expect(left).toEqual([{ name: 'a', at: epoch + 100 }])
  })

  it('is tried again, and not started, when a timer comes a little early', async () => {
    const { clock, line, left, lower } = lineOf()
    line.add([entry('a', 100)])
    lower(0.4)
    await clock.advance(100)
    expect(left).toEqual([])
    await clock.advance(2)
    expect(left).toHaveLength(1)
  })
})

describe('many runs at the start line', () => {
  it('leave in the order of their instants, whenever they were added', async () => {
    const { clock, line, names } = lineOf()
    line.add([entry('c', 300), entry('a', 100)])
    line.add([entry('b', 200)])
    await clock.advance(300)
    expect(names()).toEqual(['a', 'b', 'c'])
  })

  it('share one timer, set for the earliest', async () => {
    const { clock, line, names } = lineOf()
    line.add(Array.from({ length: 500 }, (_, at) => entry(`run ${at}`, 1_000 + at)))
    expect(clock.armed).toBe(1)
    line.add([entry('sooner', 10)])
    expect(clock.armed).toBe(1)
    await clock.advance(10)
    expect(names()).toEqual(['sooner'])
  })

  it('leave together when they are due together', async () => {
    const clock = new ManualClock(0)
    const batches: number[] = []
    const line = new StartLine<Entry>(
      clock,
      () => Math.floor(epoch + clock.monotonic()),
      (entries) => batches.push(entries.length),
    )
    line.add([entry('a', 100), entry('b', 100), entry('c', 101)])
    await clock.advance(101)
    expect(batches).toEqual([2, 1])
  })

  it('may be joined by others while some are leaving', async () => {
    const clock = new ManualClock(0)
    const left: string[] = []
    const line: StartLine<Entry> = new StartLine<Entry>(
      clock,
      () => Math.floor(epoch + clock.monotonic()),
      (entries) => {
        left.push(...entries.map(({ name }) => name))
        if (left.length === 1) line.add([entry('child', 100), entry('later', 200)])
      },
    )
    line.add([entry('parent', 100)])
    await clock.advance(100)
    expect(left).toEqual(['parent', 'child'])
    await clock.advance(100)
    expect(left).toEqual(['parent', 'child', 'later'])
  })
})

describe('taking runs out of the start line', () => {
  it('answers those that had not left, and they never leave', async () => {
    const { clock, line, names } = lineOf()
    line.add([entry('a', 100), entry('b', 200)])
    expect(line.remove(({ name }) => name === 'a').map(({ name }) => name)).toEqual(['a'])
    expect(line.remove(({ name }) => name === 'a')).toEqual([])
    await clock.advance(200)
    expect(names()).toEqual(['b'])
  })

  it('takes all of them', async () => {
    const { clock, line, names } = lineOf()
    line.add([entry('a', 100), entry('b', 200)])
    expect(line.removeAll()).toHaveLength(2)
    expect(line.size).toBe(0)
    await clock.advance(1_000)
    expect(names()).toEqual([])
    expect(clock.armed).toBe(0)
  })
})
