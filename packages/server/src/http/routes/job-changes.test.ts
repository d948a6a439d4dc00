import { describe, expect, it } from 'vitest'
import { httpOptions, jobIdNumber, MemoryPorts } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

async function setUp() {
  const ports = new MemoryPorts()
  const { job_id: jobId } = await ports.jobs.create(1, { name: 'report', schedule: '0 9 * * 1' })
  const server = createHttpServer(httpOptions({ api: ports }))
  const send = (method: 'POST' | 'PATCH', path: string, payload?: object) =>
    server.inject({ method, url: `/api/v1/jobs/${jobId}${path}`, ...(payload !== undefined && { payload }) })
  return { ports, server, jobId, send }
}

describe('POST /api/v1/jobs/:job_id/pause', () => {
  it('hands over the reason and the end, and answers with the job', async () => {
    const { ports, jobId, send } = await setUp()
    const pause = { reason: 'moving house', until: '2026-12-24T00:00:00Z' }
    const answer = await send('POST', '/pause', pause)
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({ job_id: jobId })
    expect(ports.changes).toEqual([{ jobId, pause }])
  })

  it('needs no body', async () => {
    const { ports, jobId, send } = await setUp()
    expect((await send('POST', '/pause')).statusCode).toBe(200)
    expect(ports.changes).toEqual([{ jobId, pause: {} }])
  })

  it('refuses a field that it does not know, by name', async () => {
    const { ports, send } = await setUp()
    const answer = await send('POST', '/pause', { reson: 'x' })
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({
      code: 'unknown_field',
      errors: [{ pointer: '/reson', hint: 'Did you mean reason?' }],
    })
    expect(ports.changes).toEqual([])
  })
})

describe('POST /api/v1/jobs/:job_id/resume and /trigger', () => {
  it('resumes with 200 and triggers with 202 and the run', async () => {
    const { ports, jobId, send } = await setUp()
    expect((await send('POST', '/resume')).statusCode).toBe(200)
    const triggered = await send('POST', '/trigger')
    expect(triggered.statusCode).toBe(202)
    expect(triggered.json()).toMatchObject({ job_id: jobId, status: 'pending' })
    expect(triggered.json<{ run_id: string }>().run_id).toMatch(/^run_/)
    expect(ports.changes).toEqual([
      { jobId, resume: true },
      { jobId, trigger: true },
    ])
  })

  it.each(['/resume', '/trigger'])('%s takes an empty object, and no field', async (path) => {
    const { ports, send } = await setUp()
    expect((await send('POST', path, {})).statusCode).toBeLessThan(300)
    expect((await send('POST', path, { payload: 1 })).json()).toMatchObject({ code: 'unknown_field' })
    expect(ports.changes).toHaveLength(1)
  })
})

describe('PATCH /api/v1/jobs/:job_id', () => {
  it('hands over the given fields only, null included', async () => {
    const { ports, jobId, send } = await setUp()
    const patch = { schedule: '@every 5m', ends_at: null, exclude: null, overlap_policy: null, version: 3 }
    expect((await send('PATCH', '', patch)).statusCode).toBe(200)
    expect(ports.changes).toEqual([{ jobId, edit: patch }])
  })

  it.each([
    [{ name: null }, '/name', /^must be a string, got null/],
    [{ max_retries: 'three' }, '/max_retries', /^must be an integer from 0 to 100/],
    [
      { overlap_policy: 'skip' },
      '/overlap_policy',
      /^must be one of "SKIP", "ALLOW", "QUEUE", "REPLACE", got/,
    ],
    [{ timezone: '' }, '/timezone', /^must not be empty/],
    [{ target: { type: 'http' } }, '/target/url', /^is required/],
    [{ exclude: 'holidays' }, '/exclude', /^must be an array, got/],
  ])('refuses %j in plain words', async (patch, pointer, message) => {
    const { ports, send } = await setUp()
    const answer = await send('PATCH', '', patch)
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer, message: expect.stringMatching(message) as string }],
    })
    expect(ports.changes).toEqual([])
  })

  it('refuses fields that are nobody’s, and an empty body', async () => {
    const { send } = await setUp()
    expect((await send('PATCH', '', { shedule: 'x' })).json()).toMatchObject({
      code: 'unknown_field',
      errors: [{ pointer: '/shedule', hint: 'Did you mean schedule?' }],
    })
    expect((await send('PATCH', '')).json()).toMatchObject({ code: 'malformed_json' })
  })
})

it.each(['pause', 'resume', 'trigger'])('%s of a job that is not there is not found', async (what) => {
  const { server } = await setUp()
  for (const id of [jobIdNumber(99), 'x']) {
    const answer = await server.inject({ method: 'POST', url: `/api/v1/jobs/${id}/${what}` })
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toMatchObject({ code: 'job_not_found' })
  }
})
