import type { JobInput, Lease } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { incarnationOf } from '../../src/platform/ids.js'
import { RemoteApi } from '../kit/remote.js'
import { countOf, ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const refOf = ({ run_id, fencing_token }: Lease) => ({ run_id, fencing_token })

async function leased(input: Partial<JobInput> = {}) {
  const node = await house().node()
  const api = RemoteApi.open(house())
  const job = await node.register({ schedule: '@every 1h', ...input })
  await putRuns(house(), job)
  await api.watchOnce()
  const { worker_id, data } = await api.lease()
  const [run] = data as [Lease]
  await api.watchOnce()
  return { node, api, job, worker_id, run }
}

describe('a silent worker', () => {
  test('is dead after the run lease, and its runs come back with a larger token and the same key', async () => {
    const { node, api, job, worker_id, run } = await leased()
    await api.silence(29_000)
    await node.rescue.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ holder: incarnationOf(worker_id) }])
    await api.silence(2_000)
    await node.rescue.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 2 }])
    const [again] = (await api.lease()).data as [Lease]
    expect(again).toMatchObject({ run_id: run.run_id, idempotency_key: run.idempotency_key, attempt: 2 })
    expect(again.fencing_token).toBeGreaterThan(run.fencing_token)
  })

  test('learns that it is dead, and its result is stale, kept, and without effect', async () => {
    const { node, api, job, worker_id, run } = await leased()
    await api.silence(32_000)
    await node.rescue.runOnce()
    const results = [{ ...refOf(run), outcome: 'success' as const, result: 'too late' }]
    expect(await api.close({ worker_id, results })).toMatchObject({
      alive: false,
      data: [{ status: 'stale' }],
    })
    await expect(api.heartbeat({ worker_id })).rejects.toMatchObject({ code: 'worker_gone' })
    await expect(api.lease({ worker_id })).rejects.toMatchObject({ code: 'worker_gone' })
    const rows = await ledgerOf(house(), job)
    expect(rows).toMatchObject([
      { outcome: 'failed', reason: 'worker_lost', final: false, attempt: 1 },
      { outcome: 'stale', final: false, attempt: 1, result: 'too late', token: run.fencing_token },
    ])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
  })

  test('stays alive by every call that it makes', async () => {
    const { node, api, job, worker_id, run } = await leased({ timeout_seconds: 3_600 })
    for (const call of [
      () => api.heartbeat({ worker_id }),
      () => api.lease({ worker_id, tasks: ['something else'] }),
      () => api.close({ worker_id, results: [] }),
    ]) {
      await api.silence(25_000)
      await call()
      await api.watchOnce()
    }
    await api.silence(25_000)
    await node.rescue.runOnce()
    expect((await api.heartbeat({ worker_id, runs: [refOf(run)] })).held).toEqual([refOf(run)])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 1 }])
  })

  test('is not killed by a step of the clock of the database', async () => {
    const { api, worker_id } = await leased({ timeout_seconds: 3_600 })
    await house().clock.stepDatabase(600_000)
    await api.watchOnce()
    await api.silence(5_000)
    expect(await api.heartbeat({ worker_id })).toMatchObject({ worker_id })
  })

  test('of a job that must never run twice has its run recorded as lost', async () => {
    const { node, api, job } = await leased({ on_lost: 'fail' })
    await api.silence(32_000)
    await node.rescue.runOnce()
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'dead', final: true, reason: 'worker_lost' },
    ])
    expect(await countOf(house(), 'dead_letters')).toBe(1)
  })

  test('leases nothing more once it was declared dead, whatever was on its way', async () => {
    const { node, api, worker_id } = await leased()
    const job = await node.register({ schedule: '@every 1h', target: { type: 'task', task: 'other' } })
    const call = api.call({ worker_id, tasks: ['other'], wait_seconds: 10 })
    await api.waiting(1)
    await house().query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
      [incarnationOf(worker_id)],
    )
    await putRuns(house(), job)
    api.hint()
    expect((await api.answered(call, 100)).data).toEqual([])
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null }])
  })
})

