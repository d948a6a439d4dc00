import type { JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { faultsInChain } from '../kit/account.js'
import { ownerBelieving } from '../kit/owner.js'
import { countOf, ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import { failed, succeeded, type TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const minute = 60_000

type TestJob = Awaited<ReturnType<TestNode['register']>>

/** Jobs that were not fired for an hour and five minutes; their replays are made, and nothing is caught up yet. */
async function missed(
  node: TestNode,
  inputs: Partial<JobInput>[],
  outageMs = 65 * minute,
): Promise<TestJob[]> {
  const jobs: TestJob[] = []
  for (const input of inputs)
    jobs.push(await node.register({ schedule: '@every 10m', missed_window: 'RUN_ALL', ...input }))
  await house().clock.advance(outageMs)
  await node.beat()
  await node.firing.runOnce()
  return jobs
}

/** Lets what is in the queue run to its end. */
async function work(node: TestNode): Promise<void> {
  await node.worker.lookOnce()
  await node.worker.leaseOnce()
  await house().finished(node)
}

async function pass(node: TestNode, afterMs: number): Promise<void> {
  await house().clock.advance(afterMs)
  await node.beat()
}

describe('what was missed', () => {
  test('is a replay before it is a run, and the cursor is past now at once', async () => {
    const node = await house().node()
    const registered = await house().now()
    const [job] = await missed(node, [{ max_missed: 4 }])
    if (job === undefined) throw new Error('no job')
    expect(await replaysOf(house(), job)).toMatchObject([
      {
        from_ms: registered + 30 * minute,
        to_ms: registered + 60 * minute,
        cursor_ms: registered + 30 * minute,
        total: 4,
        done: 0,
        state: 'running',
        reason: 'missed',
        version: 1,
      },
    ])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { due: registered + 10 * minute, due_to: registered + 20 * minute, ticks: 2, reason: 'missed' },
    ])
    expect(await countOf(house(), 'queue')).toBe(0)
    expect(await timerOf(house(), job)).toMatchObject({
      due: registered + 70 * minute,
      accounted_through: registered + 60 * minute,
      runs: 4,
    })
  })

  test('is caught up the oldest tick first, across jobs', async () => {
    const node = await house().node({ catchUpPerSecond: 1 })
    const registered = await house().now()
    const jobs: TestJob[] = []
    for (let at = 0; at < 3; at++) {
      jobs.unshift(await node.register({ schedule: '@every 10m', missed_window: 'RUN_ALL' }))
      await house().clock.advance(minute)
    }
    await pass(node, 62 * minute)
    await node.firing.runOnce()
    for (let step = 0; step < 18; step++) {
      await node.catchUp.runOnce()
      expect(await countOf(house(), 'queue')).toBe(1)
      await work(node)
      await pass(node, 1_000)
    }
    const minutes = node.delivered.map(({ due }) => (due - registered) / minute)
    expect(minutes).toEqual([10, 20, 30, 40, 50, 60].flatMap((at) => [at, at + 1, at + 2]))
    expect(node.delivered.every(({ catchUp }) => catchUp)).toBe(true)
    for (const job of jobs) expect(await replaysOf(house(), job)).toMatchObject([{ state: 'done', done: 6 }])
  })

  test.each<Partial<JobInput>>([
    { overlap_policy: 'SKIP' },
    { overlap_policy: 'QUEUE' },
    { overlap_policy: 'ALLOW' },
    { overlap_policy: 'ALLOW', max_concurrent: 3 },
  ])('is caught up one run of a job at a time, also with $overlap_policy', async (input) => {
    const node = await house().node()
    const [job] = await missed(node, [input])
    if (job === undefined) throw new Error('no job')
    for (let done = 1; done <= 6; done++) {
      for (let look = 0; look < 3; look++) await node.catchUp.runOnce()
      expect(await queueOf(house(), job)).toMatchObject([{ catch_up: true }])
      expect(await replaysOf(house(), job)).toMatchObject([{ done, state: done === 6 ? 'done' : 'running' }])
      await work(node)
    }
    const dues = (await ledgerOf(house(), job)).map(({ due }) => due)
    expect(dues).toEqual([...dues].sort((a, b) => a - b))
    expect(dues).toHaveLength(6)
  })

  test('waits for the retry of the run before it', async () => {
    let attempts = 0
    const node = await house().node({
      deliver: () => Promise.resolve(++attempts === 1 ? failed : succeeded),
    })
    const [job] = await missed(node, [{ overlap_policy: 'ALLOW', max_retries: 2, retry_backoff: 'fixed' }])
    if (job === undefined) throw new Error('no job')
    await node.catchUp.runOnce()
    await work(node)
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toHaveLength(1)
    await pass(node, 4 * minute)
    await work(node)
    await node.catchUp.runOnce()
    expect(await replaysOf(house(), job)).toMatchObject([{ done: 2 }])
  })

  test('of two outages is caught up in the order of its ticks', async () => {
    const node = await house().node()
    const [job] = await missed(node, [{}])
    if (job === undefined) throw new Error('no job')
    await pass(node, 30 * minute)
    await node.firing.runOnce()
    expect(await replaysOf(house(), job)).toMatchObject([{ total: 6 }, { total: 3 }])
    for (let step = 0; step < 9; step++) {
      await node.catchUp.runOnce()
      await work(node)
    }
    const dues = node.delivered.map(({ due }) => due)
    expect(dues).toHaveLength(9)
    expect(dues).toEqual([...dues].sort((a, b) => a - b))
  })
})

describe('the pace', () => {
  test('is the governor’s: no more than its allowance by the clock', async () => {
    const node = await house().node({ catchUpPerSecond: 10 })
    await missed(
      node,
      Array.from({ length: 40 }, () => ({ missed_window: 'RUN_ONCE' as const })),
    )
    await node.catchUp.runOnce()
    expect(await countOf(house(), 'queue')).toBe(10)
    for (let look = 0; look < 3; look++) await node.catchUp.runOnce()
    expect(await countOf(house(), 'queue')).toBe(10)
    await pass(node, 500)
    await node.catchUp.runOnce()
    expect(await countOf(house(), 'queue')).toBe(15)
    await pass(node, 10_000)
    await node.catchUp.runOnce()
    expect(await countOf(house(), 'queue')).toBe(25)
  })

  test('is twice that of what is scheduled, where that is more than the floor', async () => {
    const node = await house().node({ catchUpPerSecond: 1 })
    await missed(
      node,
      Array.from({ length: 20 }, () => ({ missed_window: 'RUN_ONCE' as const })),
    )
    for (let job = 0; job < 5; job++) await node.register({ schedule: '* * * * * *' })
    await node.catchUp.runOnce()
    const { perSecond } = node.tier.governor
    expect(perSecond).toBeGreaterThan(9)
    expect(perSecond).toBeLessThan(12)
  })

  test('a run that did not come about uses none of it', async () => {
    const node = await house().node({ catchUpPerSecond: 2 })
    const [held, ...others] = await missed(
      node,
      Array.from({ length: 3 }, () => ({ missed_window: 'RUN_ONCE' as const })),
    )
    if (held === undefined) throw new Error('no job')
    const editor = await house().session()
    await editor.query('BEGIN')
    await editor.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [held.key])
    for (let look = 0; look < 3; look++) await node.catchUp.runOnce()
    await editor.query('ROLLBACK')
    await node.catchUp.runOnce()
    expect(await countOf(house(), 'queue')).toBe(2)
    expect(others).toHaveLength(2)
  })
})

