import type { AttemptReport, JobInput, Lease } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { incarnationOf } from '../../src/platform/ids.js'
import { RemoteApi } from '../kit/remote.js'
import { countOf, ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const refOf = ({ run_id, fencing_token }: Lease) => ({ run_id, fencing_token })

/** A run of a job of its own, leased to a worker of its own. */
async function leased(input: Partial<JobInput> = {}, attempt = 1) {
  const node = await house().node()
  const api = RemoteApi.open(house())
  const job = await node.register({ schedule: '@every 1h', ...input })
  await putRuns(house(), job, { attempt })
  const { worker_id, data } = await api.lease()
  const [run] = data as [Lease]
  const close = (report: Partial<AttemptReport>) =>
    api.close({ worker_id, results: [{ ...refOf(run), outcome: 'success', ...report }] })
  return { node, api, job, worker_id, run, ref: refOf(run), close }
}

describe('a result', () => {
  test('closes its run: one final row with the worker, its token and what it said', async () => {
    const { job, close, run, worker_id } = await leased()
    await house().clock.advance(1_500)
    expect(await close({ result: { rows: 7 } })).toMatchObject({ alive: true, data: [{ status: 'closed' }] })
    const [row] = await ledgerOf(house(), job)
    expect(row).toMatchObject({
      outcome: 'success',
      final: true,
      result: { rows: 7 },
      error: null,
      token: run.fencing_token,
      worker: incarnationOf(worker_id),
    })
    expect(await countOf(house(), 'queue')).toBe(0)
  })

  test('that is sent again after a lost answer is already closed, and on record once', async () => {
    const { job, close } = await leased()
    await close({ result: 1 })
    expect((await close({ result: 1 })).data).toMatchObject([{ status: 'already_closed' }])
    expect(await ledgerOf(house(), job)).toHaveLength(1)
  })

  test('that failed is tried again after the wait that the worker asked for', async () => {
    const { job, close } = await leased()
    const now = await house().now()
    expect(
      (await close({ outcome: 'failed', error: 'no stock', retry_after_seconds: 90 })).data,
    ).toMatchObject([{ status: 'closed' }])
    const [row] = await ledgerOf(house(), job)
    expect(row).toMatchObject({ outcome: 'failed', final: false, reason: 'task_error', error: 'no stock' })
    const [next] = await queueOf(house(), job)
    expect(next).toMatchObject({ attempt: 2, holder: null, last_error: 'no stock' })
    expect((next?.available_at ?? 0) - now).toBeGreaterThanOrEqual(90_000)
  })

  test('that says that no attempt would help is a dead letter at once', async () => {
    const { job, close } = await leased()
    await close({ outcome: 'failed', error: 'no such customer', retryable: false })
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'dead', final: true, reason: 'task_non_retryable' },
    ])
    expect(await countOf(house(), 'dead_letters')).toBe(1)
  })

  test('of any size and with any characters is kept in bounds', async () => {
    const { job, close } = await leased()
    await close({ result: { text: 'x'.repeat(100_000), odd: '\ud800' } })
    const [row] = await ledgerOf(house(), job)
    expect(JSON.stringify(row?.result).length).toBeLessThan(4_096)
    expect(row?.result).toMatchObject({ note: expect.stringContaining('more than the 4096') as string })
  })

  test('keeps an error in bounds', async () => {
    const { job, close } = await leased()
    await close({ outcome: 'failed', error: `a\0b${'é'.repeat(60_000)}` })
    const [row] = await ledgerOf(house(), job)
    expect(Buffer.byteLength(row?.error ?? '')).toBeLessThanOrEqual(4_096)
    expect(row?.error?.startsWith('a\uFFFDb')).toBe(true)
  })

  test.each([
    ['2020-01-01T00:00:00Z', 0],
    ['2099-01-01T00:00:00Z', 2_000],
    [undefined, 0],
  ])(
    'dates its start between the lease and now, whatever the clock of the worker says: %s',
    async (said, after) => {
      const { job, close, run } = await leased()
      const leasedAt = Date.parse(run.timeout_at) - run.timeout_seconds * 1000
      await house().clock.advance(2_000)
      await close(said === undefined ? {} : { started_at: said })
      const [row] = await ledgerOf(house(), job)
      expect(Math.abs((row?.started_at ?? 0) - leasedAt - after)).toBeLessThan(100)
    },
  )

  test('is refused as a whole where a run does not exist or is of another tenant, and nothing is done', async () => {
    const { node, api, worker_id, ref, job } = await leased()
    const tenant = await Tenant.make(house())
    await putRuns(house(), await tenant.register(node, { schedule: '@every 1h' }))
    const [foreign] = (await api.lease({}, tenant.key)).data as [Lease]
    for (const run_id of [foreign.run_id, `run_${'0'.repeat(30)}`, 'nonsense']) {
      const results = [
        { ...ref, outcome: 'success' as const },
        { run_id, fencing_token: foreign.fencing_token, outcome: 'success' as const },
      ]
      await expect(api.close({ worker_id, results })).rejects.toMatchObject({
        code: 'run_not_found',
        errors: [{ pointer: '/results/1/run_id' }],
      })
    }
    expect(await ledgerOf(house(), job)).toEqual([])
    await expect(
      api.close({ worker_id, results: [{ ...ref, outcome: 'success', started_at: 'yesterday' }] }),
    ).rejects.toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/results/0/started_at' }] })
  })

  test('of another worker, or under another token, closes nothing and is kept as stale', async () => {
    const { api, job, ref, worker_id } = await leased()
    const other = await api.lease()
    const theirs = await api.close({
      worker_id: other.worker_id,
      results: [{ ...ref, outcome: 'success', result: 'not mine' }],
    })
    expect(theirs.data).toMatchObject([{ status: 'stale' }])
    const wrong = { ...ref, fencing_token: ref.fencing_token + 1_000, outcome: 'success' as const }
    expect((await api.close({ worker_id, results: [wrong] })).data).toMatchObject([{ status: 'stale' }])
    expect(await queueOf(house(), job)).toMatchObject([{ holder: incarnationOf(worker_id) }])
    expect((await ledgerOf(house(), job)).map(({ outcome }) => outcome)).toEqual(['stale', 'stale'])
  })

  test('many of one call are closed each by itself', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register({ schedule: '@every 1h' })
    await putRuns(house(), job, { count: 30 })
    const { worker_id, data } = await api.lease({ max: 100 })
    const results = data.map((run, at) => ({
      ...refOf(run),
      outcome: (['success', 'failed', 'released'] as const)[at % 3] ?? 'failed',
    }))
    const answer = await api.close({ worker_id, results })
    expect(answer.data.map(({ status }) => status)).toEqual(
      data.map((_, at) => (at % 3 === 2 ? 'released' : 'closed')),
    )
    expect(await countOf(house(), 'queue')).toBe(20)
    expect(await countOf(house(), 'ledger')).toBe(20)
  })
})