describe('an attempt that goes over the time of its job', () => {
  test('is ended as failed (timeout), tried again by its policy, and what its worker says later is stale', async () => {
    const { api, job, worker_id, run } = await leased({ timeout_seconds: 40 })
    await house().clock.advance(41_500)
    await api.heartbeat({ worker_id, runs: [refOf(run)] })
    await api.endOverdue()
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 1, holder: incarnationOf(worker_id) }])
    await house().clock.advance(1_000)
    await api.endOverdue()
    const [next] = await queueOf(house(), job)
    expect(next).toMatchObject({ attempt: 2, holder: null })
    expect(await ledgerOf(house(), job)).toMatchObject([
      {
        outcome: 'failed',
        reason: 'timeout',
        final: false,
        error: 'no result within 40 s from the worker that had it',
      },
    ])
    const beat = await api.heartbeat({ worker_id, runs: [refOf(run)] })
    expect(beat).toMatchObject({ held: [], stop: [], lost: [refOf(run)] })
    const late = await api.close({ worker_id, results: [{ ...refOf(run), outcome: 'success' }] })
    expect(late).toMatchObject({ alive: true, data: [{ status: 'stale' }] })
    expect((await ledgerOf(house(), job)).map(({ outcome }) => outcome)).toEqual(['failed', 'stale'])
  })

  test('has five minutes where the job says nothing of it', async () => {
    const { api, job, worker_id, run } = await leased()
    await house().clock.advance(300_000)
    await api.heartbeat({ worker_id, runs: [refOf(run)] })
    await api.endOverdue()
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 1, holder: incarnationOf(worker_id) }])
    await house().clock.advance(5_000)
    await api.endOverdue()
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
  })

  test('is ended once, also when two processes notice it', async () => {
    const { api, job } = await leased({ timeout_seconds: 10, max_retries: 0 })
    const other = RemoteApi.open(house())
    await house().query('UPDATE carillon.queue SET max_attempts = 1')
    await house().clock.advance(12_500)
    await Promise.all([api.endOverdue(), other.endOverdue(), api.endOverdue()])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'dead', final: true, reason: 'timeout' }])
    expect(await countOf(house(), 'dead_letters')).toBe(1)
    expect(await countOf(house(), 'queue')).toBe(0)
  })

  test('is not touched while its worker has time, nor are runs of workers in the fleet', async () => {
    const { node, api, job } = await leased({ timeout_seconds: 40 })
    const own = await node.register({
      schedule: '@every 1h',
      timeout_seconds: 1,
      target: { type: 'task', task: 'task' },
    })
    await putRuns(house(), own)
    await node.leasing.lease(node.membership.incarnation, 10)
    await house().clock.advance(39_000)
    await api.endOverdue()
    expect(await countOf(house(), 'ledger')).toBe(0)
    expect((await queueOf(house(), job))[0]?.holder).not.toBeNull()
    expect((await queueOf(house(), own))[0]?.holder).toBe(node.membership.incarnation)
  })

  test('counts anew for a run that was handed back and leased by a worker of the fleet', async () => {
    const { node, api, job, worker_id, run } = await leased({ timeout_seconds: 10 })
    await api.close({ worker_id, results: [{ ...refOf(run), outcome: 'released' }] })
    await node.leasing.lease(node.membership.incarnation, 10)
    await house().clock.advance(60_000)
    await api.endOverdue()
    expect(await queueOf(house(), job)).toMatchObject([{ holder: node.membership.incarnation, attempt: 1 }])
  })

  test('whose worker says itself that it ran out of time has that as its reason', async () => {
    const { api, job, worker_id, run } = await leased({ timeout_seconds: 10 })
    await house().clock.advance(10_500)
    await api.close({ worker_id, results: [{ ...refOf(run), outcome: 'failed', error: 'out of time' }] })
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'failed', reason: 'timeout', error: 'out of time' },
    ])
  })
})

