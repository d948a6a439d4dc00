import type { JobDefinition } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import type { LeasedRun, RunDefinition } from '../run.js'
import { outcomeOf } from './outcome.js'

const run = { tenant: 3, guard: { probe: true, timeoutMs: null } } as LeasedRun
const calling = (url: string) => ({
  jobId: 'job',
  definition: { target: { type: 'http', url } } as JobDefinition,
})
const failed = (reason: string, status?: number) => ({
  outcome: 'failed' as const,
  reason,
  error: 'went wrong',
  result: status === undefined ? undefined : { status },
  retryAfterMs: 7,
})

describe('what an attempt says of its host', () => {
  it('names the host as its lane does, and whether it was the probe', () => {
    const done = { outcome: 'success' as const, reason: null, error: null, result: {}, retryAfterMs: null }
    expect(outcomeOf(run, calling('HTTPS://Api.Example.com:443/x?y'), done)).toEqual({
      ...{ tenant: 3, host: 'api.example.com', ok: true, probe: true, error: null, retryAfterMs: null },
    })
    expect(outcomeOf(run, calling('http://localhost:8080/'), done)?.host).toBe('localhost:8080')
  })

  it.each([
    ['timeout', undefined],
    ['connection', undefined],
    ['http_status', 500],
    ['http_status', 503],
    ['http_status', 429],
  ])('speaks against it: %s %s', (reason, status) => {
    const said = outcomeOf(run, calling('http://a.test/'), failed(reason, status))
    expect(said).toMatchObject({ ok: false, error: 'went wrong', retryAfterMs: 7 })
  })

  it('keeps the path to itself: that of a webhook is often its secret', () => {
    const error =
      'POST https://hooks.test/services/T0/SECRET: the connection broke, see http://b.test:81/x?token=1'
    const said = outcomeOf(run, calling('https://hooks.test/'), { ...failed('connection'), error })
    expect(said?.error).toBe('POST https://hooks.test: the connection broke, see http://b.test:81')
  })

  it.each([400, 401, 404, 408, 409, 422, 301])('an answer %i comes from a host that is well', (status) => {
    expect(outcomeOf(run, calling('http://a.test/'), failed('http_status', status))).toMatchObject({
      ok: true,
    })
  })

  it.each(['blocked_address', 'invalid_target', 'signing', 'worker_stopped', 'cancelled', 'internal_error'])(
    'says nothing where it was not called, or cut short here: %s',
    (reason) => {
      expect(outcomeOf(run, calling('http://a.test/'), failed(reason))).toBeNull()
    },
  )

  it('says nothing of a task', () => {
    const task = { jobId: 'job', definition: { target: { type: 'task', task: 't' } } } as RunDefinition
    expect(outcomeOf(run, task, failed('timeout'))).toBeNull()
  })
})
