import { describe, expect, it } from 'vitest'
import { Lanes } from './lanes.js'
import type { DueTimer } from './plan.js'
import type { PassPlan } from './planning.js'

const plan = {} as PassPlan

function timers(count: number, partitionOf: (at: number) => number, firstJob = 1): DueTimer[] {
  return Array.from(
    { length: count },
    (_, at) => ({ job: firstJob + at, partition: partitionOf(at) }) as Partial<DueTimer> as DueTimer,
  )
}

/** Statements, of so many ticks at most, that end when the test says so. */
function gated(most = 10_000) {
  const underWay: { jobs: number[]; partitions: Set<number>; end: (lagMs: number | Error) => void }[] = []
  const lanes = new Lanes(
    (ready, from, _plan, decided) =>
      new Promise((resolve, reject) => {
        const end = Math.min(ready.length, from + most)
        const some = ready.slice(from, end)
        const jobs = some.map(({ job }) => job)
        const statement = {
          jobs,
          partitions: new Set(some.map(({ partition }) => partition)),
          end: (lagMs: number | Error) => {
            underWay.splice(underWay.indexOf(statement), 1)
            if (lagMs instanceof Error) {
              reject(lagMs)
              return
            }
            decided(jobs)
            resolve({ end, lagMs })
          },
        }
        underWay.push(statement)
      }),
  )
  return { lanes, underWay }
}

const breathe = () => new Promise((resolve) => setImmediate(resolve))

async function isOver(promise: Promise<void>): Promise<boolean> {
  const state = { over: false }
  void promise.then(
    () => (state.over = true),
    () => (state.over = true),
  )
  await breathe()
  return state.over
}

describe('lanes', () => {
  it('have a crowd in several statements at once, and of each partition only one', async () => {
    const { lanes, underWay } = gated()
    lanes.add(
      timers(1_000, (at) => at % 8),
      plan,
    )
    lanes.add(
      timers(1_000, (at) => at % 8, 5_000),
      plan,
    )
    await breathe()
    expect(underWay.length).toBeGreaterThan(1)
    const partitions = underWay.flatMap((statement) => [...statement.partitions])
    expect(new Set(partitions).size).toBe(partitions.length)
    expect(underWay.every(({ jobs }) => Math.max(...jobs) < 5_000)).toBe(true)
  })

  it('keep a few in one statement, which waits for all before it and is waited for', async () => {
    const { lanes, underWay } = gated()
    lanes.add(
      timers(1_000, (at) => at % 8),
      plan,
    )
    lanes.add(
      timers(10, (at) => at % 8, 5_000),
      plan,
    )
    lanes.add(
      timers(1_000, (at) => at % 8, 9_000),
      plan,
    )
    await breathe()
    underWay[0]?.end(0)
    await breathe()
    expect(underWay.flatMap(({ jobs }) => jobs).some((job) => job >= 5_000)).toBe(false)
    underWay[0]?.end(0)
    await breathe()
    expect(underWay.map(({ jobs }) => jobs.length)).toEqual([10])
    underWay[0]?.end(0)
    await breathe()
    expect(underWay.length).toBeGreaterThan(1)
  })

  it('name the jobs whose ticks are not decided yet, by the statement that they were given to last', async () => {
    const { lanes, underWay } = gated()
    lanes.add(
      timers(2, () => 1),
      plan,
    )
    lanes.add(
      timers(1, () => 1),
      plan,
    )
    await breathe()
    underWay[0]?.end(0)
    await breathe()
    expect([...lanes.jobs()]).toEqual([1])
    underWay[0]?.end(0)
    await lanes.settled()
    expect([...lanes.jobs()]).toEqual([])
  })

  it('no longer name those of a statement that is decided, whatever comes behind it in the same part', async () => {
    const { lanes, underWay } = gated(2)
    lanes.add(
      timers(3, () => 1),
      plan,
    )
    await breathe()
    underWay[0]?.end(20)
    expect([...lanes.jobs()]).toEqual([3])
    expect(lanes.has(1)).toBe(false)
    // Given again meanwhile: it is under way again, also when the part ends in which it was before.
    lanes.add(
      timers(1, () => 1),
      plan,
    )
    await breathe()
    expect(lanes.takeLatestMs()).toBe(20)
    underWay[0]?.end(0)
    await breathe()
    expect([...lanes.jobs()]).toEqual([1])
    expect(lanes.areIdle).toBe(false)
    underWay[0]?.end(0)
    await lanes.settled()
    expect(lanes.areIdle).toBe(true)
  })

  it('want more when one has nothing left to go on with, and never while one is far behind', async () => {
    const { lanes, underWay } = gated()
    const crowd = () =>
      lanes.add(
        timers(1_000, (at) => at % 2),
        plan,
      )
    crowd()
    await breathe()
    expect(await isOver(lanes.wantMore())).toBe(true)
    crowd()
    const wanting = lanes.wantMore()
    expect(await isOver(wanting)).toBe(false)
    underWay[0]?.end(0)
    expect(await isOver(wanting)).toBe(true)
    // The other lane stands still: this one must not run away from it.
    crowd()
    const behind = lanes.wantMore()
    underWay.find(({ partitions }) => partitions.has(0))?.end(0)
    expect(await isOver(behind)).toBe(false)
    underWay.find(({ partitions }) => partitions.has(1))?.end(0)
    expect(await isOver(behind)).toBe(true)
  })

  it('try nothing behind a statement that failed, and tell of it once', async () => {
    const { lanes, underWay } = gated()
    lanes.add(
      timers(2, () => 1),
      plan,
    )
    lanes.add(
      timers(2, () => 1, 10),
      plan,
    )
    await breathe()
    const wanting = lanes.wantMore()
    underWay[0]?.end(new Error('the database is away'))
    await expect(wanting).rejects.toThrow('away')
    expect(underWay).toEqual([])
    expect([...lanes.jobs()]).toEqual([])
    await lanes.settled()
    lanes.add(
      timers(1, () => 1),
      plan,
    )
    await breathe()
    expect(underWay).toHaveLength(1)
  })

  it('say how late the latest was, and nothing when none has ended', async () => {
    const { lanes, underWay } = gated()
    lanes.add(
      timers(1_000, (at) => at % 2),
      plan,
    )
    await breathe()
    expect(lanes.takeLatestMs()).toBeNull()
    underWay[0]?.end(70)
    underWay[0]?.end(30)
    await lanes.settled()
    expect(lanes.takeLatestMs()).toBe(70)
    expect(lanes.takeLatestMs()).toBeNull()
  })

  it('begin nothing any more when they are stopped', async () => {
    const { lanes, underWay } = gated()
    lanes.stop()
    lanes.add(
      timers(1, () => 1),
      plan,
    )
    await lanes.settled()
    expect(underWay).toEqual([])
  })

  it('end with the statement under way when they are stopped', async () => {
    const { lanes, underWay } = gated(2)
    lanes.add(
      timers(3, () => 1),
      plan,
    )
    await breathe()
    lanes.stop()
    underWay[0]?.end(0)
    await lanes.settled()
    expect(underWay).toEqual([])
    expect(lanes.areIdle).toBe(true)
  })

  it('end with the statement under way when one beside it has failed', async () => {
    const { lanes, underWay } = gated(400)
    lanes.add(
      timers(1_000, (at) => at % 2),
      plan,
    )
    await breathe()
    underWay[0]?.end(new Error('the database is away'))
    await breathe()
    underWay[0]?.end(0)
    await expect(lanes.settled()).rejects.toThrow('away')
    expect(underWay).toEqual([])
    expect(lanes.areIdle).toBe(true)
  })
})