describe('fresh ticks', () => {
  test('go before anything is caught up while they are late', async () => {
    const node = await house().node()
    const [job] = await missed(node, [{}])
    const fresh = await node.register({ schedule: '@every 20s' })
    if (job === undefined) throw new Error('no job')
    await pass(node, 25_000)
    await node.firing.runOnce()
    expect(node.tier.load.lagMs).toBe(5_000)
    expect(await node.catchUp.runOnce()).toBe(false)
    expect(await queueOf(house(), job)).toEqual([])
    await work(node)
    await pass(node, 15_000)
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    expect(await queueOf(house(), fresh)).toHaveLength(1)
    expect(await queueOf(house(), job)).toHaveLength(1)
  })

  test('do not wait until all is caught up', async () => {
    const node = await house().node()
    const [job] = await missed(node, [{}])
    if (job === undefined) throw new Error('no job')
    const { due } = await timerOf(house(), job)
    await pass(node, (due ?? 0) - (await house().now()))
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due, catch_up: false }])
    expect(await replaysOf(house(), job)).toMatchObject([{ done: 0, state: 'running' }])
    // The place is taken: what is caught up waits for it, and nothing is decided.
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toHaveLength(1)
    await work(node)
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ catch_up: true }])
  })

  test('that meet a run that catches up wait their turn, and are no overlap', async () => {
    const node = await house().node()
    const [job] = await missed(node, [{}])
    if (job === undefined) throw new Error('no job')
    await node.catchUp.runOnce()
    const { due } = await timerOf(house(), job)
    await pass(node, (due ?? 0) - (await house().now()))
    await node.firing.runOnce()
    expect(await timerOf(house(), job)).toMatchObject({ due })
    expect(await ledgerOf(house(), job)).toEqual([])
    await work(node)
    await pass(node, 50)
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due, catch_up: false }])
  })

  test('that wait for their place go before the next one that catches up', async () => {
    const node = await house().node()
    const [job] = await missed(node, [{}])
    if (job === undefined) throw new Error('no job')
    await node.catchUp.runOnce()
    const { due } = await timerOf(house(), job)
    await pass(node, (due ?? 0) - (await house().now()))
    await node.firing.runOnce()
    await work(node)
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
    await pass(node, 50)
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due, catch_up: false }])
  })
})

