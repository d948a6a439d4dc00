import { describe, expect, it } from 'vitest'
import { integerOf, jobInputOf, limitOf } from './job-input.js'
import { UsageError } from './usage.js'

const schedule = '@every 5m'

describe('jobInputOf', () => {
  it('sends only what was given', () => {
    expect(jobInputOf('ping', { schedule })).toEqual({ name: 'ping', schedule })
  })

  it('sends every flag under the name that the API has for it', () => {
    const input = jobInputOf('ping', {
      schedule,
      timezone: 'Europe/Madrid',
      http: 'https://example.com/x',
      method: 'put',
      header: ['X-One: 1', 'Authorization:Bearer a:b'],
      payload: '{"a":[1]}',
      maxRetries: '0',
      retryBackoff: 'fixed',
      missedWindow: 'run_all',
      maxMissed: '5',
      misfireGraceSeconds: '60',
      timeoutSeconds: '30',
      idempotencyKeyTemplate: '{{date}}',
    })
    expect(input).toEqual({
      name: 'ping',
      schedule,
      timezone: 'Europe/Madrid',
      target: {
        type: 'http',
        url: 'https://example.com/x',
        method: 'PUT',
        headers: { 'X-One': '1', Authorization: 'Bearer a:b' },
      },
      payload: { a: [1] },
      max_retries: 0,
      retry_backoff: 'fixed',
      missed_window: 'RUN_ALL',
      max_missed: 5,
      misfire_grace_seconds: 60,
      timeout_seconds: 30,
      idempotency_key_template: '{{date}}',
    })
  })

  it('takes a task as the target', () => {
    expect(jobInputOf('ping', { schedule, task: 'report' }).target).toEqual({ type: 'task', task: 'report' })
  })

  it('keeps a payload of null apart from no payload', () => {
    expect(jobInputOf('ping', { schedule, payload: 'null' })).toEqual({
      name: 'ping',
      schedule,
      payload: null,
    })
  })

  it.each([
    ['no name', undefined, { schedule }],
    ['no schedule', 'ping', {}],
    ['two targets', 'ping', { schedule, http: 'https://example.com', task: 'a' }],
    ['a method without --http', 'ping', { schedule, method: 'GET' }],
    ['a header without --http', 'ping', { schedule, task: 'a', header: ['A: b'] }],
    [
      'a header without a colon',
      'ping',
      { schedule, http: 'https://example.com', header: ['Authorization'] },
    ],
    ['a header without a name', 'ping', { schedule, http: 'https://example.com', header: [': b'] }],
    ['a header twice', 'ping', { schedule, http: 'https://example.com', header: ['A: 1', 'a: 2'] }],
    ['a payload that is no JSON', 'ping', { schedule, payload: 'hello' }],
    ['an empty payload', 'ping', { schedule, payload: '' }],
    ['a number that is none', 'ping', { schedule, maxRetries: 'many' }],
    ['a number with a fraction', 'ping', { schedule, timeoutSeconds: '1.5' }],
  ])('refuses %s', (_what, name, flags) => {
    expect(() => jobInputOf(name, flags)).toThrow(UsageError)
  })

  it('does not repeat the value of a header that it refuses', () => {
    const flags = { schedule, http: 'https://example.com', header: ['Bearer hunter2'] }
    expect(() => jobInputOf('ping', flags)).toThrow(/^(?!.*hunter2)/)
  })
})

describe('integerOf', () => {
  it.each(['', ' ', '1e3', '0x10', '9999999999999999', 'NaN'])('refuses "%s"', (text) => {
    expect(() => integerOf(text, '--max-retries')).toThrow(/--max-retries/)
  })

  it('leaves the range to the server', () => {
    expect(integerOf('-1', '--max-retries')).toBe(-1)
  })
})

describe('limitOf', () => {
  it('refuses a list of nothing', () => {
    expect(() => limitOf('0')).toThrow(UsageError)
    expect(limitOf('7')).toBe(7)
    expect(limitOf(undefined)).toBeUndefined()
  })
})
