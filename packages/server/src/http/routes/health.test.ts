import { describe, expect, it } from 'vitest'
import { healthy, httpOptions } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

describe('/healthz', () => {
  it('is 200 while the process works and 503 when it does not', async () => {
    const ok = await createHttpServer(httpOptions()).inject('/healthz')
    expect([ok.statusCode, ok.json()]).toEqual([200, { status: 'ok' }])
    const stuck = createHttpServer(httpOptions({ health: { ...healthy, live: () => false } }))
    const failing = await stuck.inject('/healthz')
    expect([failing.statusCode, failing.json()]).toEqual([503, { status: 'failing' }])
  })
})

describe('/readyz', () => {
  it('is 200 with the checks when all is well', async () => {
    const answer = await createHttpServer(httpOptions()).inject('/readyz')
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { status: 'ready', checks: { database: { ok: true } } },
    ])
  })

  it('is 503 with the check that fails', async () => {
    const checks = { database: { ok: false, detail: 'no answer for 3 s' } }
    const health = { ...healthy, ready: () => Promise.resolve({ ready: false, checks }) }
    const answer = await createHttpServer(httpOptions({ health })).inject('/readyz')
    expect([answer.statusCode, answer.json()]).toEqual([503, { status: 'not_ready', checks }])
  })

  it('is 503 when the check itself breaks, without saying how', async () => {
    const health = { ...healthy, ready: () => Promise.reject(new Error('password=hunter2')) }
    const answer = await createHttpServer(httpOptions({ health })).inject('/readyz')
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({ status: 'not_ready', checks: { readiness: { ok: false } } })
    expect(answer.body).not.toContain('hunter2')
  })
})

describe('/metrics', () => {
  it('passes the text and its type through', async () => {
    const answer = await createHttpServer(httpOptions()).inject('/metrics')
    expect(answer.body).toBe('carillon_runs_in_flight 0\n')
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  })
})

describe('a process without the api role', () => {
  it.each([
    ['/healthz', 200],
    ['/readyz', 200],
    ['/metrics', 200],
    ['/', 404],
    ['/api/v1/jobs', 404],
    ['/api/v1/openapi.json', 404],
  ])('answers %s with %i', async (url, status) => {
    const answer = await createHttpServer(httpOptions({ api: null })).inject(url)
    expect(answer.statusCode).toBe(status)
  })
})
