import type { Lease } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { incarnationOf } from '../../src/platform/ids.js'
import { traceparent } from '../../src/targets/signing.js'
import { RemoteApi } from '../kit/remote.js'
import { putRuns, queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const hourly = { schedule: '@every 1h' }
const refOf = ({ run_id, fencing_token }: Lease) => ({ run_id, fencing_token })

describe('a lease call', () => {
  test('answers with all that a worker needs, and who it is from now on', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register({ ...hourly, payload: { to: 'ops' }, timeout_seconds: 40 })
    await putRuns(house(), job)
    const [queued] = await queueOf(house(), job)
    const answer = await api.lease({ worker: 'billing-3' })
    expect(answer).toMatchObject({ lease_seconds: 30, heartbeat_seconds: 10 })
    const [run] = answer.data
    expect(answer.data).toHaveLength(1)
    expect(run).toMatchObject({
      job_id: job.job_id,
      job_name: job.name,
      task: 'task',
      payload: { to: 'ops' },
      scheduled_at: utcText(queued?.due ?? 0),
      attempt: 1,
      max_attempts: 9,
      catch_up: false,
      traceparent: traceparent({
        ...{ jobId: job.job_id, runId: run?.run_id ?? '', token: run?.fencing_token ?? 0 },
      }),
      timeout_seconds: 40,
      idempotency_key: `${job.job_id}:${Math.floor((queued?.due ?? 0) / 1000)}`,
    })
    const [held] = await queueOf(house(), job)
    expect(held).toMatchObject({ holder: incarnationOf(answer.worker_id), token: run?.fencing_token })
  })

  test('is never answered before the instant of a run, and at once when it comes', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register(hourly)
    await putRuns(house(), job, { availableAt: (await house().now()) + 800 })
    const call = api.call({ wait_seconds: 10 })
    let answered = false
    void call.then(() => {
      answered = true
    })
    await api.waiting(1)
    await api.look()
    await house().clock.advance(799)
    await api.look()
    expect(answered).toBe(false)
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null }])
    await house().clock.advance(1)
    await api.look()
    expect((await call).data).toHaveLength(1)
  })

  test('takes along nothing whose instant has not come, though there is room', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const [due, ahead] = [await node.register(hourly), await node.register(hourly)]
    await putRuns(house(), due)
    await putRuns(house(), ahead, { availableAt: (await house().now()) + 500 })
    expect((await api.lease({ max: 10 })).data).toMatchObject([{ job_id: due.job_id }])
    expect(await queueOf(house(), ahead)).toMatchObject([{ holder: null }])
  })

  test('waits until its time is over, and is answered with nothing then', async () => {
    const api = RemoteApi.open(house())
    const began = house().clock.monotonic()
    const { data } = await api.lease({ wait_seconds: 3 })
    expect(data).toEqual([])
    expect(house().clock.monotonic() - began).toBeGreaterThanOrEqual(3_000)
  })

  test('waits for half of the lease at most: a worker that does nothing else stays alive', async () => {
    const api = RemoteApi.open(house())
    const began = house().clock.monotonic()
    await api.lease({ wait_seconds: 30 })
    // Asked for 30 s. The clock of the test goes on in steps while the database answers.
    expect(house().clock.monotonic() - began).toBeLessThan(25_000)
  })

  test('does not wait unless it is told to', async () => {
    const api = RemoteApi.open(house())
    const began = house().clock.monotonic()
    await api.lease()
    expect(house().clock.monotonic() - began).toBeLessThan(100)
  })

  test('takes no more than asked for, and only tasks that it names', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    await putRuns(house(), await node.register(hourly), { count: 5 })
    const other = await node.register({ ...hourly, target: { type: 'task', task: 'other' } })
    const http = await node.register({ ...hourly, target: { type: 'http', url: 'http://127.0.0.1:1/' } })
    await putRuns(house(), other)
    await putRuns(house(), http)
    expect((await api.lease({ max: 3 })).data).toHaveLength(3)
    expect((await api.lease({ max: 10, tasks: ['other', 'unknown'] })).data).toMatchObject([
      { task: 'other' },
    ])
    expect((await api.lease({ max: 10, tasks: ['task', 'other'] })).data).toHaveLength(2)
    expect(await queueOf(house(), http)).toMatchObject([{ holder: null }])
  })

  test('sees only runs of its own tenant, and its worker is unknown to others', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const tenant = await Tenant.make(house())
    await putRuns(house(), await tenant.register(node, hourly))
    const mine = await api.lease()
    expect(mine.data).toEqual([])
    await putRuns(house(), await node.register(hourly), { count: 2 })
    const theirs = await api.lease({ max: 10 }, tenant.key)
    expect(theirs.data).toHaveLength(1)
    await expect(api.lease({ worker_id: mine.worker_id }, tenant.key)).rejects.toMatchObject({
      code: 'worker_not_found',
    })
    await expect(api.heartbeat({ worker_id: theirs.worker_id })).rejects.toMatchObject({
      code: 'worker_not_found',
    })
  })

  test('keeps to the cap of its tenant', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const tenant = await Tenant.make(house(), { cap: 2 })
    await putRuns(house(), await tenant.register(node, hourly), { count: 5 })
    const { worker_id, data } = await api.lease({ max: 10 }, tenant.key)
    expect(data).toHaveLength(2)
    expect((await api.lease({ worker_id, max: 10 }, tenant.key)).data).toEqual([])
    const results = data.map((run) => ({ ...refOf(run), outcome: 'success' as const }))
    await api.close({ worker_id, results }, tenant.key)
    expect(await tenant.slots()).toEqual({ taken: 0, held: 0 })
    expect((await api.lease({ worker_id, max: 10 }, tenant.key)).data).toHaveLength(2)
  })

  test('of a retry that waits for its overlap place is answered when that is free', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register(hourly)
    await house().query(
      `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                   fired_at, partition)
       SELECT $2::bigint - n, job, tenant, route, version, 1, CASE WHEN n = 2 THEN 0 ELSE -1 END, 1, 3, $2, $2, partition
       FROM carillon.jobs, generate_series(1, 2) n WHERE job = $1`,
      [job.key, await house().now()],
    )
    const first = await api.lease({ max: 10 })
    expect(first.data).toHaveLength(1)
    const next = api.call({ worker_id: first.worker_id, wait_seconds: 10, max: 10 })
    await house().clock.advance(500)
    await api.look()
    expect((await queueOf(house(), job)).filter(({ holder }) => holder !== null)).toHaveLength(1)
    const [run] = first.data as [Lease]
    await api.close({ worker_id: first.worker_id, results: [{ ...refOf(run), outcome: 'success' }] })
    expect((await api.answered(next)).data).toHaveLength(1)
  })
})

