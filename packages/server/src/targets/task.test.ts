import {
  defineTask,
  NonRetryableError,
  stopReasonOf,
  type TaskContext,
  type TaskDefinition,
  TaskStoppedError,
} from '@carillon/sdk'
import { expect, test } from 'vitest'
import { StopSwitch } from './stop-switch.js'
import type { Attempt } from './target.js'
import { createTaskTarget } from './task.js'
import { createTaskRegistry } from './task-registry.js'

const attempt: Attempt = {
  tenant: 1,
  jobId: 'job_1',
  jobName: 'weekly report',
  runId: 'run_1',
  scheduledAt: Date.UTC(2026, 0, 5, 9),
  attempt: 2,
  token: 77,
  catchUp: true,
  idempotencyKey: 'k',
  payload: { n: 1 },
  timeoutMs: 20_000,
}
const never = new StopSwitch()

function deliver(run: TaskDefinition['run'], changes: Partial<Attempt> = {}, signal?: AbortSignal) {
  const target = createTaskTarget(createTaskRegistry([defineTask({ id: 'report', run })]))
  return target.deliver(
    { type: 'task', task: 'report' },
    { ...attempt, ...changes },
    signal === undefined ? never : StopSwitch.by(signal),
  )
}

test('a handler gets the payload and what is known of the attempt', async () => {
  const lines: string[] = []
  const record = (message: string) => void lines.push(message)
  let seen: { input: unknown; ctx: TaskContext } | undefined
  const report = defineTask({
    id: 'report',
    run(input, ctx) {
      seen = { input, ctx }
      ctx.log.info('working')
      return { sent: 3 }
    },
  })
  const target = createTaskTarget(createTaskRegistry([report]), {
    logFor: () => ({ info: record, warn: record, error: record }),
  })
  expect(await target.deliver({ type: 'task', task: 'report' }, attempt, never)).toEqual({
    kind: 'success',
    result: { sent: 3 },
  })
  expect(seen?.input).toEqual({ n: 1 })
  expect(seen?.ctx).toMatchObject({
    runId: 'run_1',
    jobId: 'job_1',
    jobName: 'weekly report',
    scheduledAt: new Date('2026-01-05T09:00:00Z'),
    attempt: 2,
    fencingToken: 77,
    idempotencyKey: 'k',
    catchUp: true,
  })
  expect(seen?.ctx.signal.aborted).toBe(false)
  expect(lines).toEqual(['working'])
})

test('a handler that never returns fails at the deadline, and its signal has aborted', async () => {
  let signal: AbortSignal | undefined
  const outcome = await deliver(
    (_, ctx) => {
      signal = ctx.signal
      return new Promise(() => {})
    },
    { timeoutMs: 50 },
  )
  expect(outcome).toEqual({
    kind: 'failed',
    reason: 'timeout',
    retryable: true,
    error: 'task report: no result within 0.05 s',
  })
  expect(signal?.aborted).toBe(true)
  expect(signal?.reason).toHaveProperty('name', 'TimeoutError')
})

test('a handler that throws when its signal aborts still counts as timed out', async () => {
  const outcome = await deliver(
    (_, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(new Error('interrupted')))
      }),
    { timeoutMs: 50 },
  )
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'timeout' })
})

test('the caller’s signal ends the attempt and is passed on with its reason', async () => {
  const abort = new AbortController()
  const reason = new Error('lease lost')
  let signal: AbortSignal | undefined
  const outcome = await deliver(
    (_, ctx) => {
      signal = ctx.signal
      abort.abort(reason)
      return new Promise(() => {})
    },
    {},
    abort.signal,
  )
  expect(outcome).toEqual({
    kind: 'failed',
    reason: 'cancelled',
    retryable: true,
    error: 'task report: cancelled: lease lost',
  })
  expect(signal?.reason).toBe(reason)
})

test('an already aborted signal starts no handler', async () => {
  let started = false
  const outcome = await deliver(
    () => {
      started = true
    },
    {},
    AbortSignal.abort(),
  )
  expect(outcome).toMatchObject({ reason: 'cancelled' })
  expect(started).toBe(false)
})

test.each([
  [
    'synchronously',
    () => {
      throw new Error('disk full')
    },
  ],
  ['later', () => Promise.reject(new Error('disk full'))],
])('an error thrown %s is a retryable failure with message and place', async (_, run) => {
  const outcome = await deliver(run)
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'task_error', retryable: true })
  expect(outcome).toHaveProperty('error', expect.stringMatching(/^disk full\n\s+at .*task\.test\.ts/))
})

test('a NonRetryableError is final, also one of another copy of the SDK', async () => {
  const foreign = Object.assign(new Error('no such customer'), {
    [Symbol.for('carillon.non-retryable')]: true,
  })
  for (const error of [new NonRetryableError('no such customer'), foreign]) {
    const outcome = await deliver(() => Promise.reject(error))
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'task_non_retryable', retryable: false })
    expect(outcome).toHaveProperty('error', expect.stringMatching(/^no such customer/))
  }
})

