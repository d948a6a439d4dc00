import type { JobDefinition } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AttemptResult, LeasedRun } from '../run.js'
import { backoffMs, judge } from './retry.js'

const finishedAt = Date.parse('2026-11-02T12:00:00Z')
const kinds = ['fixed', 'linear', 'exponential'] as const
/** The largest value that Math.random() answers. */
const almostOne = 1 - Number.EPSILON / 2

function result(
  given: Partial<Omit<AttemptResult, 'run'>> & {
    run?: Partial<LeasedRun>
    backoff?: (typeof kinds)[number]
  } = {},
): AttemptResult {
  const { run, backoff = 'exponential', ...rest } = given
  return {
    run: { attempt: 1, maxAttempts: 4, ...run } as LeasedRun,
    definition: { retry_backoff: backoff } as JobDefinition,
    outcome: 'failed',
    startedAt: finishedAt - 10,
    finishedAt,
    retryable: true,
    retryAfterMs: null,
    reason: 'task_error',
    error: 'boom',
    result: undefined,
    ...rest,
  }
}

describe('what follows an attempt', () => {
  it.each(['succeeded', 'cancelled'] as const)(
    'that %s: nothing, however many attempts are left',
    (outcome) => {
      expect(judge(result({ outcome, retryAfterMs: 500 }), 0)).toEqual({ outcome, retryAt: null })
    },
  )

  it('that failed and may be tried again: another, after the backoff', () => {
    expect(judge(result(), 0)).toEqual({ outcome: 'failed', retryAt: finishedAt + 500 })
  })

  it.each([
    ['was the last one', result({ run: { attempt: 4, maxAttempts: 4 } })],
    ['was the only one', result({ run: { attempt: 1, maxAttempts: 1 } })],
    ['was one too many already', result({ run: { attempt: 5, maxAttempts: 4 } })],
    ['must not be tried again', result({ retryable: false })],
    [
      'must not be tried again although the target named a time',
      result({ retryable: false, retryAfterMs: 1 }),
    ],
    ['has lost its definition', result({ definition: null })],
  ])('that failed and %s: a dead letter', (_name, attempt) => {
    expect(judge(attempt, 0.5)).toEqual({ outcome: 'dead', retryAt: null })
  })

  it('leaves as many attempts as the policy allows, and no more', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), (maxAttempts) => {
        let attempts = 1
        while (judge(result({ run: { attempt: attempts, maxAttempts } }), 0).retryAt !== null) attempts += 1
        expect(attempts).toBe(maxAttempts)
      }),
    )
  })

  it.each([0, 1, 1_500, 86_400_000])(
    'obeys the %i ms that the target asked for, without jitter',
    (retryAfterMs) => {
      const verdicts = [0, 0.5, almostOne].map((random) => judge(result({ retryAfterMs }), random).retryAt)
      expect(verdicts).toEqual(new Array(3).fill(finishedAt + retryAfterMs))
    },
  )

  it('is an instant in whole milliseconds, not before the attempt ended', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.integer({ min: 1, max: 32_766 }),
        fc.double({ min: 0, max: almostOne, noNaN: true }),
        (backoff, attempt, random) => {
          const { retryAt } = judge(result({ backoff, run: { attempt, maxAttempts: 32_767 } }), random)
          expect(Number.isSafeInteger(retryAt)).toBe(true)
          expect(retryAt).toBeGreaterThanOrEqual(finishedAt + 500)
          expect(retryAt).toBeLessThanOrEqual(finishedAt + 300_000)
        },
      ),
    )
  })
})

describe('the backoff', () => {
  it.each([
    ['fixed', [1_000, 1_000, 1_000, 1_000, 1_000]],
    ['linear', [1_000, 2_000, 3_000, 4_000, 5_000]],
    ['exponential', [1_000, 2_000, 4_000, 8_000, 16_000]],
  ] as const)('%s waits half of its time for certain, and up to all of it', (kind, full) => {
    const attempts = [1, 2, 3, 4, 5]
    expect(attempts.map((attempt) => backoffMs(kind, attempt, 0))).toEqual(full.map((ms) => ms / 2))
    expect(attempts.map((attempt) => Math.ceil(backoffMs(kind, attempt, almostOne)))).toEqual(full)
  })

  it.each([
    ['linear', 300],
    ['linear', 32_767],
    ['exponential', 10],
    ['exponential', 64],
    ['exponential', 32_767],
  ] as const)('%s ends at five minutes, at attempt %i', (kind, attempt) => {
    expect(backoffMs(kind, attempt, 0)).toBe(150_000)
    expect(backoffMs(kind, attempt, almostOne)).toBeLessThanOrEqual(300_000)
  })

  it('spreads many failures of one moment over half of the wait', () => {
    const waits = Array.from({ length: 100 }, (_, at) => backoffMs('exponential', 5, at / 100))
    expect(new Set(waits).size).toBe(100)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(7_000)
  })
})
