import type { Brake, Problem } from '@carillon/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { httpOptions, jobIdNumber, MemoryPorts } from '../../../test/kit/http-ports.js'
import { createHttpServer, type HttpServer } from '../server.js'

let ports: MemoryPorts
let server: HttpServer
beforeEach(() => {
  ports = new MemoryPorts()
  server = createHttpServer(httpOptions({ api: ports }))
})

async function refusalOf(method: 'GET' | 'PUT', url: string, payload?: object) {
  const answer = await server.inject({ method, url, ...(payload === undefined ? {} : { payload }) })
  expect(answer.headers['content-type']).toBe('application/problem+json')
  return answer.json<Problem>()
}

describe('GET /jobs/{id}/why', () => {
  it('asks about the very text that was sent, and gives the answer as it is', async () => {
    const at = '2026-11-02T10:00:00+01:00'
    const id = jobIdNumber(1)
    const answer = await server.inject(`/api/v1/jobs/${id}/why?at=${encodeURIComponent(at)}`)
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({ job_id: id, verdict: 'skipped', attempts: [], replay: null })
    expect(ports.account.asked).toEqual([{ tenant: 1, jobId: id, at }])
  })

  it.each([
    ['/why', 'query:at', 'is required'],
    ['/why?at=', 'query:at', 'must not be empty'],
    ['/why?at=x&when=y', 'query:when', 'is not a known field'],
  ])('refuses %s', async (rest, pointer, message) => {
    const { status, errors } = await refusalOf('GET', `/api/v1/jobs/${jobIdNumber(1)}${rest}`)
    expect(status).toBe(422)
    expect(errors).toMatchObject([{ pointer, message }])
  })

  it('says that there is no such job', async () => {
    const { status, code } = await refusalOf('GET', `/api/v1/jobs/${jobIdNumber(9)}/why?at=x`)
    expect({ status, code }).toEqual({ status: 404, code: 'job_not_found' })
    expect(await refusalOf('GET', '/api/v1/jobs/nonsense/why?at=x')).toMatchObject({ code: 'job_not_found' })
  })
})

describe('GET /verify', () => {
  it('passes range, job and cursor on, and gives the numbers', async () => {
    const answer = await server.inject('/api/v1/verify?from=a&to=b&job_id=job_x&cursor=c')
    expect(answer.json()).toMatchObject({
      expected: 10,
      ran: 4,
      unaccounted: 0,
      doubled: 0,
      next_cursor: null,
    })
    expect(ports.account.asked).toEqual([{ tenant: 1, from: 'a', to: 'b', jobId: 'job_x', cursor: 'c' }])
  })

  it('refuses a range without a beginning', async () => {
    expect((await refusalOf('GET', '/api/v1/verify?to=a')).errors).toMatchObject([{ pointer: 'query:from' }])
    expect(ports.account.asked).toEqual([])
  })
})

describe('the brake', () => {
  const input = { catch_up_factor: 0.5, reason: 'slow', for_seconds: 60 }

  it('is null, then set, then taken off', async () => {
    const brake = async () => (await server.inject('/api/v1/brake')).json<{ brake: Brake | null }>().brake
    expect(await brake()).toBeNull()
    const set = await server.inject({ method: 'PUT', url: '/api/v1/brake', payload: input })
    expect(set.statusCode).toBe(200)
    expect(set.json()).toMatchObject({ catch_up_factor: 0.5, reason: 'slow' })
    expect(await brake()).toMatchObject({ reason: 'slow' })
    const off = await server.inject({ method: 'DELETE', url: '/api/v1/brake' })
    expect([off.statusCode, off.body]).toEqual([204, ''])
    expect(await brake()).toBeNull()
  })

  it.each([
    ['no reason', { for_seconds: 60, catch_up_factor: 0 }, '/reason'],
    ['a window factor below one', { ...input, window_factor: 0 }, '/window_factor'],
    ['a catch-up factor above one', { ...input, catch_up_factor: 2 }, '/catch_up_factor'],
    ['a time beyond a week', { ...input, for_seconds: 1e9 }, '/for_seconds'],
    ['a field that there is not', { ...input, minutes: 5 }, '/minutes'],
  ])('is refused with %s', async (_what, payload, pointer) => {
    expect((await refusalOf('PUT', '/api/v1/brake', payload)).errors).toMatchObject([{ pointer }])
    expect(ports.account.current).toBeNull()
  })
})

describe('the fleet', () => {
  it('is shown at one moment', async () => {
    expect((await server.inject('/api/v1/cluster')).json()).toMatchObject({
      nodes: [],
      unowned: 0,
      brake: null,
    })
  })

  it('lists events, all or those that go on, so many at most', async () => {
    expect((await server.inject('/api/v1/events')).json()).toEqual({ data: [] })
    await server.inject('/api/v1/events?state=open&limit=7')
    expect(ports.account.asked).toEqual([
      { tenant: 1, openOnly: false, limit: 50 },
      { tenant: 1, openOnly: true, limit: 7 },
    ])
    expect((await refusalOf('GET', '/api/v1/events?state=closed')).errors).toMatchObject([
      { pointer: 'query:state' },
    ])
  })
})