describe('a run that is replaced', () => {
  test('is named to its worker, and ends as cancelled when the worker obeys', async () => {
    const { api, job, worker_id, run } = await leased({ overlap_policy: 'REPLACE' })
    expect((await api.heartbeat({ worker_id })).stop).toEqual([])
    await house().query('UPDATE carillon.queue SET slot = 0, places = 1, cancel_requested = true')
    await house().query(
      `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                   fired_at, partition)
       SELECT due + 1, job, tenant, route, version, epoch, -1, 1, 3, available_at, fired_at, partition FROM carillon.queue`,
    )
    const beat = await api.heartbeat({ worker_id, runs: [refOf(run)] })
    expect(beat).toMatchObject({ held: [], lost: [], stop: [{ ...refOf(run), reason: 'replaced' }] })
    const results = [{ ...refOf(run), outcome: 'failed' as const, error: 'stopped' }]
    expect((await api.close({ worker_id, results })).data).toMatchObject([{ status: 'closed' }])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'replaced' },
    ])
    expect((await api.lease({ worker_id })).data).toHaveLength(1)
  })

  test('or that a person cancelled is named with its reason, and a result that is there all the same counts', async () => {
    const { api, job, worker_id, run } = await leased()
    await house().query('UPDATE carillon.queue SET cancel_requested = true, stop_requested = true')
    expect((await api.heartbeat({ worker_id })).stop).toEqual([{ ...refOf(run), reason: 'cancel_requested' }])
    await api.close({ worker_id, results: [{ ...refOf(run), outcome: 'success', result: 'done' }] })
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true, result: 'done' }])
  })

  test('and ends by failing is cancelled, not tried again and no dead letter', async () => {
    const { api, job, worker_id, run } = await leased()
    await house().query('UPDATE carillon.queue SET cancel_requested = true, stop_requested = true')
    await api.close({ worker_id, results: [{ ...refOf(run), outcome: 'failed', error: 'stopped' }] })
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancel_requested' },
    ])
    expect([await countOf(house(), 'queue'), await countOf(house(), 'dead_letters')]).toEqual([0, 0])
  })

  test('is not told to stop because its job was paused', async () => {
    const { api, worker_id, run } = await leased()
    await house().query('UPDATE carillon.queue SET cancel_requested = true')
    expect(await api.heartbeat({ worker_id })).toMatchObject({ held: [refOf(run)], stop: [] })
  })
})

describe('workers over HTTP in the fleet', () => {
  test('serve their tasks for their own tenant, and are no peers of its processes', async () => {
    const node = await house().node({ tasks: [] })
    const api = RemoteApi.open(house())
    const tenant = await Tenant.make(house())
    const job = await node.register({ schedule: '@every 1h' })
    const theirs = await tenant.register(node, { schedule: '@every 1h' })
    const served = async (of: number, id: string) => (await node.registry.get(of, id)).warnings.length === 0
    expect(await served(1, job.job_id)).toBe(false)
    await api.lease()
    await node.beat()
    expect(await served(1, job.job_id)).toBe(true)
    expect(await served(tenant.key, theirs.job_id)).toBe(false)
    expect(node.membership.live('worker')).toEqual([node.membership.incarnation])
    expect(node.ownership.current()).toHaveLength(256)
  })

  test('are forgotten an hour after their end, once they hold nothing', async () => {
    const { node, api, worker_id } = await leased()
    const count = async () =>
      (await house().query('SELECT FROM carillon.incarnations WHERE tenant IS NOT NULL')).length
    await api.close({ worker_id, results: [], leave: true })
    await house().clock.advance(3_600_001)
    await node.upkeep.runOnce()
    expect(await count()).toBe(1)
    await node.rescue.runOnce()
    await node.upkeep.runOnce()
    expect(await count()).toBe(0)
  })

  test('that are silent are no deaths of peers: their processes do not look at them', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    await api.lease()
    for (let passed = 0; passed < 60; passed += 5) {
      await house().clock.advance(5_000)
      await node.beat()
    }
    const rows = await house().query<{ state: string }>(
      'SELECT state FROM carillon.incarnations WHERE tenant IS NOT NULL',
    )
    expect(rows).toEqual([{ state: 'alive' }])
  })
})
