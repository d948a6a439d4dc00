import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { RunContext } from './run-context.js'
import { StopSwitch } from './stop-switch.js'
import type { Attempt } from './target.js'

function attemptOf(changes: Partial<Attempt> = {}): Attempt & { asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    tenant: 1,
    jobId: 'job_1',
    jobName: 'nightly',
    get runId() {
      asked.push('runId')
      return 'run_1'
    },
    scheduledAt: Date.UTC(2026, 0, 1),
    attempt: 2,
    token: 7,
    catchUp: false,
    get idempotencyKey() {
      asked.push('idempotencyKey')
      return 'key_1'
    },
    payload: null,
    timeoutMs: 1_000,
    ...changes,
  }
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

test('a copy has all that the original has', () => {
  const stop = new StopSwitch()
  const context = new RunContext(attemptOf(), stop, () => silent)
  const copy = { ...context }
  expect(Object.keys(copy).sort()).toEqual(
    [
      'attempt',
      'catchUp',
      'fencingToken',
      'heartbeat',
      'idempotencyKey',
      'jobId',
      'jobName',
      'log',
      'once',
      'runId',
      'scheduledAt',
      'signal',
      'traceparent',
      'transaction',
    ].sort(),
  )
  expect(copy).toMatchObject({ runId: 'run_1', idempotencyKey: 'key_1', attempt: 2, fencingToken: 7 })
  expect(copy.signal).toBe(stop.signal)
  expect(copy.scheduledAt.toISOString()).toBe('2026-01-01T00:00:00.000Z')
})

test('nothing dear is made for a handler that asks for nothing, and the log once', () => {
  const attempt = attemptOf()
  let logs = 0
  const context = new RunContext(attempt, new StopSwitch(), () => {
    logs++
    return silent
  })
  expect(attempt.asked).toEqual([])
  expect(logs).toBe(0)
  context.log.info('one')
  context.log.info('two')
  expect(logs).toBe(1)
})

test('its functions may be taken apart from it', async () => {
  let confirmed = 0
  const stop = new StopSwitch()
  const attempt = attemptOf({ confirm: () => Promise.resolve(void confirmed++) })
  const { heartbeat, once, transaction } = new RunContext(attempt, stop, () => silent)
  await heartbeat()
  expect(confirmed).toBe(1)
  await expect(once('a', () => 1)).rejects.toThrow(/./)
  await expect(transaction(() => 1)).rejects.toThrow(/./)
  stop.stop(new Error('enough'))
  await expect(heartbeat()).rejects.toThrow('enough')
})

test('whoever prints it sees what the handler is told, and nothing behind it', () => {
  const attempt = attemptOf({ payload: 'hidden away' })
  const text = inspect(new RunContext(attempt, new StopSwitch(), () => silent), { depth: null })
  expect(text).toContain('run_1')
  expect(text).not.toContain('hidden away')
})

test('each look at its tick is a date of its own', () => {
  const context = new RunContext(attemptOf(), new StopSwitch(), () => silent)
  context.scheduledAt.setUTCFullYear(1999)
  expect(context.scheduledAt.getUTCFullYear()).toBe(2026)
})
