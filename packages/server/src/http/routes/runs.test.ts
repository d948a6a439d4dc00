import { describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts, runOf } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

async function setUp() {
  const ports = new MemoryPorts()
  const { job_id: jobId } = await ports.jobs.create(1, { name: 'report', schedule: '0 9 * * 1' })
  const runs = [1, 2].map((number) => runOf(jobId, number))
  ports.runsByJob.set(jobId, runs)
  const server = createHttpServer(httpOptions({ api: ports }))
  const send = (method: 'GET' | 'POST', path: string, payload?: object) =>
    server.inject({ method, url: `/api/v1${path}`, ...(payload !== undefined && { payload }) })
  return { ports, jobId, runId: runs[0]?.run_id ?? '', send }
}

describe('GET /api/v1/jobs/{job_id}/runs', () => {
  it('is narrowed by status and time, and the link to the next page is, too', async () => {
    const { ports, jobId, send } = await setUp()
    const filter = { status: 'dead', after: '2026-11-01T00:00:00Z', before: '2026-11-02T00:00:00Z' }
    const query = new URLSearchParams({ ...filter, limit: '1' }).toString()
    const answer = await send('GET', `/jobs/${jobId}/runs?${query}`)
    expect(answer.statusCode).toBe(200)
    expect(ports.pages.at(-1)).toEqual({ ...filter, limit: 1, cursor: null })
    const link = new URL(/<(.*)>; rel="next"/.exec(String(answer.headers['link']))?.[1] ?? '', 'http://x')
    expect(Object.fromEntries(link.searchParams)).toMatchObject({ ...filter, limit: '1' })
  })

  it('refuses a status that there is not', async () => {
    const { jobId, send } = await setUp()
    const answer = await send('GET', `/jobs/${jobId}/runs?status=done`)
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ errors: [{ pointer: 'query:status' }] })
  })
})

describe('GET /api/v1/runs', () => {
  it('is a page of runs of all jobs, or of one, narrowed', async () => {
    const { ports, jobId, runId, send } = await setUp()
    const answer = await send('GET', '/runs?limit=1&status=success')
    expect(answer.json()).toMatchObject({ data: [{ run_id: runId }], next_cursor: '1' })
    expect(ports.pages.at(-1)).toEqual({ status: 'success', limit: 1, cursor: null })
    await send('GET', `/runs?job_id=${jobId}&tag=a&tag=b&cursor=1`)
    expect(ports.pages.at(-1)).toEqual({ job_id: jobId, tags: ['a', 'b'], limit: 20, cursor: '1' })
    expect((await send('GET', '/runs?status=done')).json()).toMatchObject({
      errors: [{ pointer: 'query:status' }],
    })
  })
})

describe('/api/v1/runs/{run_id}', () => {
  it('is one run with its attempts', async () => {
    const { runId, send } = await setUp()
    expect((await send('GET', `/runs/${runId}`)).json()).toMatchObject({
      run_id: runId,
      round: 1,
      attempts: [],
    })
    const missing = await send('GET', '/runs/run_none')
    expect(missing.statusCode).toBe(404)
    expect(missing.json()).toMatchObject({ code: 'run_not_found' })
  })

  it.each([undefined, {}])('/cancel asks for it with the body %j, and takes no field', async (body) => {
    const { ports, runId, send } = await setUp()
    const answer = await send('POST', `/runs/${runId}/cancel`, body)
    expect(answer.statusCode).toBe(202)
    expect(answer.json()).toMatchObject({ run_id: runId })
    expect((await send('POST', `/runs/${runId}/cancel`, { force: true })).json()).toMatchObject({
      code: 'unknown_field',
    })
    expect(ports.changes).toEqual([{ runId, cancel: true }])
  })

  it('/retry hands over what a re-drive takes', async () => {
    const { ports, runId, send } = await setUp()
    expect((await send('POST', `/runs/${runId}/retry`, { payload: 2 })).statusCode).toBe(202)
    expect(ports.changes).toEqual([{ runId, retry: { payload: 2 } }])
  })
})