describe('a job that ends', () => {
  test('by max_runs runs no more of what it missed than it may, and has ended', async () => {
    const node = await house().node()
    const registered = await house().now()
    const [job] = await missed(node, [{ max_runs: 4 }])
    if (job === undefined) throw new Error('no job')
    for (let step = 0; step < 8; step++) {
      await node.catchUp.runOnce()
      await work(node)
    }
    expect(node.delivered.map(({ due }) => (due - registered) / minute)).toEqual([30, 40, 50, 60])
    expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'ended', next_run_at: null })
    expect(await timerOf(house(), job)).toMatchObject({ due: null, runs: 4 })
    await pass(node, 30 * minute)
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
  })

  test('by max_runs after a replay goes on with what is left', async () => {
    const node = await house().node()
    const [job] = await missed(node, [{ max_runs: 3, missed_window: 'RUN_ONCE' }])
    if (job === undefined) throw new Error('no job')
    for (let tick = 0; tick < 4; tick++) {
      await node.catchUp.runOnce()
      await work(node)
      await pass(node, (tick === 0 ? 5 : 10) * minute)
      await node.firing.runOnce()
      await work(node)
    }
    expect(node.delivered.map(({ catchUp }) => catchUp)).toEqual([true, false, false])
    expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'ended' })
  })

  test.each([
    ['RUN_ONCE', ['success', true]],
    ['RUN_ALL', ['success', true]],
    ['SKIP', ['skipped', false]],
  ] as const)('because it was a one-off that was missed is accounted for under %s', async (policy, row) => {
    const node = await house().node()
    const at = (await house().now()) + 10 * minute
    const [job] = await missed(node, [{ schedule: utcText(at), missed_window: policy }])
    if (job === undefined) throw new Error('no job')
    expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'ended' })
    await node.catchUp.runOnce()
    await node.catchUp.runOnce()
    await work(node)
    expect(
      (await ledgerOf(house(), job)).map(({ due, outcome, catch_up }) => [due, outcome, catch_up]),
    ).toEqual([[at, ...row]])
  })
})

test('ticks missed under an older version are those of its schedule, and run as that version', async () => {
  const node = await house().node()
  const registered = await house().now()
  const [job] = await missed(node, [{ max_retries: 5 }], 35 * minute)
  if (job === undefined) throw new Error('no job')
  await house().query(
    `INSERT INTO carillon.job_versions (job, version, tenant, definition, route, created_at, partition)
     SELECT job, version, tenant, definition, route, created_at, partition FROM carillon.jobs WHERE job = $1`,
    [job.key],
  )
  await house().query(
    `UPDATE carillon.jobs SET version = 2, definition = definition || '{"schedule": "@every 7m", "max_retries": 0}'
     WHERE job = $1`,
    [job.key],
  )
  for (let step = 0; step < 3; step++) {
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ version: 1, max_attempts: 6 }])
    await work(node)
  }
  expect(node.delivered.map(({ due }) => (due - registered) / minute)).toEqual([10, 20, 30])
  expect(await replaysOf(house(), job)).toMatchObject([{ state: 'done', done: 3, total: 3 }])
  const rule = { schedule: '@every 10m', timezone: 'UTC', anchor: registered }
  expect(faultsInChain(await ledgerOf(house(), job), rule, registered)).toEqual([])
})

describe('a large catch-up', () => {
  test('is told of once, and once more when it is over', async () => {
    const node = await house().node({ largeCatchUpTicks: 6 })
    await missed(node, [{}, {}])
    for (let look = 0; look < 3; look++) await node.catchUp.runOnce()
    expect(node.events).toMatchObject([
      { kind: 'large_catch_up', fingerprint: 'large_catch_up:node_test', detail: { ticks: 12, jobs: 2 } },
    ])
    for (let step = 0; step < 6; step++) {
      expect(node.resolved).toEqual([])
      await node.catchUp.runOnce()
      await work(node)
      await node.catchUp.runOnce()
    }
    await node.catchUp.runOnce()
    expect(node.resolved).toEqual(['large_catch_up:node_test'])
    expect(node.events).toHaveLength(1)
  })

  test('is not told of below the setting', async () => {
    const node = await house().node({ largeCatchUpTicks: 13 })
    await missed(node, [{}, {}])
    await node.catchUp.runOnce()
    expect(node.events).toEqual([])
  })
})

test('what is caught up is no progress of the firing loop, on which the leases hang', async () => {
  const node = await house().node()
  await missed(node, [{}])
  const { tier, told } = ownerBelieving(house(), { node, believes: node.ownership.current() })
  await tier.catchUp.runOnce()
  expect(await countOf(house(), 'queue')).toBe(1)
  expect(told).toEqual(['caught up'])
})

test('one whose schedule cannot be read does not keep the others from catching up', async () => {
  const node = await house().node({ catchUpPerSecond: 1 })
  const [broken] = await missed(node, [{}])
  const [whole] = await missed(node, [{}])
  if (broken === undefined || whole === undefined) throw new Error('no job')
  await house().query(
    `UPDATE carillon.jobs SET definition = definition || '{"schedule": "none"}' WHERE job = $1`,
    [broken.key],
  )
  await node.catchUp.runOnce()
  expect(await queueOf(house(), whole)).toHaveLength(1)
  expect(await replaysOf(house(), broken)).toMatchObject([{ state: 'running', done: 0 }, {}])
})
