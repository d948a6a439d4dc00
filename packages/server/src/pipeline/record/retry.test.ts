import { type JobDefinition, type RetryFields, retryPolicyOf } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AttemptResult, LeasedRun } from '../run.js'
import { backoffMs, judge } from './retry.js'

const due = Date.parse('2026-11-02T11:59:00Z')
const finishedAt = Date.parse('2026-11-02T12:00:00Z')
const kinds = ['fixed', 'linear', 'exponential'] as const
/** The largest value that Math.random() answers. */
const almostOne = 1 - Number.EPSILON / 2

type Given = Partial<Omit<AttemptResult, 'run'>> & {
  run?: Partial<LeasedRun>
  policy?: Partial<RetryFields>
}

function result({ run, policy, ...rest }: Given = {}): AttemptResult {
  return {
    run: { due, firedAt: due, attempt: 1, maxAttempts: 4, ...run } as LeasedRun,
    definition: { max_retries: 3, retry_backoff: 'exponential', ...policy } as JobDefinition,
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

const policyOf = (fields: Partial<RetryFields> = {}) =>
  retryPolicyOf({ max_retries: 3, retry_backoff: 'exponential', ...fields })

describe('what follows an attempt', () => {
  it.each(['success', 'cancelled'] as const)(
    'that %s: nothing, however many attempts are left',
    (outcome) => {
      expect(judge(result({ outcome, retryAfterMs: 500 }), 0)).toEqual({
        outcome,
        retryAt: null,
        because: null,
      })
    },
  )

  it('that failed and may be tried again: another, after the backoff', () => {
    expect(judge(result(), 0.5)).toEqual({ outcome: 'failed', retryAt: finishedAt + 500, because: null })
  })

  it.each([
    ['was the last one', result({ run: { attempt: 4, maxAttempts: 4 } }), 'attempts_used'],
    ['was the only one', result({ run: { attempt: 1, maxAttempts: 1 } }), 'attempts_used'],
    ['was one too many already', result({ run: { attempt: 5, maxAttempts: 4 } }), 'attempts_used'],
    ['must not be tried again', result({ retryable: false }), 'not_retryable'],
    [
      'must not be tried again although the target named a time',
      result({ retryable: false, retryAfterMs: 1 }),
      'not_retryable',
    ],
    ['has lost its definition', result({ definition: null }), 'definition_missing'],
    [
      'was cut short by its worker, and must never run twice',
      result({ reason: 'worker_stopped', policy: { on_lost: 'fail' } }),
      'lost',
    ],
  ])('that failed and %s: a dead letter that says why', (_name, attempt, because) => {
    expect(judge(attempt, 0.5)).toEqual({ outcome: 'dead', retryAt: null, because })
  })

  it('that was cut short by its worker: another, unless the job must never run twice', () => {
    expect(judge(result({ reason: 'worker_stopped' }), 0)).toMatchObject({ outcome: 'failed' })
    const lost = result({ reason: 'task_error', policy: { on_lost: 'fail' } })
    expect(judge(lost, 0)).toMatchObject({ outcome: 'failed' })
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
    'obeys the %i ms that the target asked for, without jitter and beyond the cap of the backoff',
    (retryAfterMs) => {
      const verdicts = [0, 0.5, almostOne].map((random) => judge(result({ retryAfterMs }), random).retryAt)
      expect(verdicts).toEqual(new Array(3).fill(finishedAt + retryAfterMs))
    },
  )

  it('waits a day at most, whatever the target asks for', () => {
    expect(judge(result({ retryAfterMs: 1e12 }), 0).retryAt).toBe(finishedAt + 86_400_000)
  })

  it('is an instant in whole milliseconds, not before the attempt ended and within the cap', () => {
    fc.assert(
      fc.property(
        fc.record({
          backoff: fc.constantFrom(...kinds),
          base: fc.integer({ min: 1, max: 86_400_000 }),
          cap: fc.integer({ min: 1, max: 86_400_000 }),
          factor: fc.double({ min: 1, max: 100, noNaN: true }),
          attempt: fc.integer({ min: 1, max: 32_766 }),
          random: fc.double({ min: 0, max: almostOne, noNaN: true }),
        }),
        ({ backoff, base, cap, factor, attempt, random }) => {
          const policy = { retry_backoff: backoff, retry: { base_ms: base, cap_ms: cap, factor } }
          const { retryAt } = judge(result({ policy, run: { attempt, maxAttempts: 32_767 } }), random)
          expect(Number.isSafeInteger(retryAt)).toBe(true)
          expect(retryAt).toBeGreaterThanOrEqual(finishedAt)
          expect(retryAt).toBeLessThanOrEqual(finishedAt + Math.max(base, cap))
        },
      ),
    )
  })
})

describe('max_elapsed_seconds', () => {
  const elapsed = (seconds: number) => ({ policy: { retry: { max_elapsed_seconds: seconds } } })

  it('ends a run whose next attempt would start too late after it was due', () => {
    // 60 s have passed since the tick; the wait is 0.5 s.
    expect(judge(result(elapsed(61)), 0.5)).toMatchObject({ outcome: 'failed' })
    expect(judge(result(elapsed(60)), 0.5)).toEqual({ outcome: 'dead', retryAt: null, because: 'time_used' })
  })

  it('allows the very last instant', () => {
    expect(judge({ ...result(elapsed(60)), retryAfterMs: 0 }, 0)).toMatchObject({ outcome: 'failed' })
    expect(judge({ ...result(elapsed(60)), retryAfterMs: 1 }, 0)).toMatchObject({ because: 'time_used' })
  })

  it('counts a wait that the target asked for', () => {
    expect(judge({ ...result(elapsed(3_600)), retryAfterMs: 3_600_000 }, 0)).toMatchObject({
      because: 'time_used',
    })
  })

  it('counts from when the run was made, if that is later: a run that catches up was due long ago', () => {
    const late = result({ ...elapsed(60), run: { due: due - 86_400_000, firedAt: finishedAt - 1_000 } })
    expect(judge(late, 0.5)).toMatchObject({ outcome: 'failed' })
    const early = result({ ...elapsed(60), run: { firedAt: due - 60_000 } })
    expect(judge(early, 0)).toMatchObject({ outcome: 'failed' })
  })
})

describe('the backoff', () => {
  it.each([
    ['fixed', [1_000, 1_000, 1_000, 1_000, 1_000]],
    ['linear', [1_000, 2_000, 3_000, 4_000, 5_000]],
    ['exponential', [1_000, 2_000, 4_000, 8_000, 16_000]],
  ] as const)('%s is drawn between nothing and the whole of its wait', (kind, full) => {
    const attempts = [1, 2, 3, 4, 5]
    const drawn = (random: number) =>
      attempts.map((attempt) => backoffMs(policyOf({ retry_backoff: kind }), attempt, random))
    expect(drawn(0)).toEqual([0, 0, 0, 0, 0])
    expect(drawn(0.5)).toEqual(full.map((ms) => ms / 2))
    expect(drawn(almostOne).map(Math.ceil)).toEqual(full)
  })

  it('grows by the factor of the job, from the base of the job', () => {
    const policy = policyOf({ retry: { base_ms: 200, factor: 3, cap_ms: 10_000 } })
    expect([1, 2, 3, 4, 5].map((attempt) => backoffMs(policy, attempt, 0.5))).toEqual([
      100, 300, 900, 2_700, 5_000,
    ])
  })

  it.each([
    ['linear', 300],
    ['linear', 32_767],
    ['exponential', 10],
    ['exponential', 64],
    ['exponential', 32_767],
  ] as const)('%s of a job without an own cap ends at five minutes, at attempt %i', (kind, attempt) => {
    const policy = policyOf({ retry_backoff: kind })
    expect(backoffMs(policy, attempt, 0.5)).toBe(150_000)
    expect(backoffMs(policy, attempt, almostOne)).toBeLessThanOrEqual(300_000)
  })

  it('never shrinks from one attempt to the next', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 1, max: 100, noNaN: true }),
        (backoff, attempt, factor) => {
          const policy = policyOf({ retry_backoff: backoff, retry: { factor } })
          expect(backoffMs(policy, attempt + 1, 0.5)).toBeGreaterThanOrEqual(backoffMs(policy, attempt, 0.5))
        },
      ),
    )
  })

  it('spreads many failures of one moment over the whole wait', () => {
    const waits = Array.from({ length: 100 }, (_, at) => backoffMs(policyOf(), 5, at / 100))
    expect(new Set(waits).size).toBe(100)
    expect(Math.min(...waits)).toBe(0)
    expect(Math.max(...waits)).toBeGreaterThan(15_000)
  })
})
