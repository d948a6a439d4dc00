import type { Run } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { type AcrossOptions, type AcrossQuery, RunsAcross } from '../../src/pipeline/record/across.js'
import { Dice } from '../kit/dice.js'
import { die, endAll, hands } from '../kit/letters.js'
import { putRuns } from '../kit/rows.js'
import { seedsOf } from '../kit/seeds.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const iso = (ms: number) => utcText(ms)
const day = 86_400_000

function acrossOf(node: TestNode, options: Partial<AcrossOptions> = {}): RunsAcross {
  return new RunsAcross({ database: node.database, clock: house().clock, ...options })
}

async function all(
  across: RunsAcross,
  { limit = 3, ...query }: Partial<AcrossQuery> = {},
  tenant = 1,
): Promise<{ runs: Run[]; pages: number }> {
  const runs: Run[] = []
  let cursor: string | null = null
  let pages = 0
  do {
    const page = await across.list(tenant, { ...query, limit, cursor })
    expect(page.data.length).toBeLessThanOrEqual(limit)
    runs.push(...page.data)
    cursor = page.next_cursor
    pages += 1
  } while (cursor !== null)
  return { runs, pages }
}

/** A row of the ledger, as if its run had ended then. */
async function ended(
  job: { key: number },
  at: number,
  given: { outcome?: string; tenant?: number; due?: number } = {},
) {
  const { outcome = 'success', tenant = 1, due = at } = given
  await house().query(
    `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                                  epoch, partition)
     SELECT $1, $2, job, $3, 0, 0, $4::carillon.outcome, true, 0, CASE WHEN $4 = 'skipped' THEN 0 ELSE 1 END, 1, 0, partition
     FROM carillon.jobs WHERE job = $5`,
    [at, tenant, due, outcome, job.key],
  )
}

