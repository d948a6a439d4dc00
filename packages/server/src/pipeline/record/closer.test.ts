import pino from 'pino'
import { expect, test } from 'vitest'
import type { Database } from '../../db/pool.js'
import { systemClock } from '../../platform/clock.js'
import { Metrics } from '../../platform/metrics.js'
import type { AttemptResult } from '../run.js'
import { Closer, mostPerBatch } from './closer.js'

/** A database that answers each statement when the test says so, and closes what it was given. */
class Slow {
  readonly sent: { tokens: number[]; answer: () => void }[] = []

  run(_statement: unknown, { tokens }: { tokens: number[] }): Promise<{ tokens: number[] }[]> {
    return new Promise((resolve) => this.sent.push({ tokens, answer: () => resolve([{ tokens }]) }))
  }
}

function setUp() {
  const slow = new Slow()
  const closer = new Closer({
    database: slow as unknown as Database,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    metrics: new Metrics(),
    batchMs: 1,
  })
  const answers = new Map<number, string>()
  const close = (from: number, many: number) => {
    for (let token = from; token < from + many; token++)
      void closer.close(success(token)).then((answer) => answers.set(token, answer))
  }
  return { slow, closer, close, answers }
}

function success(token: number): AttemptResult {
  return {
    run: { token, place: `(0,${token})`, holder: 1 },
    definition: { target: { type: 'task' } },
    outcome: 'success',
    startedAt: 1,
    finishedAt: 2,
    retryable: false,
    retryAfterMs: null,
    reason: null,
    error: null,
    result: undefined,
  } as unknown as AttemptResult
}

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 20_000
  while (!holds()) {
    if (performance.now() > end) throw new Error('it did not come to pass')
    await soon()
  }
}

const soon = () => new Promise((resolve) => setImmediate(resolve))

test('a crowd has two batches on their way, and never a third; each result is sent once', async () => {
  const { slow, closer, close, answers } = setUp()
  const many = 3 * mostPerBatch + 500
  close(1, many)
  await until(() => slow.sent.length >= 2)
  await soon()
  expect(slow.sent.map(({ tokens }) => tokens.length)).toEqual([mostPerBatch, mostPerBatch])
  slow.sent[1]?.answer()
  await until(() => slow.sent.length >= 3)
  await soon()
  expect(slow.sent.map(({ tokens }) => tokens.length)).toEqual([mostPerBatch, mostPerBatch, mostPerBatch])
  await until(() => {
    for (const { answer } of slow.sent) answer()
    return answers.size === many
  })
  await closer.drained()
  const sent = slow.sent.flatMap(({ tokens }) => tokens)
  expect(sent).toHaveLength(many)
  expect(new Set(sent).size).toBe(many)
})

test('it is behind when more than two batches wait, until fewer do', async () => {
  const { slow, closer, close } = setUp()
  expect(closer.behind()).toBeNull()
  close(1, 4 * mostPerBatch)
  await until(() => slow.sent.length === 2)
  // Two batches are on their way, two wait.
  expect(closer.behind()).toBeNull()
  close(4 * mostPerBatch + 1, 1)
  const behind = closer.behind()
  expect(behind).not.toBeNull()
  let over = false
  void behind?.then(() => (over = true))
  await soon()
  expect(over).toBe(false)
  slow.sent[0]?.answer()
  await behind
  expect(closer.behind()).toBeNull()
})

test('whoever waits for it is let go when it gives up', async () => {
  const { closer, close } = setUp()
  close(1, 5 * mostPerBatch)
  const behind = closer.behind()
  expect(behind).not.toBeNull()
  closer.giveUp()
  await behind
  expect(closer.behind()).toBeNull()
})
