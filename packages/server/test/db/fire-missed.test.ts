import type { JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { faultsInChain } from '../kit/account.js'
import { ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

/** Fires and works off everything that is due now. */
async function catchUp(node: TestNode): Promise<void> {
  await node.beat()
  for (let turn = 0; turn < 12; turn++) {
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    await node.worker.lookOnce()
    await node.worker.leaseOnce()
    await house().finished(node)
  }
}

interface Expected {
  policy: Partial<JobInput>
  /** How long nobody fired, in minutes since the registration. */
  outage: number
  /** [minute of the tick or range, outcome, catch_up, ticks] */
  rows: [string, string, boolean, number][]
}

const outages: Record<string, Expected> = {
  'SKIP passes over all of them in one row': {
    policy: { missed_window: 'SKIP' },
    outage: 65,
    rows: [['10-60', 'skipped', false, 6]],
  },
  'SKIP still runs the tick that is on time': {
    policy: { missed_window: 'SKIP' },
    outage: 60.1,
    rows: [
      ['10-50', 'skipped', false, 5],
      ['60', 'success', false, 1],
    ],
  },
  'RUN_ONCE runs the latest and passes over the rest': {
    policy: { missed_window: 'RUN_ONCE' },
    outage: 65,
    rows: [
      ['10-50', 'skipped', false, 5],
      ['60', 'success', true, 1],
    ],
  },
  'RUN_ONCE passes over all when the latest is beyond the grace': {
    policy: { missed_window: 'RUN_ONCE', misfire_grace_seconds: 60 },
    outage: 65,
    rows: [['10-60', 'skipped', false, 6]],
  },
  'RUN_ALL runs each, oldest first': {
    policy: { missed_window: 'RUN_ALL' },
    outage: 65,
    rows: [10, 20, 30, 40, 50, 60].map((at) => [String(at), 'success', true, 1]),
  },
  'RUN_ALL runs the latest of them up to its cap': {
    policy: { missed_window: 'RUN_ALL', max_missed: 2 },
    outage: 65,
    rows: [
      ['10-40', 'skipped', false, 4],
      ['50', 'success', true, 1],
      ['60', 'success', true, 1],
    ],
  },
  'RUN_ALL passes over what is beyond the grace': {
    policy: { missed_window: 'RUN_ALL', misfire_grace_seconds: 40 * 60 },
    outage: 65,
    rows: [
      ['10-20', 'skipped', false, 2],
      ['30', 'success', true, 1],
      ['40', 'success', true, 1],
      ['50', 'success', true, 1],
      ['60', 'success', true, 1],
    ],
  },
  'one missed tick is a row without a range': {
    policy: { missed_window: 'SKIP' },
    outage: 15,
    rows: [['10', 'skipped', false, 1]],
  },
}

describe('after an outage', () => {
  test.each(Object.entries(outages))('%s', async (_name, { policy, outage, rows }) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10m', ...policy })
    const registered = await house().now()
    await house().clock.advance(outage * minute)
    await catchUp(node)
    const at = (due: number) => String((due - registered) / minute)
    const ledger = await ledgerOf(house(), job)
    expect(
      ledger.map((row) => [
        row.due_to === null ? at(row.due) : `${at(row.due)}-${at(row.due_to)}`,
        row.outcome,
        row.catch_up,
        row.ticks,
      ]),
    ).toEqual(rows)
    expect(ledger.filter((row) => row.outcome === 'skipped').map((row) => row.reason)).toEqual(
      rows.filter(([, outcome]) => outcome === 'skipped').map(() => 'missed'),
    )
    const rule = { schedule: '@every 10m', timezone: 'UTC', anchor: registered }
    expect(faultsInChain(ledger, rule, registered)).toEqual([])
    expect(await queueOf(house(), job)).toEqual([])
    const last = outage - (outage % 10)
    expect(await timerOf(house(), job)).toMatchObject({
      due: registered + (last + 10) * minute,
      accounted_through: registered + last * minute,
    })
  })

  test('the node that was gone and the one that took over account for the gap once', async () => {
    const [slept, heir] = await house().fleet(2)
    if (slept === undefined || heir === undefined) throw new Error('no fleet')
    const jobs = await Promise.all(
      Array.from({ length: 10 }, () => heir.register({ schedule: '@every 10m' })),
    )
    const registered = await house().now()
    await house().clock.advance(65 * minute)
    // Both come back at once. One finds the other dead, and the other learns it by its next life sign.
    await Promise.all([slept.beat(), heir.beat()])
    for (let pass = 0; pass < 3; pass++) {
      for (const node of [slept, heir]) await node.beat()
      await Promise.all([slept, heir, slept, heir].map((node) => node.firing.runOnce()))
    }
    for (const job of jobs) {
      expect(await replaysOf(house(), job)).toMatchObject([
        { from_ms: registered + 60 * minute, to_ms: registered + 60 * minute, total: 1, done: 0 },
      ])
    }
    for (let pass = 0; pass < 3; pass++) {
      await Promise.all([slept, heir, slept, heir].map((node) => node.catchUp.runOnce()))
    }
    for (const job of jobs) {
      expect((await queueOf(house(), job)).map(({ due, catch_up }) => [due, catch_up])).toEqual([
        [registered + 60 * minute, true],
      ])
      expect((await ledgerOf(house(), job)).map(({ due, ticks }) => [due, ticks])).toEqual([
        [registered + 10 * minute, 5],
      ])
    }
  })
})

test('the chain of next_due leads over every tick, through cron, overlap and outages', async () => {
  const node = await house().node()
  const registered = await house().now()
  const rule = { schedule: '*/7 * * * * *', timezone: 'Europe/Berlin', anchor: registered }
  const job = await node.register({ schedule: rule.schedule, timezone: rule.timezone })
  const passes: [gapMs: number, work: boolean][] = [
    [7_000, true],
    [7_000, false], // its place stays taken over the next tick
    [7_000, true],
    [30_000, true],
    [6_500, false],
    [500, true],
    [90_000, true],
    [16_000, false],
    [14_000, true],
    [200_000, true],
  ]
  for (const [gapMs, work] of passes) {
    await house().clock.advance(gapMs)
    await node.beat()
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    if (!work) continue
    await node.worker.lookOnce()
    await node.worker.leaseOnce()
    await house().clock.advance(2_000)
    await house().finished(node)
  }
  const ledger = await ledgerOf(house(), job)
  expect(ledger.length).toBeGreaterThan(8)
  expect(new Set(ledger.map(({ reason, outcome }) => reason ?? outcome))).toEqual(
    new Set(['success', 'missed', 'overlap']),
  )
  expect(faultsInChain(ledger, rule, registered)).toEqual([])
})

describe('a job that cannot be read', () => {
  test.each([
    ['has a schedule that is none', '{"schedule": "every blue moon"}'],
    ['has a schedule of the wrong type', '{"schedule": 5}'],
    ['has an unknown zone', '{"timezone": "Mars/Olympus"}'],
    ['has a number of retries that is none', '{"max_retries": "many"}'],
    ['has more retries than can be stored', '{"max_retries": 40000}'],
    ['has an anchor that is none', '{"schedule": "@every 10s", "anchor": "then"}'],
  ])('%s: the others fire, and it fires once it is repaired', async (_name, damage) => {
    const node = await house().node()
    const broken = await node.register({ schedule: '@every 10s' })
    const others = await Promise.all(
      Array.from({ length: 5 }, () => node.register({ schedule: '@every 10s' })),
    )
    const [whole] = await house().query<{ definition: object }>(
      'SELECT definition FROM carillon.jobs WHERE job = $1',
      [broken.key],
    )
    await house().query('UPDATE carillon.jobs SET definition = definition || $2::jsonb WHERE job = $1', [
      broken.key,
      damage,
    ])
    const timer = await timerOf(house(), broken)
    await house().clock.advance(10_000)
    await node.beat()
    await node.firing.runOnce()
    for (const job of others) expect(await queueOf(house(), job)).toHaveLength(1)
    expect(await queueOf(house(), broken)).toEqual([])
    expect(await timerOf(house(), broken)).toEqual(timer)
    expect(await node.registry.get(1, broken.job_id)).toMatchObject({ state: 'active' })

    await house().query('UPDATE carillon.jobs SET definition = $2 WHERE job = $1', [
      broken.key,
      whole?.definition,
    ])
    await node.firing.runOnce()
    expect((await queueOf(house(), broken)).map(({ due }) => due)).toEqual([timer.due])
  })
})

test('a tick that the tables refuse does not stop the others', async () => {
  const node = await house().node()
  const jobs = await Promise.all(Array.from({ length: 9 }, () => node.register({ schedule: '@every 10s' })))
  await house().clock.advance(10_000)
  await node.beat()
  await node.firing.runOnce()
  // Somebody set a cursor back by hand: its run is in the queue already, waiting for a retry.
  const [broken, ...others] = jobs
  if (broken === undefined) throw new Error('no job')
  const [run] = await queueOf(house(), broken)
  await house().query('UPDATE carillon.queue SET slot = NULL WHERE job = $1', [broken.key])
  await house().query(
    'UPDATE carillon.timers SET due = $2, start_at = $2, accounted_through = $2::bigint - 1 WHERE job = $1',
    [broken.key, run?.due],
  )
  await house().query('DELETE FROM carillon.queue WHERE job <> $1', [broken.key])
  await house().clock.advance(10_000)
  await node.beat()
  // The refusal reaches us a moment before its statement has let go of the rows: a pass may find them still locked.
  await until('the others are fired', async () => {
    await node.firing.runOnce()
    const fired = await Promise.all(others.map((job) => queueOf(house(), job)))
    return fired.every((runs) => runs.length === 1)
  })
  expect(await timerOf(house(), broken)).toMatchObject({ due: run?.due })
})