describe('the runs of all jobs', () => {
  test('are those in flight, then those that ended, the latest first', async () => {
    const node = await house().node()
    const [one, two] = [await node.register(), await node.register()]
    const now = await house().now()
    await ended(one, now - 9_000)
    await ended(two, now - 4_000)
    await putRuns(house(), one)
    await house().clock.advance(1_000)
    await putRuns(house(), two)
    const { runs } = await all(acrossOf(node))
    expect(runs.map(({ job_id, status }) => [job_id, status])).toEqual([
      [two.job_id, 'pending'],
      [one.job_id, 'pending'],
      [two.job_id, 'success'],
      [one.job_id, 'success'],
    ])
  })

  test('go on where they began, over days and over a month without any', async () => {
    const node = await house().node()
    const job = await node.register()
    const now = await house().now()
    const ends = [0, 1, 5_000, 3_600_000, day, 2 * day, 33 * day].map((ago) => now - ago)
    for (const at of ends) await ended(job, at)
    const { runs } = await all(acrossOf(node), { limit: 2 })
    expect(runs.map(({ scheduled_at }) => scheduled_at)).toEqual(ends.map(iso))
  })

  test('that ended in one millisecond are each on one page', async () => {
    const node = await house().node()
    const jobs = [await node.register(), await node.register(), await node.register()]
    const now = await house().now()
    for (const job of jobs) for (const ago of [0, 1_000, 2_000]) await ended(job, now, { due: now - ago })
    const { runs, pages } = await all(acrossOf(node), { limit: 2 })
    expect(new Set(runs.map(({ run_id }) => run_id)).size).toBe(9)
    expect(runs).toHaveLength(9)
    expect(pages).toBe(5)
  })

  test('are those of one tenant', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const [mine, foreign] = [await node.register(), await other.register(node)]
    const now = await house().now()
    await ended(mine, now)
    await ended(foreign, now, { tenant: other.key })
    await putRuns(house(), foreign)
    expect((await all(acrossOf(node))).runs.map(({ job_id }) => job_id)).toEqual([mine.job_id])
    const theirs = await all(acrossOf(node), {}, other.key)
    expect(theirs.runs.map(({ job_id, status }) => [job_id, status])).toEqual([
      [foreign.job_id, 'pending'],
      [foreign.job_id, 'success'],
    ])
  })

  test('that were re-driven are there once, as they are now', async () => {
    const node = await house().node()
    const [again, well] = [await node.register({ max_retries: 0 }), await node.register({ max_retries: 0 })]
    const [first = ''] = await die(house(), node, again)
    const [second = ''] = await die(house(), node, well)
    const { deadLetters } = hands(node)
    await deadLetters.redrive(1, first, {})
    await deadLetters.redrive(1, second, {})
    await house().clock.advance(10)
    await endAll(house(), node, well)
    const { runs } = await all(acrossOf(node))
    const statuses = runs.map(({ run_id, status }) => [run_id, status])
    expect(statuses).toHaveLength(2)
    expect(statuses).toEqual(expect.arrayContaining([[second, 'success']]))
    expect(statuses.find(([id]) => id === first)?.[1]).not.toBe('dead')
  })

  test('are narrowed by the tags that their jobs have now, all of them, on either side', async () => {
    const node = await house().node()
    const both = await node.register({ tags: ['nightly', 'team:a'] })
    const one = await node.register({ tags: ['nightly'] })
    const none = await node.register()
    const now = await house().now()
    for (const job of [both, one, none]) {
      await ended(job, now - 5_000)
      await putRuns(house(), job)
    }
    const across = acrossOf(node)
    const found = async (...tags: string[]) =>
      (await all(across, { tags, limit: 1 })).runs.map(({ job_id, status }) => `${status} ${job_id}`).sort()
    const of = (...jobs: { job_id: string }[]) =>
      jobs.flatMap(({ job_id }) => [`pending ${job_id}`, `success ${job_id}`]).sort()
    expect(await found('nightly')).toEqual(of(both, one))
    expect(await found('team:a', 'nightly')).toEqual(of(both))
    expect(await found('team')).toEqual([])
    await node.registry.edit(1, one.job_id, { tags: ['team:a'] })
    expect(await found('team:a')).toEqual(of(both, one))
    expect(await across.hasTags(1, both.key, ['team:a', 'nightly'])).toBe(true)
    expect(await across.hasTags(1, one.key, ['team:a', 'nightly'])).toBe(false)
    expect(await across.hasTags(2, both.key, ['nightly'])).toBe(false)
  })

  test('are narrowed by status, on either side', async () => {
    const node = await house().node()
    const job = await node.register()
    const now = await house().now()
    await ended(job, now - 2_000, { outcome: 'skipped' })
    await ended(job, now - 1_000)
    await putRuns(house(), job)
    const of = async (status: Run['status']) =>
      (await all(acrossOf(node), { status })).runs.map((run) => run.status)
    expect(await of('skipped')).toEqual(['skipped'])
    expect(await of('success')).toEqual(['success'])
    expect(await of('pending')).toEqual(['pending'])
    expect(await of('running')).toEqual([])
  })

  test('are narrowed by when they ended', async () => {
    const node = await house().node()
    const job = await node.register()
    const now = await house().now()
    for (const ago of [0, 10_000, 20_000, 30_000]) await ended(job, now - ago)
    const found = await all(acrossOf(node), { after: iso(now - 20_000), before: iso(now) })
    expect(found.runs.map(({ scheduled_at }) => scheduled_at)).toEqual([iso(now - 10_000), iso(now - 20_000)])
  })

  test('come in short pages where looking takes too long, and none is left out', async () => {
    const node = await house().node()
    const job = await node.register()
    const now = await house().now()
    await ended(job, now - day, { outcome: 'failed' })
    await ended(job, now - 40_000)
    const across = acrossOf(node, { budgetMs: 0 })
    const first = await across.list(1, { limit: 5, cursor: null, status: 'failed' })
    expect(first).toMatchObject({ data: [] })
    expect(first.next_cursor).not.toBeNull()
    const later = acrossOf(node)
    const rest = await later.list(1, { limit: 5, cursor: first.next_cursor, status: 'failed' })
    expect(rest.data.map(({ status }) => status)).toEqual(['failed'])
  })

  test.each([
    'eA',
    'WzAsMF0',
    Buffer.from('[2,0,0,0,0,0]').toString('base64url'),
    Buffer.from('[1,0,0,0,256,0]').toString('base64url'),
  ])('refuse %s, which is no cursor of theirs', async (cursor) => {
    const node = await house().node()
    await expect(acrossOf(node).list(1, { limit: 1, cursor })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
  })
})

describe.each(seedsOf(1, 2))('with seed %i', (seed) => {
  test('every page size gives the same runs in the same order', async () => {
    const node = await house().node()
    const dice = new Dice(seed)
    const jobs = [await node.register(), await node.register()]
    const now = await house().now()
    const made = new Set<string>()
    for (let n = 0; n < 60; n++) {
      const at = now - Math.floor(dice.random() ** 4 * 3 * day)
      const due = at - Math.floor(dice.random() * 1_000)
      const job = jobs[n % 2]
      if (job === undefined || made.has(`${n % 2}.${due}`)) continue
      made.add(`${n % 2}.${due}`)
      await ended(job, at, { due })
    }
    const whole = (await all(acrossOf(node), { limit: 1_000 })).runs.map(({ run_id }) => run_id)
    expect(whole).toHaveLength(made.size)
    for (const limit of [1, 7, 20]) {
      const paged = (await all(acrossOf(node), { limit })).runs.map(({ run_id }) => run_id)
      expect(paged).toEqual(whole)
    }
    const after = iso(now - 40_000)
    const { runs: late } = await all(acrossOf(node), { limit: 1_000, after })
    const hurried = await all(acrossOf(node, { budgetMs: 0 }), { limit: 20, after })
    expect(hurried.pages).toBeGreaterThan(10)
    expect(hurried.runs).toEqual(late)
  })
})
