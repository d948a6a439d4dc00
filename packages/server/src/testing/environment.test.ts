import { defineTask, NonRetryableError, stopReasonOf, type TaskContext } from '@carillon/sdk'
import { describe, expect, test } from 'vitest'
import { parseSchedule } from '../time/schedule.js'
import { createTestEnv, type TestEnv, type TestEnvOptions } from './index.js'
import { millisecondsOf } from './duration.js'

/** An environment with one task that does what the test says. */
function envWith(run: (env: TestEnv, ctx: TaskContext) => unknown, options: Partial<TestEnvOptions> = {}) {
  const env: TestEnv = createTestEnv({
    tasks: [defineTask({ id: 'task', run: (_: unknown, ctx) => run(env, ctx) })],
    ...options,
  })
  return env
}
const target = { type: 'task', task: 'task' } as const
const hourly = { name: 'job', schedule: '0 * * * *', target }
const statuses = (env: TestEnv) => env.runs('job').map(({ status }) => status)
const ticks = (env: TestEnv) =>
  env.runs('job').map(({ scheduledAt }) => scheduledAt.toISOString().slice(0, 16))

test('ticks come at their instants when the clock is turned, and not before', async () => {
  const seen: string[] = []
  const env = envWith(({ now }) => seen.push(now.toISOString()))
  expect(env.schedule(hourly).nextRunAt).toEqual(new Date('2026-01-01T01:00:00Z'))
  expect(await env.advance('59m 59s')).toEqual([])
  expect(await env.advance('1s')).toMatchObject([{ status: 'success', attempt: 1 }])
  expect(await env.advance('2h')).toHaveLength(2)
  expect(seen).toEqual(['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z', '2026-01-01T03:00:00.000Z'])
  expect(env.now).toEqual(new Date('2026-01-01T03:00:00Z'))
})

test('the ticks are those of the engine, also on the night when the clocks are turned back', async () => {
  const env = envWith(() => 1, { at: '2026-10-24T00:00:00Z' })
  const job = { ...hourly, schedule: '30 2 * * *', timezone: 'Europe/Madrid' }
  env.schedule(job)
  await env.advance('3d')
  const schedule = parseSchedule({ ...job, anchor: 0 })
  const expected = [...Array(3).keys()].reduce<number[]>(
    (all) => [...all, schedule.next(all.at(-1) ?? Date.parse('2026-10-24T00:00:00Z')) ?? 0],
    [],
  )
  expect(env.runs('job').map(({ scheduledAt }) => scheduledAt.getTime())).toEqual(expected)
})

test('a job is refused and given defaults as the server does it', () => {
  const env = envWith(() => 1)
  expect(() => env.schedule({ ...hourly, schedule: '61 * * * *' })).toThrow(/61/)
  expect(() => env.schedule({ ...hourly, schedule: '2020-01-01T00:00:00Z' })).toThrow(/ago/)
})

describe('a failed attempt', () => {
  test('is tried again after its backoff, until the attempts are used up', async () => {
    const at: string[] = []
    const env = envWith(
      ({ now }) => {
        at.push(now.toISOString())
        throw new Error('boom')
      },
      { spread: 1 },
    )
    env.schedule({ ...hourly, retry: { max_attempts: 3, backoff: 'linear', base_ms: 60_000 } })
    await env.advance('1h')
    expect(env.runs()).toMatchObject([{ status: 'pending', attempt: 2 }])
    await env.advance('10m')
    expect(env.runs()).toMatchObject([
      { status: 'dead', attempt: 3, reason: 'task_error', error: expect.stringContaining('boom') as string },
    ])
    expect(at.map((instant) => instant.slice(11, 16))).toEqual(['01:00', '01:01', '01:03'])
  })

  test('has the same key and effects as the one before, and another token', async () => {
    const seen: [string, number, unknown][] = []
    let effects = 0
    const env = envWith(async (_, ctx) => {
      seen.push([ctx.idempotencyKey, ctx.fencingToken, await ctx.once('charge', () => ++effects)])
      if (ctx.attempt === 1) throw new Error('once')
    })
    env.schedule(hourly)
    await env.advance('2h')
    expect(effects).toBe(2)
    expect(seen[0]?.[0]).toBe(seen[1]?.[0])
    expect(seen[1]?.[1]).toBeGreaterThan(seen[0]?.[1] ?? 0)
    expect(seen.map(([, , effect]) => effect)).toEqual([1, 1, 2])
  })

  test('that says so is not tried again', async () => {
    const env = envWith(() => {
      throw new NonRetryableError('never')
    })
    env.schedule(hourly)
    expect(await env.advance('1h')).toMatchObject([
      { status: 'dead', attempt: 1, reason: 'task_non_retryable' },
    ])
  })
})

