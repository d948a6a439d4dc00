import { describe, expect, test } from 'vitest'
import {
  expectedOf,
  foundOf,
  lookedAtOf,
  type OutageJob,
  registerAll,
  ticksOf,
  turnOf,
  workOff,
} from '../kit/outage.js'
import { countOf, ledgerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const hour = 3_600_000
/** Runs are leased when they can start: a worker that holds none has finished all. */
const promptly = { leaseAheadMs: 0 }
const springForward = Date.parse('2027-03-28T01:00:00Z')
const fallBack = Date.parse('2027-10-31T01:00:00Z')

/** Nobody is there yet: time may pass at one stroke. */
async function goTo(instant: number): Promise<void> {
  await house().clock.advance(instant - (await house().now()))
}

/** Works off what the outage left, and holds every job against its policies: what was missed, and what came after. */
async function expectAsPoliciesSay(nodes: TestNode[], jobs: OutageJob[]): Promise<void> {
  const wokeAt = await house().now()
  await workOff(house(), nodes, wokeAt)
  const endedAt = await house().now()
  const wrong: unknown[] = []
  const total = { skipped: 0, caughtUp: 0, fresh: 0 }
  for (const job of jobs) {
    const lookedAt = await lookedAtOf(house(), job, wokeAt)
    const expected = expectedOf(job, lookedAt)
    const found = await foundOf(house(), job, lookedAt)
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push({ job: job.input, found, expected })
    wrong.push(...(await wrongAfter(job, lookedAt, endedAt)))
    total.skipped += found.skipped?.count ?? 0
    total.caughtUp += found.caughtUp.length
    total.fresh += found.fresh.length
  }
  expect(wrong).toEqual([])
  // Each of the three has happened: the comparison above was about something.
  expect(Math.min(total.skipped, total.caughtUp, total.fresh)).toBeGreaterThan(0)
}

/** Ticks after the outage run in their own time, whatever has to be caught up. */
async function wrongAfter(job: OutageJob, lookedAt: number, endedAt: number): Promise<unknown[]> {
  if (job.input.max_runs !== undefined) return []
  const ticks = ticksOf(job, lookedAt, endedAt - job.spreadMs - 2_000)
  const rows = (await ledgerOf(house(), job)).filter((row) => row.due > lookedAt && row.final)
  const ran = new Map(rows.map((row) => [row.due, row]))
  return ticks.flatMap((tick) => {
    const row = ran.get(tick)
    return row?.outcome === 'success' && !row.catch_up
      ? []
      : [{ job: job.input, tick, became: row?.outcome ?? null, reason: row?.reason }]
  })
}

describe('an hour without anybody: every kind of job, every missed-run policy, every overlap policy', {
  timeout: 300_000,
}, () => {
  test('after an outage each has run, or not run with the reason, what its policies say', async () => {
    const node = await house().node(promptly)
    const jobs = await registerAll(house(), node)
    await house().clock.advance(hour)
    await expectAsPoliciesSay([node], jobs)
    for (const job of jobs.filter(({ input }) => input.max_runs !== undefined)) {
      const ran = (await ledgerOf(house(), job)).filter(({ attempt }) => attempt > 0)
      expect(ran.length).toBeLessThanOrEqual(job.input.max_runs ?? 0)
    }
    expect(await house().query("SELECT FROM carillon.replays WHERE state <> 'done'")).toEqual([])
  })

  test('also where the clocks were set forward meanwhile', async () => {
    await goTo(springForward - hour / 2)
    const node = await house().node(promptly)
    const jobs = await registerAll(house(), node, 1, 3)
    await house().clock.advance(hour)
    await expectAsPoliciesSay([node], jobs)
  })

  test('also where the clocks were set back meanwhile', async () => {
    await goTo(fallBack - hour / 2)
    const node = await house().node(promptly)
    const jobs = await registerAll(house(), node, 2, 3)
    await house().clock.advance(hour)
    await expectAsPoliciesSay([node], jobs)
  })

  test('a process that was stopped so long fires nothing on waking, until it has looked; then the same', async () => {
    const node = await house().node(promptly)
    const jobs = await registerAll(house(), node, 3, 3)
    await house().clock.advance(hour)
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    expect([await countOf(house(), 'queue'), await countOf(house(), 'ledger')]).toEqual([0, 0])
    expect(await house().query('SELECT FROM carillon.replays')).toEqual([])
    await expectAsPoliciesSay([node], jobs)
  })

  test('two that wake at once share what was missed, and none of it is done twice', async () => {
    const [one, other] = await house().fleet(2, promptly)
    if (one === undefined || other === undefined) throw new Error('no fleet')
    const jobs = await registerAll(house(), one, 4, 3)
    await house().clock.advance(hour)
    await Promise.all([one.beat(), other.beat()])
    await Promise.all([one, other, one, other].map((node) => node.firing.runOnce()))
    await Promise.all([one, other].map((node) => node.catchUp.runOnce()))
    await expectAsPoliciesSay([one, other], jobs)
  })

  test('one that stays awake takes over from one that sleeps, and nothing of the sleeper was missed', async () => {
    const [sleeper, heir] = await house().fleet(2, promptly)
    if (sleeper === undefined || heir === undefined) throw new Error('no fleet')
    const job = await sleeper.register({ schedule: '*/5 * * * * *', missed_window: 'SKIP' })
    const from = Math.floor((await house().now()) / 5_000) * 5_000
    for (let turn = 0; turn < 120; turn++) {
      await house().clock.advance(500)
      await turnOf(house(), heir)
    }
    // It still believes what it knew: the epoch refuses it, whatever it would fire.
    await sleeper.firing.runOnce()
    const rows = (await ledgerOf(house(), job)).filter(({ due }) => due <= from + 40_000)
    expect(rows.map(({ due, outcome }) => [due, outcome])).toEqual(
      [5, 10, 15, 20, 25, 30, 35, 40].map((at) => [from + at * 1000, 'success']),
    )
  })

  test('a machine that slept, database and all, wakes to the same', async () => {
    const node = await house().node(promptly)
    const jobs = await registerAll(house(), node, 2, 3)
    await house().clock.stepDatabase(hour)
    await expectAsPoliciesSay([node], jobs)
  })
})