describe('many calls that wait', () => {
  test('share their looks, and a lease is tried only where something is', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register(hourly)
    const calls = Array.from({ length: 200 }, () => api.call({ wait_seconds: 15 }))
    let answered = 0
    for (const call of calls) void call.then(({ data }) => (answered += data.length))
    await api.waiting(200)
    const count = async () => (await api.metrics.remoteLooks.get()).values[0]?.value ?? 0
    for (let tenth = 0; tenth < 100; tenth++) {
      await house().clock.advance(100)
      await api.look()
    }
    expect(await count()).toBeLessThan(40)
    await putRuns(house(), job, { count: 3 })
    api.hint()
    for (let pass = 0; pass < 5; pass++) {
      await house().clock.advance(25)
      await api.look()
    }
    const leases = (await api.metrics.leased.get()).values[0]?.value ?? 0
    expect(leases).toBe(3)
    expect(answered).toBe(3)
    api.endPolls()
    await Promise.all(calls)
    expect(answered).toBe(3)
  })

  test('end at once, with nothing, when the process stops, and none waits from then on', async () => {
    const api = RemoteApi.open(house())
    const began = house().clock.monotonic()
    const calls = [api.call({ wait_seconds: 15 }), api.call({ wait_seconds: 15 })]
    await api.waiting(2)
    api.endPolls()
    for (const call of calls) expect((await call).data).toEqual([])
    await expect(api.call({ wait_seconds: 15 })).rejects.toMatchObject({ code: 'draining', status: 503 })
    expect(house().clock.monotonic()).toBe(began)
  })
})

describe('a caller that hung up', () => {
  test('while it waited is forgotten, and gets nothing', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register(hourly)
    const gone = new AbortController()
    const call = api.call({ wait_seconds: 15 }, { signal: gone.signal })
    await api.waiting(1)
    gone.abort()
    expect((await call).data).toEqual([])
    await putRuns(house(), job)
    await house().clock.advance(1_000)
    await api.look()
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 1 }])
  })

  test('before it had the answer has its runs handed back at once, without an attempt used up', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register(hourly)
    await putRuns(house(), job)
    const gone = new AbortController()
    const { data } = await api.answered(api.call({}, { signal: gone.signal }))
    expect(data).toHaveLength(1)
    gone.abort()
    await until('the run is handed back', async () => (await queueOf(house(), job))[0]?.holder === null)
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 1 }])
    expect((await api.lease()).data[0]?.fencing_token).toBeGreaterThan(data[0]?.fencing_token ?? 0)
  })
})

describe('runs whose answer was lost', () => {
  test('come back with the next lease call of their worker, which names what it holds', async () => {
    const node = await house().node()
    const [first, second] = [RemoteApi.open(house()), RemoteApi.open(house())]
    await putRuns(house(), await node.register(hourly), { count: 2 })
    const { worker_id, data } = await first.lease()
    const [kept] = data as [Lease]
    // The answer to this one never arrives: its process was killed.
    const lost = await first.lease({ worker_id, runs: [refOf(kept)] })
    expect(lost.data).toHaveLength(1)
    const again = await second.lease({ worker_id, runs: [refOf(kept)], max: 10 })
    expect(again.data).toMatchObject([{ run_id: lost.data[0]?.run_id, attempt: 1 }])
    expect(again.data[0]?.fencing_token).toBeGreaterThan(lost.data[0]?.fencing_token ?? 0)
  })

  test('come back with a heartbeat that does not name them, but not while the answer may be on its way', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register({ ...hourly, timeout_seconds: 3_600 })
    await putRuns(house(), job)
    const { worker_id } = await api.lease()
    for (let passed = 0; passed < 59; passed += 10) {
      await api.heartbeat({ worker_id, runs: [] })
      expect(await queueOf(house(), job)).toMatchObject([{ holder: incarnationOf(worker_id) }])
      await house().clock.advance(10_000)
    }
    await api.heartbeat({ worker_id, runs: [] })
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 1 }])
  })

  test('stay where they are when the worker says nothing of what it holds', async () => {
    const node = await house().node()
    const api = RemoteApi.open(house())
    const job = await node.register({ ...hourly, timeout_seconds: 3_600 })
    await putRuns(house(), job)
    const { worker_id, data } = await api.lease()
    await house().clock.advance(120_000)
    const { held } = await api.heartbeat({ worker_id })
    expect(held).toEqual(data.map(refOf))
    await api.lease({ worker_id })
    expect(await queueOf(house(), job)).toMatchObject([{ holder: incarnationOf(worker_id) }])
  })
})
