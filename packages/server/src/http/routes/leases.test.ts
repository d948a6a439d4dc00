import { request as httpRequest } from 'node:http'
import type { Lease } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { until } from '../../../test/kit/until.js'
import { createHttpServer } from '../server.js'

const url = '/api/v1/leases'
const run = { run_id: `run_${'0'.repeat(30)}`, fencing_token: 7 }

function setUp() {
  const ports = new MemoryPorts()
  return { leases: ports.leases, server: createHttpServer(httpOptions({ api: ports })) }
}

describe('leases', () => {
  it('are asked for, kept and closed by three calls', async () => {
    const { leases, server } = setUp()
    const ask = { worker: 'host-1', tasks: ['a', 'b'], max: 5, wait_seconds: 0.5, runs: [run] }
    const leased = await server.inject({ method: 'POST', url, payload: ask })
    expect(leased.statusCode).toBe(200)
    const { worker_id } = leased.json<{ worker_id: string }>()
    expect(leased.json()).toEqual({ worker_id, lease_seconds: 30, heartbeat_seconds: 10, data: [] })
    const beat = await server.inject({
      method: 'POST',
      url: `${url}/heartbeat`,
      payload: { worker_id, runs: [run] },
    })
    expect(beat.json()).toMatchObject({ held: [run], stop: [], lost: [] })
    const results = [{ ...run, outcome: 'failed', error: 'no', retryable: false, retry_after_seconds: 1.5 }]
    const closed = await server.inject({
      method: 'POST',
      url: `${url}/close`,
      payload: { worker_id, results },
    })
    expect(closed.json()).toEqual({ worker_id, alive: true, data: [{ ...run, status: 'closed' }] })
    expect(leases.asked).toEqual([
      { tenant: 1, ...ask },
      { tenant: 1, worker_id, runs: [run] },
      { tenant: 1, worker_id, results },
    ])
  })

  it.each([
    ['node_gone', 410, 'worker_gone'],
    ['node_foreign', 404, 'worker_not_found'],
  ])('of the worker %s answer %i', async (worker_id, status, code) => {
    const { server } = setUp()
    const answer = await server.inject({ method: 'POST', url, payload: { worker_id, tasks: ['a'] } })
    expect(answer.statusCode).toBe(status)
    expect(answer.json()).toMatchObject({ code, hint: expect.stringContaining('worker_id') as string })
  })

  it.each([
    ['', {}, '/tasks'],
    ['', { tasks: [] }, '/tasks'],
    ['', { tasks: [''] }, '/tasks/0'],
    ['', { tasks: ['a'], max: 101 }, '/max'],
    ['', { tasks: ['a'], max: -1 }, '/max'],
    ['', { tasks: ['a'], wait_seconds: 31 }, '/wait_seconds'],
    ['', { tasks: ['a'], wait: 3 }, '/wait'],
    ['', { tasks: ['a'], runs: [{ run_id: 'x' }] }, '/runs/0/fencing_token'],
    ['/heartbeat', { runs: [] }, '/worker_id'],
    ['/close', { worker_id: 'w', results: [{ ...run, outcome: 'done' }] }, '/results/0/outcome'],
    ['/close', { worker_id: 'w', results: [{ ...run, outcome: 'failed', why: 'x' }] }, '/results/0/why'],
    ['/close', { worker_id: 'w', results: Array(101).fill({ ...run, outcome: 'failed' }) }, '/results'],
  ])('%s refuse %j', async (path, payload, pointer) => {
    const { leases, server } = setUp()
    const answer = await server.inject({ method: 'POST', url: `${url}${path}`, payload })
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ errors: [{ pointer }] })
    expect(leases.asked).toEqual([])
  })

  it('refuse a call without a body', async () => {
    const { server } = setUp()
    const answer = await server.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.json()).toMatchObject({ code: 'malformed_json' })
  })

  it('tell the room behind when the caller hung up, and not when it has its answer', async () => {
    const { leases, server } = setUp()
    await server.listen()
    try {
      let finish: (runs: Lease[]) => void = () => undefined
      leases.answer = () => new Promise((resolve) => (finish = resolve))
      const gone = post(server.url)
      await until('the first call waits', () => leases.signals.length === 1)
      gone.destroy()
      await until('the first signal', () => leases.signals[0]?.aborted === true)
      const patient = post(server.url)
      await until('the second call waits', () => leases.signals.length === 2)
      finish([])
      const status = await new Promise((resolve) => {
        patient.on('response', (response) => {
          response.resume().on('end', () => resolve(response.statusCode))
        })
      })
      patient.destroy()
      expect(status).toBe(200)
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
      expect(leases.signals[1]?.aborted).toBe(false)
    } finally {
      await server.close()
    }
  })
})

function post(base: string) {
  const call = httpRequest(`${base}${url}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    agent: false,
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify({ tasks: ['a'], wait_seconds: 10 }))
  return call
}