describe('a handler that takes time', () => {
  test('is over at the end of its time, and hears why', async () => {
    const reasons: unknown[] = []
    const env = envWith(async (own, ctx) => {
      await own.sleep('10m').catch((error: unknown) => reasons.push(stopReasonOf(error)))
      expect(ctx.signal.aborted).toBe(true)
    })
    env.schedule({ ...hourly, timeout_seconds: 60, max_retries: 0 })
    await env.advance('1h 1m')
    expect(env.runs()).toMatchObject([{ status: 'dead', reason: 'timeout' }])
    expect(reasons).toEqual(['timeout'])
  })

  test.each([
    ['SKIP', ['success', 'skipped', 'success', 'skipped']],
    ['QUEUE', ['success', 'success', 'running', 'pending']],
    ['REPLACE', ['cancelled', 'cancelled', 'cancelled', 'running']],
    ['ALLOW', ['success', 'success', 'success', 'running']],
  ] as const)('and meets the next tick is dealt with by its overlap policy: %s', async (policy, expected) => {
    const env = envWith((own) => own.sleep('90m'))
    env.schedule({ ...hourly, overlap_policy: policy, timeout_seconds: 86_400 })
    await env.advance('4h 59m')
    expect(statuses(env).slice(0, 4)).toEqual(expected)
  })

  test('without sleeping is waited for in real time, and is told when it never ends', async () => {
    const env = envWith(() => new Promise(() => undefined), { stuckAfterMs: 20 })
    env.schedule(hourly)
    await expect(env.advance('1h')).rejects.toThrow(/"job" neither ended nor slept/)
  })
})

describe('after an outage', () => {
  test.each([
    ['SKIP', ['01:00 skipped', '04:00 success']],
    ['RUN_ONCE', ['01:00 skipped', '03:00 success', '04:00 success']],
    ['RUN_ALL', ['01:00 success', '02:00 success', '03:00 success', '04:00 success']],
  ] as const)('missed ticks are dealt with by %s', async (missedWindow, expected) => {
    const env = envWith(() => 1)
    env.schedule({
      ...hourly,
      missed_window: missedWindow,
      misfire_grace_seconds: 86_400,
      overlap_policy: 'ALLOW',
    })
    env.down('3h 30m')
    await env.advance('30m')
    expect(
      env.runs().map(({ scheduledAt, status }) => `${scheduledAt.toISOString().slice(11, 16)} ${status}`),
    ).toEqual(expected)
    expect(env.runs()[0]?.ticks).toBe({ SKIP: 3, RUN_ONCE: 2, RUN_ALL: 1 }[missedWindow])
  })

  test('what ran late says so', async () => {
    const env = envWith((_, ctx) => ctx.catchUp)
    env.schedule(hourly)
    env.down('3h 30m')
    await env.advance('30m')
    expect(env.runs().map(({ result, catchUp }) => [result, catchUp])).toEqual([
      [null, false],
      [true, true],
      [false, false],
    ])
  })
})

test('a trigger runs now, beside the schedule', async () => {
  const env = envWith((_, ctx) => ctx.idempotencyKey)
  env.schedule(hourly)
  const run = await env.trigger('job')
  expect(run).toMatchObject({ status: 'success', scheduledAt: env.now })
  await env.advance('1h')
  expect(new Set(env.runs().map(({ result }) => result)).size).toBe(2)
})

test('a job ends after its last tick, and after the runs that it may have', async () => {
  const env = envWith(() => 1)
  env.schedule({ ...hourly, max_runs: 2 })
  env.schedule({ ...hourly, name: 'once', schedule: '2026-01-01T05:00:00Z' })
  await env.advance('1d')
  expect(ticks(env)).toEqual(['2026-01-01T01:00', '2026-01-01T02:00'])
  expect(env.runs('once')).toHaveLength(1)
})

test('what a test gets wrong is said', async () => {
  const env = envWith((own) => own.sleep('1h'))
  expect(() => env.runs('nobody')).toThrow(/no job named "nobody"/)
  env.schedule(hourly)
  expect(() => env.schedule(hourly)).toThrow(/named "job" already/)
  await expect(env.advanceTo('2020-01-01T00:00:00Z')).rejects.toThrow(/does not go back/)
  await env.advance('61m')
  expect(() => env.down('1h')).toThrow(/under way/)
  expect(() => createTestEnv({ tasks: [], at: 'soon' })).toThrow(/no instant/)
})

test('a task that the environment does not have fails its run', async () => {
  const env = envWith(() => 1)
  env.schedule({ ...hourly, target: { type: 'task', task: 'other' }, max_retries: 0 })
  expect(await env.advance('1h')).toMatchObject([{ status: 'dead', reason: 'unserved' }])
})

test.each([
  ['500ms', 500],
  ['1h 30m', 5_400_000],
  ['0.5s', 500],
  [1_000, 1_000],
] as const)('%s is %i ms', (text, ms) => {
  expect(millisecondsOf(text)).toBe(ms)
})

test.each(['', '5', 'an hour', '1h30m', -1, Number.NaN])('"%s" is no duration', (text) => {
  expect(() => millisecondsOf(text)).toThrow(/is no duration/)
})