describe('a release', () => {
  test('hands back what was not begun: the same attempt, at once', async () => {
    const { api, job, close, worker_id } = await leased()
    expect((await close({ outcome: 'released' })).data).toMatchObject([{ status: 'released' }])
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 1 }])
    expect(await ledgerOf(house(), job)).toEqual([])
    expect((await api.lease({ worker_id })).data).toHaveLength(1)
  })

  test('of what is no longer held is stale', async () => {
    const { close } = await leased()
    await close({ outcome: 'success' })
    expect((await close({ outcome: 'released' })).data).toMatchObject([{ status: 'stale' }])
  })
})

describe('a worker that leaves', () => {
  test('is gone at once, and what it still held is taken back without a wait', async () => {
    const { node, api, job, worker_id } = await leased()
    expect(await api.close({ worker_id, results: [], leave: true })).toMatchObject({ alive: false })
    await expect(api.heartbeat({ worker_id })).rejects.toMatchObject({ code: 'worker_gone', status: 410 })
    await expect(api.lease({ worker_id })).rejects.toMatchObject({ code: 'worker_gone' })
    await node.rescue.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 2 }])
  })
})

describe('a run that its worker cut short while it shut down', () => {
  test('is handed back, with the attempt that it had', async () => {
    const { job, close } = await leased({}, 2)
    expect((await close({ outcome: 'interrupted' })).data).toMatchObject([{ status: 'released' }])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
    expect(await ledgerOf(house(), job)).toEqual([])
  })

  test('is a dead letter where its job must never run twice', async () => {
    const { job, close } = await leased({ on_lost: 'fail', max_retries: 5 })
    expect((await close({ outcome: 'interrupted', error: 'deploy' })).data).toMatchObject([
      { status: 'closed' },
    ])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'dead', final: true, reason: 'worker_stopped', error: 'deploy' },
    ])
    expect(await queueOf(house(), job)).toEqual([])
  })

  test('is cancelled where it had been told to stop', async () => {
    const { job, close } = await leased()
    await house().query(
      'UPDATE carillon.queue SET cancel_requested = true, stop_requested = true WHERE job = $1',
      [job.key],
    )
    expect((await close({ outcome: 'interrupted' })).data).toMatchObject([{ status: 'closed' }])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'cancelled', final: true }])
  })

  test('that is no longer its own is not its to hand back', async () => {
    const { job, close } = await leased()
    await house().query('UPDATE carillon.queue SET token = token + 1 WHERE job = $1', [job.key])
    expect((await close({ outcome: 'interrupted' })).data).toMatchObject([{ status: 'stale' }])
  })
})
