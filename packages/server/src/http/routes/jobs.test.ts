import { limits } from '@carillon/contract'
import type { LightMyRequestResponse } from 'fastify'
import { describe, expect, it } from 'vitest'
import { httpOptions, jobFrom, jobIdNumber, MemoryPorts, runOf } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

const input = { name: 'report', schedule: '0 9 * * 1', payload: { deep: [1, 'two', null] } }

function setUp() {
  const ports = new MemoryPorts()
  return { ports, server: createHttpServer(httpOptions({ api: ports })) }
}

describe('POST /api/v1/jobs', () => {
  it('hands the body over as it was sent, for the default tenant, and answers 201 with its place', async () => {
    const { ports, server } = setUp()
    const answer = await server.inject({ method: 'POST', url: '/api/v1/jobs', payload: input })
    expect(answer.statusCode).toBe(201)
    expect(answer.headers['location']).toBe(`/api/v1/jobs/${jobIdNumber(1)}`)
    expect(answer.headers['content-type']).toContain('application/json')
    expect(answer.json()).toEqual(jobFrom(input, 1))
    expect(ports.created).toEqual([{ tenant: 1, input }])
  })

  it('takes a byte order mark, a charset parameter and any JSON value as payload', async () => {
    const { ports, server } = setUp()
    for (const payload of [null, false, 0, '', [], {}, 'é😀', 1e300]) {
      const answer = await server.inject({
        method: 'POST',
        url: '/api/v1/jobs',
        headers: { 'content-type': 'application/json; charset="UTF-8"' },
        payload: `\ufeff${JSON.stringify({ ...input, payload })}`,
      })
      expect(answer.statusCode).toBe(201)
      expect(ports.created.at(-1)?.input.payload).toEqual(payload)
    }
  })

  it.each([
    { type: 'task', task: 'log' },
    { type: 'http', url: 'https://example.com/hook' },
    {
      type: 'http',
      url: 'https://example.com/hook',
      method: 'PUT',
      headers: { 'X-Key': 'a b\tc', accept: '' },
    },
  ])('takes the target %j', async (target) => {
    const { ports, server } = setUp()
    await server.inject({ method: 'POST', url: '/api/v1/jobs', payload: { ...input, target } })
    expect(ports.created[0]?.input.target).toEqual(target)
  })

  it('takes names up to the limit, counted in characters and not in code units', async () => {
    const { server } = setUp()
    const named = (name: string) =>
      server.inject({ method: 'POST', url: '/api/v1/jobs', payload: { ...input, name } })
    expect((await named('😀'.repeat(limits.name))).statusCode).toBe(201)
    expect((await named('😀'.repeat(limits.name + 1))).json()).toMatchObject({
      code: 'validation_failed',
      errors: [
        { pointer: '/name', message: `must have at most ${limits.name} characters, got ${limits.name + 1}` },
      ],
    })
  })
})

describe('GET /api/v1/jobs', () => {
  it('pages by limit and cursor, 20 at a time unless told', async () => {
    const { ports, server } = setUp()
    for (let number = 1; number <= 25; number++)
      await ports.jobs.create(1, { ...input, name: `job ${number}` })
    const first = (await server.inject('/api/v1/jobs')).json<{ data: unknown[]; next_cursor: string }>()
    expect(first.data).toHaveLength(20)
    const second = await server.inject(`/api/v1/jobs?limit=200&cursor=${first.next_cursor}`)
    expect(second.json()).toMatchObject({ data: { length: 5 }, next_cursor: null })
    expect(ports.pages).toEqual([
      { limit: 20, cursor: null },
      { limit: 200, cursor: '20' },
    ])
  })

  it('says so when the port does not know the cursor', async () => {
    const { server } = setUp()
    const answer = await server.inject('/api/v1/jobs?cursor=forged')
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ code: 'invalid_cursor' })
  })
})

describe('GET and DELETE /api/v1/jobs/:job_id', () => {
  it('reads a job, deletes it with 204 and no body, and does not find it afterwards', async () => {
    const { ports, server } = setUp()
    const { job_id: id } = await ports.jobs.create(1, input)
    const url = `/api/v1/jobs/${id}`
    expect((await server.inject(url)).json()).toMatchObject({ job_id: id, name: 'report' })
    const deleted = await server.inject({ method: 'DELETE', url })
    expect([deleted.statusCode, deleted.body]).toEqual([204, ''])
    const missing = await server.inject(url)
    expect(missing.statusCode).toBe(404)
    expect(missing.json()).toMatchObject({ code: 'job_not_found' })
  })

  it('deletes although the client announces JSON and sends none', async () => {
    const { ports, server } = setUp()
    const { job_id: id } = await ports.jobs.create(1, input)
    const headers = { 'content-type': 'application/json' }
    const answer = await server.inject({ method: 'DELETE', url: `/api/v1/jobs/${id}`, headers })
    expect(answer.statusCode).toBe(204)
  })

  it.each(['x', 'job_', '__proto__', 'JOB_00000000000000000000000001', 'job_%00', "job_1' or '1'='1"])(
    'does not find a job by the id %s, and does not ask for it',
    async (id) => {
      const { ports, server } = setUp()
      ports.jobs.get = () => Promise.reject(new Error('the port was asked'))
      const answer = await server.inject(`/api/v1/jobs/${encodeURI(id)}`)
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toMatchObject({ code: 'job_not_found' })
    },
  )
})

describe('GET /api/v1/jobs/:job_id/runs', () => {
  it('answers a plain array, with the next page in a Link header that can be followed to the end', async () => {
    const { ports, server } = setUp()
    const { job_id: id } = await ports.jobs.create(1, input)
    const all = Array.from({ length: 45 }, (_, index) => runOf(id, index))
    ports.runsByJob.set(id, all)
    const seen: unknown[] = []
    const sizes: number[] = []
    let url: string | undefined = `/api/v1/jobs/${id}/runs`
    while (url !== undefined) {
      const answer: LightMyRequestResponse = await server.inject(url)
      const page = answer.json<unknown[]>()
      seen.push(...page)
      sizes.push(page.length)
      url = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers['link'] ?? ''))?.[1]
    }
    expect(sizes).toEqual([20, 20, 5])
    expect(seen).toEqual(all)
  })

  it('puts a cursor of any characters into the Link so that it comes back unchanged', async () => {
    const { ports, server } = setUp()
    const cursor = 'a+b/c=&d>e f'
    ports.runs.listByJob = (_tenant, _id, query) => {
      ports.pages.push(query)
      return Promise.resolve({ runs: [], next_cursor: cursor })
    }
    const answer = await server.inject(`/api/v1/jobs/${jobIdNumber(1)}/runs?limit=7`)
    const next = /^<([^>]+)>/.exec(String(answer.headers['link']))?.[1] ?? ''
    await server.inject(next)
    expect(ports.pages.at(-1)).toEqual({ limit: 7, cursor })
  })

  it('takes larger pages than the list of jobs does', async () => {
    const { ports, server } = setUp()
    const { job_id: id } = await ports.jobs.create(1, input)
    expect((await server.inject(`/api/v1/jobs/${id}/runs?limit=${limits.runsPage}`)).statusCode).toBe(200)
    expect((await server.inject(`/api/v1/jobs/${id}/runs?limit=${limits.runsPage + 1}`)).statusCode).toBe(422)
    expect((await server.inject(`/api/v1/jobs?limit=${limits.page + 1}`)).statusCode).toBe(422)
  })
})
