import { expect, test, vi } from 'vitest'
import type { Database } from '../../src/db/pool.js'
import { crowd } from '../kit/crowd.js'
import type { TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const perPass = 5_000
const perStatement = 2_500

type Params = Record<string, unknown>
/** Stands in the way of a statement: what it answers is what the node sees. */
type Hook = (params: Params, send: () => Promise<object[]>) => Promise<object[]>

const firing = /^fire(-plain)?_/
const scanning = /^scan-due_/
const reading = /^read-timers_/

function between(node: TestNode) {
  const hooks = new Map<RegExp, Hook>()
  const run = node.database.run.bind(node.database) as (...call: unknown[]) => Promise<object[]>
  const hooked = (statement: { name: string }, params: Params) => {
    const send = () => run(statement, params)
    const hook = [...hooks].find(([name]) => name.test(statement.name))?.[1]
    return hook === undefined ? send() : hook(params, send)
  }
  vi.spyOn(node.database, 'run').mockImplementation(hooked as unknown as Database['run'])
  return hooks
}

const away: Hook = () => Promise.reject(new Error('the database is away'))
const seesNothing: Hook = () => Promise.resolve([])

function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

async function fireAllDue(node: TestNode): Promise<void> {
  for (let pass = 0; await node.firing.runOnce(); pass++) expect(pass).toBeLessThan(20)
}

async function nextStart(jobs: number[]): Promise<number> {
  const [row] = await house().query<{ first: number; last: number }>(
    'SELECT min(start_at) AS first, max(start_at) AS last FROM carillon.timers WHERE job = ANY ($1)',
    [jobs],
  )
  expect(row?.first).toBe(row?.last)
  return row?.last as number
}

async function timeGoesTo(node: TestNode, instant: number): Promise<void> {
  await house().clock.advance(instant - (await house().now()))
  await node.beat()
}

/** Jobs that this node has fired once, so that it knows their timers. Their next ticks start in a second. */
async function knownCrowd(node: TestNode, count: number, partition?: number) {
  const job = await node.register({ schedule: '@every 10s', overlap_policy: 'ALLOW' })
  const startAt = (await house().now()) + 500
  const jobs = await crowd(house(), job, { count, startAt, ...(partition !== undefined && { partition }) })
  // The one that they are made like would have to be read.
  await house().query('DELETE FROM carillon.timers WHERE job = $1', [job.key])
  while (await node.tier.horizon.refresh());
  await fireAllDue(node)
  const start = await nextStart(jobs)
  await timeGoesTo(node, start - 1_000)
  return { jobs, start }
}

async function firedOnceAt(jobs: number[], due: number): Promise<number> {
  const [row] = await house().query<{ runs: number; jobs: number }>(
    'SELECT count(*)::int AS runs, count(DISTINCT job)::int AS jobs FROM carillon.queue WHERE job = ANY ($1) AND due = $2',
    [jobs, due],
  )
  expect(row?.runs).toBe(row?.jobs)
  return row?.runs ?? 0
}

test('in a crowd a pass that has only begun its statements is no progress, and every pass fails while they do', async () => {
  const node = await house().node()
  const hooks = between(node)
  const { jobs, start } = await knownCrowd(node, 2 * perPass)
  const failing = gate()
  hooks.set(firing, () => failing.opened.then(() => Promise.reject(new Error('the database is away'))))
  const before = node.firing.sinceProgressMs()
  await house().clock.advance(500)
  expect(await node.firing.runOnce()).toBe(true)
  expect(node.firing.sinceProgressMs()).toBe(before + 500)
  failing.open()
  for (let pass = 0; pass < 4; pass++) {
    await expect(node.firing.runOnce()).rejects.toThrow('away')
    await house().clock.advance(100)
  }
  expect(node.firing.sinceProgressMs()).toBe(before + 900)
  hooks.clear()
  await fireAllDue(node)
  expect(node.firing.sinceProgressMs()).toBe(0)
  // Those of the statements that failed are found when the interval is over.
  await fireAllDue(node)
  expect(await firedOnceAt(jobs, start)).toBe(jobs.length)
})

test('a statement that ended well is progress, whatever else is under way', async () => {
  const node = await house().node()
  const hooks = between(node)
  await knownCrowd(node, perPass, 2)
  const second = gate()
  let begun = 0
  hooks.set(firing, async (_params, send) => {
    begun += 1
    if (begun > 1) await second.opened
    return send()
  })
  expect(await node.firing.runOnce()).toBe(true)
  await house().clock.advance(100)
  await until('the second statement has begun', () => Promise.resolve(begun === 2))
  expect(node.firing.sinceProgressMs()).toBeLessThanOrEqual(100)
  second.open()
  await node.firing.stop()
})

test('a tick that follows one of a statement before is fired by the wheel, while the part of both is under way', async () => {
  const node = await house().node()
  const hooks = between(node)
  const { jobs, start } = await knownCrowd(node, perPass, 2)
  // No scan brings back what a pass has dropped.
  hooks.set(scanning, seesNothing)
  const second = gate()
  let begun = 0
  hooks.set(firing, async (_params, send) => {
    begun += 1
    if (begun === 2) await second.opened
    return send()
  })
  expect(await node.firing.runOnce()).toBe(true)
  await until('the second statement has begun', () => Promise.resolve(begun === 2))
  expect(await firedOnceAt(jobs, start)).toBe(perStatement)
  const next = start + 10_000
  await timeGoesTo(node, start + 4_000)
  await timeGoesTo(node, next)
  const pass = node.firing.runOnce()
  second.open()
  await pass
  await fireAllDue(node)
  expect(await firedOnceAt(jobs, start)).toBe(perPass)
  expect(await firedOnceAt(jobs, next)).toBe(perPass)
})

test.each([
  ['the look into the table', scanning],
  ['the reading of timers', reading],
])('a pass that fails by %s puts back what it took from the wheel', async (_what, statement) => {
  const node = await house().node()
  const hooks = between(node)
  const job = await node.register({ schedule: '@every 1h' })
  const startAt = (await house().now()) + 500
  const jobs = await crowd(house(), job, { count: 3, startAt })
  while (await node.tier.horizon.refresh());
  const known = node.tier.horizon.size
  hooks.set(statement, away)
  await expect(node.firing.runOnce()).rejects.toThrow('away')
  expect(node.tier.horizon.size).toBe(known)
  hooks.clear()
  hooks.set(scanning, seesNothing)
  await fireAllDue(node)
  expect(await firedOnceAt(jobs, startAt)).toBe(3)
})

test('what a look beside a crowd has met fails the next pass before that takes anything', async () => {
  const node = await house().node()
  const hooks = between(node)
  const { jobs, start } = await knownCrowd(node, 2 * perPass)
  hooks.set(scanning, away)
  expect(await node.firing.runOnce()).toBe(true)
  const left = node.tier.horizon.size
  await expect(node.firing.runOnce()).rejects.toThrow('away')
  expect(node.tier.horizon.size).toBeGreaterThanOrEqual(left)
  hooks.set(scanning, seesNothing)
  await fireAllDue(node)
  expect(await firedOnceAt(jobs, start)).toBe(jobs.length)
})

test('what failed before the partitions were lost does not fail the first pass after they are back', async () => {
  const node = await house().node()
  const hooks = between(node)
  const { jobs, start } = await knownCrowd(node, 2 * perPass)
  const failing = gate()
  const fail: Hook = () => failing.opened.then(() => Promise.reject(new Error('the database is away')))
  hooks.set(firing, fail)
  hooks.set(scanning, fail)
  expect(await node.firing.runOnce()).toBe(true)
  const lost = node.ownership.current().length
  await node.ownership.releaseAll()
  failing.open()
  expect(await node.firing.runOnce()).toBe(false)
  hooks.clear()
  await node.beat()
  expect(node.ownership.current()).toHaveLength(lost)
  await fireAllDue(node)
  expect(await firedOnceAt(jobs, start)).toBe(jobs.length)
})

test('in a crowd a timer that was remembered wrongly is read and proposed once more, not twice', async () => {
  const node = await house().node()
  const hooks = between(node)
  const { jobs, start } = await knownCrowd(node, 2 * perPass)
  const changed = jobs.filter((_job, at) => at % 200 === 0)
  await house().query('UPDATE carillon.timers SET rev = rev + 1 WHERE job = ANY ($1)', [changed])
  const read: number[] = []
  hooks.set(reading, (params, send) => {
    read.push(...(params.jobs as number[]))
    return send()
  })
  const decisions = async () => {
    const { values } = await node.metrics.ticks.get()
    return values.find(({ labels }) => labels.decision === 'changed')?.value ?? 0
  }
  expect(await node.firing.runOnce()).toBe(true)
  await until('some were found changed', async () => (await decisions()) > 0)
  // They come up again by the wheel, beside what is remembered of them.
  await house().clock.advance(60)
  await fireAllDue(node)
  await house().clock.advance(60)
  await fireAllDue(node)
  expect(await firedOnceAt(jobs, start)).toBe(jobs.length)
  expect(await decisions()).toBe(changed.length)
  expect(read.filter((job) => changed.includes(job)).sort((a, b) => a - b)).toEqual(changed)
})

test('stopping waits for the statement under way, and begins none behind it', async () => {
  const node = await house().node()
  const hooks = between(node)
  const { jobs, start } = await knownCrowd(node, perPass, 2)
  const first = gate()
  let begun = 0
  hooks.set(firing, async (_params, send) => {
    begun += 1
    await first.opened
    return send()
  })
  expect(await node.firing.runOnce()).toBe(true)
  await until('a statement is under way', () => Promise.resolve(begun === 1))
  let stopped = false
  const stopping = node.firing.stop().then(() => {
    stopped = true
  })
  await house().now()
  expect(stopped).toBe(false)
  first.open()
  await stopping
  expect(begun).toBe(1)
  expect(await firedOnceAt(jobs, start)).toBe(perStatement)
})
