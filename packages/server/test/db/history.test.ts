import type { Run } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { incarnationName, runIdentityOf } from '../../src/platform/ids.js'
import { closeAll, lease, leaseOne, resultOf } from '../kit/attempts.js'
import { die, endAll, hands } from '../kit/letters.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const iso = (ms: number) => utcText(ms)

async function pages(node: TestNode, job: { key: number; job_id: string }, limit: number): Promise<Run[]> {
  const runs: Run[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof node.history.ofJob>> = await node.history.ofJob(
      job.key,
      job.job_id,
      {
        limit,
        cursor,
      },
    )
    expect(page.runs.length).toBeLessThanOrEqual(limit)
    runs.push(...page.runs)
    cursor = page.next_cursor
  } while (cursor !== null)
  return runs
}

describe('a run that has not ended', () => {
  const waits: [string, Parameters<typeof putRuns>[2], string][] = [
    ['staged', { availableAt: 60_000 }, 'staged'],
    ['ready', {}, 'waiting_for_worker'],
    ['that failed', { attempt: 2, availableAt: 60_000 }, 'waiting_for_retry'],
    ['whose place is taken', { attempt: 2, needPlace: true }, 'waiting_for_overlap_place'],
  ]
  test.each(waits)('and is %s says what it waits for', async (_name, options, reason) => {
    const node = await house().node()
    const job = await node.register()
    const now = await house().now()
    await putRuns(house(), job, { ...options, availableAt: now + (options?.availableAt ?? 0) })
    expect(await node.runs(job)).toMatchObject([
      { status: 'pending', reason, started_at: null, finished_at: null, attempt: options?.attempt ?? 1 },
    ])
  })

  test('because no worker serves its task says so', async () => {
    const node = await house().node()
    const job = await node.register({ target: { type: 'task', task: 'foreign' } })
    await putRuns(house(), job)
    expect(await node.runs(job)).toMatchObject([{ status: 'pending', reason: 'no_worker_for_task' }])
  })

  test('is pending while it is leased ahead, and running from its instant on', async () => {
    const node = await house().node()
    const job = await node.register()
    const now = await house().now()
    const run = await leaseOne(house(), node, job, { availableAt: now + 500 })
    expect(await node.runs(job)).toMatchObject([{ status: 'pending', reason: 'staged' }])
    await house().clock.advance(500)
    expect(await node.runs(job)).toMatchObject([
      {
        status: 'running',
        reason: null,
        started_at: iso(now + 500),
        fencing_token: run.token,
        worker: incarnationName(node.membership.incarnation),
      },
    ])
  })

  test('and is asked to cancel says so until it ends', async () => {
    const node = await house().node()
    const job = await node.register()
    await leaseOne(house(), node, job, { availableAt: (await house().now()) + 500 })
    await node.registry.delete(1, job.job_id)
    expect(await node.runs(job)).toMatchObject([{ status: 'pending', reason: 'cancel_requested' }])
  })
})

test('a run is one entry over all its attempts, and a stale result is none', async () => {
  const node = await house().node()
  const job = await node.register()
  const first = await leaseOne(house(), node, job)
  const stale = await resultOf(house(), node, first)
  await closeAll(house(), node.closer, [await resultOf(house(), node, first, { outcome: 'failed' })])
  expect(await node.runs(job)).toMatchObject([{ status: 'pending', attempt: 2, error: 'boom' }])
  await house().clock.advance(60_000)
  const [second] = await lease(node)
  if (second === undefined) throw new Error('no run')
  await closeAll(house(), node.closer, [await resultOf(house(), node, second)])
  await house().query('UPDATE carillon.ledger SET token = 1 WHERE token = $1', [first.token])
  expect(await closeAll(house(), node.closer, [stale])).toEqual(['stale'])
  expect(await ledgerOf(house(), job)).toHaveLength(3)
  expect(await node.runs(job)).toMatchObject([
    { status: 'success', attempt: 2, max_attempts: 9, result: { ok: true }, fencing_token: second.token },
  ])
})

test("a run's id is its identity", async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job)
  const [row] = await queueOf(house(), job)
  const [run] = await node.runs(job)
  expect(runIdentityOf(run?.run_id ?? '')).toEqual({
    due: row?.due,
    job: job.key,
    origin: 0,
    seq: 0,
    partition: row?.partition,
  })
  expect(run).toMatchObject({ job_id: job.job_id, scheduled_at: iso(row?.due ?? 0) })
})

test('ticks that were passed over are one entry with their range and number', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10m', missed_window: 'SKIP' })
  const first = Date.parse(job.next_run_at ?? '')
  await house().clock.advance(35 * 60_000)
  await node.beat()
  await node.firing.runOnce()
  expect(await node.runs(job)).toMatchObject([
    {
      status: 'skipped',
      reason: 'missed',
      attempt: 0,
      scheduled_at: iso(first),
      skipped_until: iso(first + 20 * 60_000),
      skipped_count: 3,
      started_at: null,
    },
  ])
})

