import { expect, test } from 'vitest'
import { createTestDatabase } from '../kit/test-database.js'
import { testEpoch } from '../kit/test-clock.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** The time by the function that every statement of the product uses. */
async function nowMs(): Promise<number> {
  const [row] = await house().query<{ now: number }>('SELECT carillon.now_ms() AS now')
  return row?.now ?? Number.NaN
}

test('the test clock moves the process and the database together', async () => {
  const { clock } = house()
  const [monotonic, now] = [clock.monotonic(), await nowMs()]
  expect(now).toBeGreaterThanOrEqual(testEpoch)
  await clock.advance(1_234)
  expect(clock.monotonic() - monotonic).toBe(1_234)
  expect((await nowMs()) - now).toBe(1_234)
})

test('time stands still until it is moved', async () => {
  const before = await nowMs()
  await house().query('SELECT pg_sleep(0.01)')
  expect(await nowMs()).toBe(before)
})

test('parts of milliseconds add up: the two clocks do not drift apart', async () => {
  const { clock } = house()
  const [monotonic, now] = [clock.monotonic(), await nowMs()]
  for (let step = 0; step < 100; step++) await clock.advance(0.3)
  expect(clock.monotonic() - monotonic).toBeCloseTo(30, 6)
  expect(Math.abs((await nowMs()) - now - 30)).toBeLessThanOrEqual(1)
})

test('a timer runs at its own instant by both clocks, in order, and one that was called off does not', async () => {
  const { clock } = house()
  const [monotonic, now] = [clock.monotonic(), await nowMs()]
  const ran: { name: string; at: number; databaseNow: Promise<number> }[] = []
  const set = (name: string, delayMs: number) =>
    clock.after(delayMs, () =>
      ran.push({ name, at: clock.monotonic() - monotonic, databaseNow: clock.databaseNow() }),
    )
  set('later', 300)
  set('sooner', 100)
  const callOff = set('never', 200)
  set('at once', -5)
  callOff()
  await clock.advance(299)
  expect(ran.map(({ name, at }) => [name, at])).toEqual([
    ['at once', 0],
    ['sooner', 100],
  ])
  await clock.advance(1)
  expect(ran.at(-1)).toMatchObject({ name: 'later', at: 300 })
  expect(await ran.at(-1)?.databaseNow).toBe(now + 300)
})

test('a timer that sets another one within the time that passes sees it run', async () => {
  const { clock } = house()
  const ran: number[] = []
  const again = () => {
    ran.push(clock.monotonic())
    if (ran.length < 3) clock.after(100, again)
  }
  clock.after(100, again)
  await clock.advance(1_000)
  expect(ran.map((at) => at - (ran[0] ?? 0))).toEqual([0, 100, 200])
})

test('a step moves the database alone, and a node notices it at its next heartbeat, back or forward', async () => {
  const { clock } = house()
  const node = await house().node()
  const monotonic = clock.monotonic()
  await clock.stepDatabase(-60_000)
  expect(clock.monotonic()).toBe(monotonic)
  expect(node.databaseClock.atLeast()).toBe((await nowMs()) + 60_000)
  await node.membership.heartbeat()
  expect(node.steps).toHaveLength(1)
  expect(node.databaseClock.atLeast()).toBe(await nowMs())
  await clock.stepDatabase(60_000)
  await node.membership.heartbeat()
  expect(node.steps.map(Math.sign)).toEqual([-1, 1])
  expect(node.databaseClock.atLeast()).toBe(await nowMs())
})

test('a node claims no later time than the database has, whatever time passes', async () => {
  const node = await house().node()
  for (const ms of [0, 1, 0.4, 249.6, 1_000, 0.5, 29_999, 30_001]) {
    await house().clock.advance(ms)
    expect(node.databaseClock.atLeast()).toBeLessThanOrEqual((await nowMs()) + 1)
    await node.membership.heartbeat()
    expect(node.databaseClock.atLeast()).toBeLessThanOrEqual((await nowMs()) + 1)
  }
  expect(node.steps).toEqual([])
})

test('without a test clock, now is the time of the statement by the clock of the server', async () => {
  const plain = await createTestDatabase()
  try {
    const [row] = await plain.query<{ off: number; same: boolean; volatility: string }>(
      `SELECT abs(carillon.now_ms() - extract(epoch FROM statement_timestamp()) * 1000)::float8 AS off,
              carillon.now_ms() = (SELECT carillon.now_ms() FROM pg_sleep(0.02)) AS same,
              (SELECT provolatile FROM pg_proc WHERE oid = 'carillon.now_ms'::regproc) AS volatility`,
    )
    expect(row?.off).toBeLessThanOrEqual(1)
    expect(row?.same).toBe(true)
    expect(row?.volatility).toBe('s')
  } finally {
    await plain.close()
  }
})

test('an index condition may use the clock: a volatile one would read every timer of a partition', async () => {
  const plain = await createTestDatabase()
  try {
    const session = await plain.session()
    await session.query('SET enable_seqscan = off')
    await session.query('SET enable_bitmapscan = off')
    const { rows } = await session.query<{ 'QUERY PLAN': string }>(
      'EXPLAIN SELECT FROM carillon.timers WHERE partition = 1 AND start_at <= carillon.now_ms() + 2000',
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/Index Cond: .*start_at <=/)
    expect(plan).not.toMatch(/Filter:/)
  } finally {
    await plain.close()
  }
})