test('whatever is thrown becomes a failure with a text that can be stored', async () => {
  const unreadable = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no')
    },
  })
  const thrown: unknown[] = [
    'text',
    42,
    null,
    undefined,
    Symbol('s'),
    { a: 1 },
    Object.create(null),
    unreadable,
    new Error('a\0b\ud800'),
    new Error('é'.repeat(100_000)),
  ]
  for (const error of thrown) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- exactly what is tested
    const outcome = await deliver(() => Promise.reject(error))
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'task_error', retryable: true })
    const text = (outcome as { error: string }).error
    expect(text).not.toBe('')
    expect(text).not.toMatch(/\0|\p{Surrogate}/u)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096)
  }
})

test('a result is kept as JSON', async () => {
  const at = new Date('2026-01-05T09:00:00Z')
  expect(await deliver(() => undefined)).toEqual({ kind: 'success', result: null })
  expect(await deliver(() => ({ at, gone: undefined }))).toEqual({
    kind: 'success',
    result: { at: '2026-01-05T09:00:00.000Z' },
  })
  expect(await deliver(() => ({ 'k\0': ['v\0', '\ud800'] }))).toEqual({
    kind: 'success',
    result: { 'k\uFFFD': ['v\uFFFD', '\uFFFD'] },
  })
})

test('a result too large to keep becomes a note with its start', async () => {
  const outcome = await deliver(() => ({ rows: '"'.repeat(50_000) }))
  expect(outcome).toMatchObject({
    kind: 'success',
    result: {
      note: expect.stringContaining('100011 bytes') as string,
      excerpt: expect.stringMatching(/^\{"rows":"/) as string,
    },
  })
  expect(Buffer.byteLength(JSON.stringify((outcome as { result: unknown }).result))).toBeLessThanOrEqual(
    4_096,
  )
})

test('a result that JSON cannot hold is a success with a note', async () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const hostile = {
    toJSON() {
      throw new Error('no')
    },
  }
  for (const result of [circular, 10n, () => {}, Symbol('s'), hostile]) {
    expect(await deliver(() => result)).toMatchObject({
      kind: 'success',
      result: { note: expect.stringMatching(/not kept/) as string },
    })
  }
})

test('a task that is not loaded is reported with those that are', async () => {
  const target = createTaskTarget(
    createTaskRegistry([defineTask({ id: 'b', run: () => 1 }), defineTask({ id: 'a', run: () => 1 })]),
  )
  expect(await target.deliver({ type: 'task', task: 'report' }, attempt, never)).toEqual({
    kind: 'failed',
    reason: 'unserved',
    retryable: true,
    error: 'This worker has no task named "report". Loaded here: a, b.',
  })
  expect(
    await createTaskTarget(createTaskRegistry([])).deliver({ type: 'task', task: 'x' }, attempt, never),
  ).toMatchObject({
    error: 'This worker has no task named "x". No task is loaded.',
  })
})

test('a payload that does not fit the schema of its task fails for good, with the field named', async () => {
  let ran = false
  const strict = defineTask({
    id: 'strict',
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'is no number', path: ['n'] }] }),
      },
    },
    run: () => {
      ran = true
    },
  })
  const target = createTaskTarget(createTaskRegistry([strict]))
  expect(await target.deliver({ type: 'task', task: 'strict' }, attempt, never)).toEqual({
    kind: 'failed',
    reason: 'task_non_retryable',
    error: expect.stringContaining('The payload does not fit the task "strict": /n: is no number') as string,
    retryable: false,
  })
  expect(ran).toBe(false)
})

test('a heartbeat asks, and throws the reason once the run is lost', async () => {
  const stop = new AbortController()
  let asked = 0
  const confirm = () => {
    asked += 1
    if (asked === 2) stop.abort(new TaskStoppedError('lost', 'gone'))
    return Promise.resolve()
  }
  const seen: unknown[] = []
  const outcome = await deliver(
    async (_, ctx) => {
      await ctx.heartbeat({ done: 1 })
      await ctx.heartbeat().catch((error: unknown) => seen.push(error))
      await ctx.heartbeat().catch((error: unknown) => seen.push(error))
    },
    { confirm },
    stop.signal,
  )
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'cancelled' })
  await new Promise((resolve) => setImmediate(resolve))
  expect(seen.map(stopReasonOf)).toEqual(['lost', 'lost'])
  expect(asked).toBe(2)
})

test('the signal of a run over its time says so', async () => {
  const reasons: unknown[] = []
  await deliver(
    (_, ctx) =>
      new Promise(() => ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason.reason))),
    { timeoutMs: 10 },
  )
  expect(reasons).toEqual(['timeout'])
})
