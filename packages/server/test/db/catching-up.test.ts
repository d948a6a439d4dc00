import type { StopSwitch } from '../../src/targets/stop-switch.js'
import { describe, expect, test } from 'vitest'
import type { Delivered } from '../../src/pipeline/execute/worker.js'
import { turnOf, workOff } from '../kit/outage.js'
import { ledgerOf, queueOf } from '../kit/rows.js'
import { failed, succeeded, type TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000
const promptly = { leaseAheadMs: 0 }

test('the oldest first, over all jobs, at the pace that is set; fresh ticks keep their time meanwhile', {
  timeout: 180_000,
}, async () => {
  const perSecond = 2
  const node = await house().node({ ...promptly, catchUpPerSecond: perSecond })
  const fresh = await node.register({ schedule: '*/5 * * * * *', missed_window: 'SKIP' })
  for (let at = 0; at < 8; at++) {
    await node.register({ schedule: '@every 10m', missed_window: 'RUN_ALL', max_missed: 6 })
    await house().clock.advance(17_000)
  }
  await house().clock.advance(62 * minute)
  const wokeAt = await house().now()
  const counts: number[] = []
  for (let turn = 0; turn < 70; turn++) {
    await turnOf(house(), node)
    counts.push(await caughtUp())
    await house().clock.advance(500)
  }
  const order = await house().query<{ due: number }>(
    'SELECT due FROM carillon.ledger WHERE catch_up ORDER BY fired_at, due',
  )
  expect(order).toHaveLength(48)
  expect(order.map(({ due }) => due)).toEqual(order.map(({ due }) => due).sort((a, b) => a - b))
  // What may be done at once, and then so many a second.
  counts.forEach((count, turn) => expect(count).toBeLessThanOrEqual(perSecond + perSecond * (turn / 2)))
  expect(counts.filter((count) => count < 48).length).toBeGreaterThan(40)
  const rows = (await ledgerOf(house(), fresh)).filter(({ due }) => due > wokeAt)
  expect(rows.length).toBeGreaterThanOrEqual(6)
  for (const row of rows) {
    expect(row).toMatchObject({ outcome: 'success', catch_up: false })
    expect((row.started_at ?? 0) - row.due).toBeLessThanOrEqual(1_000)
  }

  async function caughtUp(): Promise<number> {
    const [row] = await house().query<{ count: number }>(
      `SELECT (SELECT count(*) FROM carillon.ledger WHERE catch_up)::int
            + (SELECT count(*) FROM carillon.queue WHERE catch_up)::int AS count`,
    )
    return row?.count ?? 0
  }
})

describe('a run that outlasts the outage', () => {
  /** The first delivery waits until it is let go, or told to stop; the others succeed at once. */
  async function withALongRun(overlap: object) {
    let letGo: () => void = () => undefined
    let begun = false
    const deliver = (_run: unknown, _definition: unknown, { signal }: StopSwitch): Promise<Delivered> => {
      if (begun) return Promise.resolve(succeeded)
      begun = true
      return new Promise((resolve) => {
        letGo = () => resolve(succeeded)
        signal.addEventListener('abort', () => resolve({ ...failed, reason: 'worker_stopped' }))
      })
    }
    const node = await house().node({ ...promptly, deliver })
    const job = await node.register({ schedule: '@every 10m', missed_window: 'RUN_ALL', ...overlap })
    const registered = await house().now()
    await house().clock.advance(10 * minute)
    await turnHolding(node, 1)
    await house().clock.advance(62 * minute)
    for (let turn = 0; turn < 10; turn++) await turnHolding(node, 1)
    return { node, job, registered, letGo: () => letGo() }
  }

  /** A turn after which some runs go on. */
  async function turnHolding(node: TestNode, left: number): Promise<void> {
    await node.beat()
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    await node.worker.leaseOnce()
    await node.worker.lookOnce()
    await house().finished(node, left)
    await house().clock.advance(100)
  }

  const missed = [20, 30, 40, 50, 60, 70]

  test.each([{ overlap_policy: 'SKIP' }, { overlap_policy: 'QUEUE' }] as const)(
    'with $overlap_policy keeps its place: what was missed waits for it, and is run then',
    async (overlap) => {
      const { node, job, registered, letGo } = await withALongRun(overlap)
      expect((await queueOf(house(), job)).map(({ due }) => due)).toEqual([registered + 10 * minute])
      letGo()
      await workOff(house(), [node], registered + 72 * minute)
      const rows = await ledgerOf(house(), job)
      expect(rows.map(({ due, outcome, catch_up }) => [due, outcome, catch_up])).toEqual([
        [registered + 10 * minute, 'success', false],
        ...missed.map((at) => [registered + at * minute, 'success', true]),
      ])
    },
  )

  test('with REPLACE gives way to the next tick; what was missed is run as well', async () => {
    const { node, job, registered } = await withALongRun({ overlap_policy: 'REPLACE' })
    await house().clock.advance(8 * minute)
    await turnHolding(node, 0)
    await workOff(house(), [node], registered + 80 * minute)
    const rows = (await ledgerOf(house(), job)).filter(({ final }) => final)
    const became = rows.map(({ due, outcome, catch_up }) => [(due - registered) / minute, outcome, catch_up])
    expect(became).toEqual([
      [10, 'cancelled', false],
      ...missed.map((at) => [at, 'success', true]),
      [80, 'success', false],
    ])
  })

  test('with ALLOW is no hindrance: what was missed runs beside it, one at a time', async () => {
    const { node, job, registered, letGo } = await withALongRun({ overlap_policy: 'ALLOW' })
    const rows = await ledgerOf(house(), job)
    expect(rows.map(({ due, catch_up }) => [(due - registered) / minute, catch_up])).toEqual(
      missed.map((at) => [at, true]),
    )
    const times = rows.map(({ fired_at, recorded_at }) => [fired_at ?? 0, recorded_at] as const)
    times.forEach(([firedAt], at) => expect(firedAt).toBeGreaterThanOrEqual(times[at - 1]?.[1] ?? 0))
    letGo()
    await house().finished(node)
  })
})
