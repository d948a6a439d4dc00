import type { JobInput } from '@carillon/contract'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { faultsInChain } from '../kit/account.js'
import { ledgerOf, timerOf } from '../kit/rows.js'
import { type TestNode, times } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const minute = 60_000
const hour = 60 * minute

type TestJob = Awaited<ReturnType<TestNode['register']>>

/** Fires and works off everything that is due now. */
async function work(node: TestNode, turns = 12): Promise<void> {
  await node.beat()
  for (let turn = 0; turn < turns; turn++) {
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    await node.worker.lookOnce()
    await node.worker.leaseOnce()
    await house().finished(node)
  }
}

async function live(node: TestNode, forMs: number, everyMs = 1_000): Promise<void> {
  for (let passed = 0; passed < forMs; passed += everyMs) {
    await house().clock.advance(everyMs)
    await work(node, everyMs < 5_000 ? 2 : 12)
  }
}

async function toFullMinute(): Promise<void> {
  const past = (await house().now()) % minute
  await house().clock.advance(past === 0 ? 0 : minute - past)
}

async function ruleOf(job: TestJob) {
  const [row] = await house().query<{ from: number; anchor: number }>(
    `SELECT effective_from AS from, (definition->>'anchor')::bigint AS anchor FROM carillon.jobs WHERE job = $1`,
    [job.key],
  )
  const { from = 0, anchor = 0 } = row ?? {}
  return { rule: { schedule: job.schedule, timezone: job.timezone, anchor }, from }
}

/** What became of every tick, each range as one row, by the minutes since an instant. */
async function account(job: TestJob, since: number) {
  const rows = (await ledgerOf(house(), job)).filter(({ final }) => final)
  const at = (instant: number) => (instant - since) / minute
  return rows.map(({ due, due_to, outcome, catch_up, ticks }) => [
    due_to === null ? `${at(due)}` : `${at(due)}-${at(due_to)}`,
    outcome,
    catch_up,
    ticks,
  ])
}

describe('a database clock that steps back', () => {
  test.each([15_000, 3 * minute, 25 * hour])(
    'by %i ms fires no tick again and jumps over none',
    async (ms) => {
      const node = await house().node({ leaseAheadMs: 0 })
      await toFullMinute()
      const job = await node.register({ schedule: '*/5 * * * * *' })
      await live(node, 30_000)
      const before = await timerOf(house(), job)
      const deliveredBefore = node.delivered.length
      await house().clock.stepDatabase(-ms)
      await live(node, Math.min(ms, 20_000) - 5_000)
      // It has been there before: nothing is due until the clock is where it was.
      expect(node.delivered).toHaveLength(deliveredBefore)
      expect(await timerOf(house(), job)).toMatchObject({ due: before.due, rev: before.rev })
      expect(node.steps.map(Math.sign)).toContain(-1)
      await house().clock.stepDatabase(Math.max(0, ms - 20_000))
      await live(node, 40_000)
      const dues = node.delivered.map(({ due }) => due)
      expect(new Set(dues).size).toBe(dues.length)
      expect(dues.length).toBeGreaterThan(deliveredBefore + 3)
      const { rule, from } = await ruleOf(job)
      expect(faultsInChain(await ledgerOf(house(), job), rule, from)).toEqual([])
    },
  )
})

describe('a database clock that steps forward', () => {
  const policies: Record<string, { policy: Partial<JobInput>; rows: [string, string, boolean, number][] }> = {
    'SKIP passes over what lies in between': {
      policy: { missed_window: 'SKIP' },
      rows: [['10-60', 'skipped', false, 6]],
    },
    'RUN_ONCE runs the latest': {
      policy: { missed_window: 'RUN_ONCE' },
      rows: [
        ['10-50', 'skipped', false, 5],
        ['60', 'success', true, 1],
      ],
    },
    'RUN_ALL runs each, up to its cap': {
      policy: { missed_window: 'RUN_ALL', max_missed: 3 },
      rows: [
        ['10-30', 'skipped', false, 3],
        ['40', 'success', true, 1],
        ['50', 'success', true, 1],
        ['60', 'success', true, 1],
      ],
    },
  }

  test.each(Object.keys(policies))('is an outage to every job: %s', async (name) => {
    const { policy, rows } = policies[name] as (typeof policies)[string]
    const node = await house().node()
    await toFullMinute()
    const since = Math.floor((await house().now()) / (10 * minute)) * 10 * minute
    const job = await node.register({ schedule: '*/10 * * * *', ...policy })
    await work(node)
    await house().clock.stepDatabase(since + 65 * minute - (await house().now()))
    await live(node, 5_000, 5_000)
    expect(await account(job, since)).toEqual(rows)
    expect(node.steps.map(Math.sign)).toEqual([1])
    const { rule, from } = await ruleOf(job)
    expect(faultsInChain(await ledgerOf(house(), job), rule, from)).toEqual([])
  })

  test('costs no partition its owner for longer than a pass', async () => {
    const [one, other] = (await house().fleet(2)) as [TestNode, TestNode]
    await house().clock.stepDatabase(24 * hour)
    for (let passed = 0; passed < times.leaseTtlMs; passed += times.heartbeatMs) {
      await house().clock.advance(times.heartbeatMs)
      for (const node of [one, other]) await node.beat()
      expect(one.ownership.current().length + other.ownership.current().length).toBe(256)
    }
  })
})

describe('a node whose own clock is wrong', () => {
  afterEach(() => void vi.useRealTimers())

  /** An ordinary life with a silence in it: what was recorded and delivered when, by the database clock. */
  async function lifeUnder(shiftMs: number) {
    vi.useRealTimers()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shiftMs })
    const node = await house().node()
    await toFullMinute()
    const since = await house().now()
    const jobs = [
      await node.register({ schedule: '*/10 * * * * *', missed_window: 'RUN_ALL' }),
      await node.register({ schedule: '*/20 * * * * *', missed_window: 'SKIP' }),
      await node.register({ schedule: utcText(since + 90_000) }),
    ]
    await live(node, 30_000, 5_000)
    await house().clock.advance(2 * minute)
    await live(node, 30_000, 5_000)
    const relative = (instant: number | null) => (instant === null ? null : instant - since)
    const record = []
    for (const job of jobs) {
      for (const row of await ledgerOf(house(), job)) {
        const { outcome, final, attempt, ticks, catch_up, reason } = row
        const instants = [row.due, row.due_to, row.next_due, row.available_at, row.fired_at, row.started_at]
        record.push({ outcome, final, attempt, ticks, catch_up, reason, instants: instants.map(relative) })
      }
    }
    const state = node.membership.live('scheduler').length
    await house().empty()
    return { record, state, steps: node.steps.length }
  }

  test('by hours, in either direction, decides all as one whose clock is right', async () => {
    const right = await lifeUnder(0)
    expect(right.record.length).toBeGreaterThan(15)
    expect(new Set(right.record.map(({ outcome }) => outcome))).toEqual(new Set(['success', 'skipped']))
    expect(await lifeUnder(5 * hour)).toEqual(right)
    expect(await lifeUnder(-7 * hour)).toEqual(right)
  })
})