test('of a tick that was driven again the latest round is shown', async () => {
  const node = await house().node()
  const job = await node.register()
  const run = await leaseOne(house(), node, job)
  const failure = { outcome: 'failed' as const, retryable: false }
  await closeAll(house(), node.closer, [await resultOf(house(), node, run, failure)])
  expect(await node.runs(job)).toMatchObject([{ status: 'dead' }])
  await putRuns(house(), job)
  await house().query('UPDATE carillon.queue SET due = $1, round = 1', [run.due])
  expect(await node.runs(job)).toMatchObject([{ status: 'pending' }])
  const [again] = await lease(node)
  if (again === undefined) throw new Error('no run')
  await closeAll(house(), node.closer, [await resultOf(house(), node, again)])
  expect(await node.runs(job)).toMatchObject([{ status: 'success' }])
})

describe('the pages of a history', () => {
  test.each([1, 2, 3, 7, 100])('of %i hold every run once, the latest tick first', async (limit) => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job, { count: 12 })
    const results = await Promise.all((await lease(node, 7)).map((run) => resultOf(house(), node, run)))
    await closeAll(house(), node.closer, results)
    const runs = await pages(node, job, limit)
    const dues = runs.map(({ scheduled_at }) => Date.parse(scheduled_at))
    expect(dues).toHaveLength(12)
    expect(dues).toEqual([...new Set(dues)].sort((a, b) => b - a))
    expect(runs.filter(({ status }) => status === 'success')).toHaveLength(7)
    expect(runs.filter(({ status }) => status === 'pending')).toHaveLength(5)
  })

  test('neither repeat nor lose a run that ends between two of them', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job, { count: 6 })
    const first = await node.history.ofJob(job.key, job.job_id, { limit: 3, cursor: null })
    const results = await Promise.all((await lease(node)).map((run) => resultOf(house(), node, run)))
    await closeAll(house(), node.closer, results)
    await house().clock.advance(1_000)
    await putRuns(house(), job)
    const second = await node.history.ofJob(job.key, job.job_id, { limit: 3, cursor: first.next_cursor })
    expect(second.next_cursor).toBeNull()
    const ids = [...first.runs, ...second.runs].map(({ run_id }) => run_id)
    expect(new Set(ids).size).toBe(6)
  })

  test('go over the days of the ledger', async () => {
    const node = await house().node()
    const job = await node.register()
    for (let day = 0; day < 3; day++) {
      const run = await leaseOne(house(), node, job)
      await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
      await house().clock.advance(86_400_000)
      await node.upkeep.runOnce()
    }
    expect(await pages(node, job, 2)).toHaveLength(3)
  })

  test.each(['nonsense', [], [1, 2], [1, 300, 1], [1, 1, 1, 1], ['a', 1, 1], [-1, 0, 0], [1, 0, 2 ** 31]])(
    'have no cursor %j',
    async (content) => {
      const node = await house().node()
      const job = await node.register()
      const cursor =
        typeof content === 'string' ? content : Buffer.from(JSON.stringify(content)).toString('base64url')
      // Refused at once or in the promise.
      const asked = async () => node.history.ofJob(job.key, job.job_id, { limit: 3, cursor })
      await expect(asked()).rejects.toMatchObject({ code: 'invalid_cursor' })
    },
  )
})

describe('a history that is narrowed', () => {
  test('to a status has the runs that are so now, also across pages and rounds', async () => {
    const node = await house().node()
    const job = await node.register()
    const [dead = '', again = ''] = await die(house(), node, job, [{}, {}, {}])
    await house().clock.advance(10)
    await putRuns(house(), job)
    await endAll(house(), node, job)
    await hands(node).deadLetters.redrive(1, again, {})
    const ids = async (status: 'dead' | 'pending' | 'success', cursor: string | null = null) => {
      const page = await node.history.ofJob(job.key, job.job_id, { limit: 1, cursor, status })
      return [...page.runs.map((run) => run.run_id), page.next_cursor] as const
    }
    const [latest, next] = await ids('dead')
    expect(latest).not.toBe(again)
    expect(await ids('dead', next ?? null)).toEqual([dead, null])
    expect(await ids('pending')).toEqual([again, null])
    expect(await ids('success')).toEqual([expect.stringMatching(/^run_/), null])
  })

  test('to a stretch of time has the ticks from its beginning to before its end, live ones too', async () => {
    const node = await house().node()
    const job = await node.register()
    for (let run = 0; run < 4; run++) {
      await house().clock.advance(1_000)
      await putRuns(house(), job)
      if (run < 3) await endAll(house(), node, job)
    }
    const all = (await node.runs(job)).map((run) => run.scheduled_at)
    const [fourth, third, second, first] = all as [string, string, string, string]
    const between = async (query: { after?: string; before?: string }) =>
      (await node.history.ofJob(job.key, job.job_id, { limit: 9, cursor: null, ...query })).runs.map(
        (run) => run.scheduled_at,
      )
    expect(await between({ after: second })).toEqual([fourth, third, second])
    expect(await between({ before: third })).toEqual([second, first])
    expect(await between({ after: second, before: fourth })).toEqual([third, second])
    await expect(between({ after: 'soon' })).rejects.toMatchObject({ code: 'validation_failed' })
  })

  test('says how long the last attempt took', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job)
    const now = await house().now()
    await endAll(house(), node, job, { startedAt: now - 250, finishedAt: now })
    const [run] = await node.runs(job)
    expect(run).toMatchObject({ duration_ms: 250 })
    expect((await hands(node).runs.get(1, run?.run_id ?? '')).attempts).toMatchObject([{ duration_ms: 250 }])
  })
})
