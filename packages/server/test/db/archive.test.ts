import { describe, expect, test } from 'vitest'
import { closeAll, leaseOne, resultOf } from '../kit/attempts.js'
import { Gate } from '../kit/gate.js'
import { ledgerOf, queueOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const hour = 3_600_000
const day = 24 * hour

async function ledgerDays(): Promise<string[]> {
  const rows = await house().query<{ name: string }>(
    `SELECT substr(relname, 8) AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
     WHERE inhparent = 'carillon.ledger'::regclass AND relname <> 'ledger_default' ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

/** Days from today, as their partitions are named. */
async function daysFromToday(...offsets: number[]): Promise<string[]> {
  const now = await house().now()
  return offsets.map((offset) => new Date(now + offset * day).toISOString().slice(0, 10).replaceAll('-', ''))
}

async function succeed(node: TestNode, job: { key: number }): Promise<void> {
  const run = await leaseOne(house(), node, job)
  await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
}

/** Ended one-off with its run in the state given. */
async function endedOneOff(node: TestNode) {
  const job = await node.register({ schedule: utcText((await house().now()) + 1_000) })
  await house().clock.advance(1_000)
  await node.beat()
  await node.firing.runOnce()
  const [run] = await node.leasing.lease(node.membership.incarnation, 10)
  if (run === undefined) throw new Error('no run')
  return { job, run }
}

async function stateOf(job: { key: number }): Promise<string | undefined> {
  const [row] = await house().query<{ state: string }>('SELECT state FROM carillon.jobs WHERE job = $1', [
    job.key,
  ])
  return row?.state
}

describe('the days of the ledger', () => {
  test('are made ahead: yesterday, today and a week', async () => {
    const node = await house().node()
    await house().clock.advance(20 * day)
    await node.upkeep.runOnce()
    expect(await ledgerDays()).toEqual(
      expect.arrayContaining(await daysFromToday(-1, 0, 1, 2, 3, 4, 5, 6, 7)),
    )
  })

  test('are as they were after a second pass', async () => {
    const node = await house().node()
    await node.upkeep.runOnce()
    const before = await ledgerDays()
    await node.upkeep.runOnce()
    expect(await ledgerDays()).toEqual(before)
  })

  test('are made once by processes that come at once, and none of them fails', async () => {
    const fleet = await house().fleet(3)
    await house().clock.advance(20 * day)
    await Promise.all([...fleet, ...fleet].map(({ upkeep }) => upkeep.runOnce()))
    expect(await ledgerDays()).toEqual(expect.arrayContaining(await daysFromToday(-1, 0, 7)))
  })

  test('take the rows in that had no day when they were written', async () => {
    const node = await house().node()
    await house().clock.advance(30 * day)
    const job = await node.register()
    await succeed(node, job)
    const inDefault = () => house().query('SELECT job FROM carillon.ledger_default')
    expect(await inDefault()).toEqual([{ job: job.key }])
    const before = await ledgerOf(house(), job)
    await node.upkeep.runOnce()
    expect(await inDefault()).toEqual([])
    expect(await ledgerOf(house(), job)).toEqual(before)
    const [today] = await daysFromToday(0)
    expect(
      await house().query(
        'SELECT relname FROM carillon.ledger l JOIN pg_class c ON c.oid = l.tableoid WHERE job = $1',
        [job.key],
      ),
    ).toEqual([{ relname: `ledger_${today}` }])
  })

  test('are made although a row without a day is just being written', async () => {
    const node = await house().node()
    await house().clock.advance(30 * day)
    // Yesterday is there, as after eight days of silence: today is the first that is missing.
    await house().query('SELECT carillon.make_ledger_day($1)', [(await daysFromToday(-1))[0]])
    const job = await node.register()
    const run = await leaseOne(house(), node, job)
    const gate = await Gate.closeBefore(house(), 'INSERT', 'ledger_default')
    const closed = closeAll(house(), node.closer, [await resultOf(house(), node, run)])
    await house().lockWaits(1)
    let ended = false
    const upkeep = node.upkeep.runOnce().finally(() => {
      ended = true
    })
    // It waits only for a moment: on a busy machine it may have given way before anybody saw it wait.
    await until('the upkeep waits or has given way', async () => ended || (await house().lockWaiters()) === 2)
    await gate.open()
    expect(await closed).toEqual(['closed'])
    await upkeep
    await node.upkeep.runOnce()
    expect(await ledgerDays()).toEqual(expect.arrayContaining(await daysFromToday(-1, 0, 7)))
    expect(await ledgerOf(house(), job)).toHaveLength(1)
    expect(await house().query('SELECT FROM carillon.ledger_default')).toEqual([])
  })

  test('are dropped when the retention is over, and not a day before', async () => {
    const node = await house().node()
    await house().clock.advance(10 * day)
    await node.upkeep.runOnce()
    const job = await node.register()
    await succeed(node, job)
    const [writtenOn] = await daysFromToday(0)
    await house().clock.advance(90 * day)
    await node.upkeep.runOnce()
    expect(await ledgerDays()).toContain(writtenOn)
    expect(await ledgerOf(house(), job)).toHaveLength(1)
    await house().clock.advance(day)
    await node.upkeep.runOnce()
    expect(await ledgerDays()).not.toContain(writtenOn)
    expect(await ledgerOf(house(), job)).toEqual([])
    expect((await ledgerDays())[0]).toBe((await daysFromToday(-90))[0] ?? '')
  })

  test('that are being read are left for later, and hold up no close', async () => {
    const node = await house().node()
    await house().clock.advance(100 * day)
    const job = await node.register()
    const run = await leaseOne(house(), node, job)
    const result = await resultOf(house(), node, run)
    const reader = await house().session()
    await reader.query('BEGIN')
    await reader.query('SELECT count(*) FROM carillon.ledger')
    const [, answers] = await Promise.all([node.upkeep.runOnce(), closeAll(house(), node.closer, [result])])
    expect(answers).toEqual(['closed'])
    await reader.query('COMMIT')
    await node.upkeep.runOnce()
    expect(await ledgerDays()).toEqual(expect.arrayContaining(await daysFromToday(-1, 0, 7)))
    expect((await ledgerDays())[0]).toBe((await daysFromToday(-1))[0])
  })
})

describe('a one-off that has ended', () => {
  test('is collected after 24 hours: the job is not found, its runs still answer', async () => {
    const node = await house().node()
    const { job, run } = await endedOneOff(node)
    await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
    await house().clock.advance(day - 1)
    await node.upkeep.runOnce()
    expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'ended' })
    await house().clock.advance(1)
    await node.upkeep.runOnce()
    await expect(node.registry.get(1, job.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
    expect((await node.registry.list(1, { limit: 10, cursor: null })).data).toEqual([])
    expect(await house().query('SELECT FROM carillon.timers WHERE job = $1', [job.key])).toEqual([])
    const [row] = await house().query('SELECT state, definition FROM carillon.jobs WHERE job = $1', [job.key])
    expect(row).toEqual({ state: 'collected', definition: null })
    expect(await node.registry.find(1, job.job_id)).toBe(job.key)
    expect(await node.runs(job)).toMatchObject([{ status: 'success', job_id: job.job_id }])
  })

  test('is kept while its run is in flight', async () => {
    const node = await house().node()
    const { job, run } = await endedOneOff(node)
    await house().clock.advance(2 * day)
    await node.upkeep.runOnce()
    expect(await stateOf(job)).toBe('ended')
    await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
    await node.upkeep.runOnce()
    expect(await stateOf(job)).toBe('collected')
  })

  test('is kept while it has a dead letter', async () => {
    const node = await house().node()
    const { job, run } = await endedOneOff(node)
    const failure = { outcome: 'failed' as const, retryable: false }
    await closeAll(house(), node.closer, [await resultOf(house(), node, run, failure)])
    await house().clock.advance(2 * day)
    await node.upkeep.runOnce()
    expect(await stateOf(job)).toBe('ended')
    await house().query('DELETE FROM carillon.dead_letters WHERE job = $1', [job.key])
    await node.upkeep.runOnce()
    expect(await stateOf(job)).toBe('collected')
  })

  test('that somebody is just deleting is left for later', async () => {
    const node = await house().node()
    const { job, run } = await endedOneOff(node)
    await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
    await house().clock.advance(day)
    const deleter = await house().session()
    await deleter.query('BEGIN')
    await deleter.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [job.key])
    await node.upkeep.runOnce()
    expect(await stateOf(job)).toBe('ended')
    await deleter.query('ROLLBACK')
    await node.upkeep.runOnce()
    expect(await stateOf(job)).toBe('collected')
  })
})

test('a deleted job is collected like a one-off; one that lives is not', async () => {
  const node = await house().node()
  const [deleted, living] = [await node.register(), await node.register({ schedule: '@every 1h' })]
  await node.registry.delete(1, deleted.job_id)
  await house().clock.advance(day)
  await node.upkeep.runOnce()
  expect(await stateOf(deleted)).toBe('collected')
  expect(await stateOf(living)).toBe('active')
  expect(await queueOf(house(), living)).toEqual([])
})

test('a collected job is forgotten when its last run has left the ledger', async () => {
  const node = await house().node()
  const job = await node.register()
  await node.registry.delete(1, job.job_id)
  await house().clock.advance(day)
  await node.upkeep.runOnce()
  await house().clock.advance(90 * day - 1)
  await node.upkeep.runOnce()
  expect(await stateOf(job)).toBe('collected')
  await house().clock.advance(1)
  await node.upkeep.runOnce()
  expect(await stateOf(job)).toBeUndefined()
})

test('a process is forgotten long after its end, and only when its runs were taken back', async () => {
  const node = await house().node()
  const ended = await house().now()
  await house().query(
    `INSERT INTO carillon.incarnations (incarnation, host, pid, roles, code_version, state, ended_at, rescued_at)
     VALUES (1, 'a', 1, '{worker}', 't', 'dead', $1, $1), (2, 'a', 2, '{worker}', 't', 'dead', $1, NULL),
            (3, 'a', 3, '{scheduler}', 't', 'left', $1, NULL)`,
    [ended],
  )
  const left = async () =>
    (
      await house().query<{ incarnation: number }>(
        'SELECT incarnation FROM carillon.incarnations WHERE incarnation < 10 ORDER BY 1',
      )
    ).map(({ incarnation }) => incarnation)
  await house().clock.advance(91 * day - 1)
  await node.upkeep.runOnce()
  expect(await left()).toEqual([1, 2, 3])
  await house().clock.advance(1)
  await node.upkeep.runOnce()
  expect(await left()).toEqual([2])
})
