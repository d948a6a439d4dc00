import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CarillonError } from './carillon-error.js'
import {
  checkRetryRequest,
  onLostChoices,
  type RetryRequest,
  retryBackoffs,
  retryFieldsOf,
  retryPolicyOf,
  retryViewOf,
} from './retry.js'

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const retryObject = fc
  .record({
    max_attempts: some(fc.integer({ min: 1, max: 101 })),
    backoff: some(fc.constantFrom(...retryBackoffs)),
    base_ms: some(fc.integer({ min: 1, max: 86_400_000 })),
    factor: some(fc.double({ min: 1, max: 100, noNaN: true })),
    cap_ms: some(fc.integer({ min: 1, max: 86_400_000 })),
    max_elapsed_seconds: some(fc.integer({ min: 1, max: 2_592_000 })),
  })
  .map(given)
const request = fc
  .record({
    max_retries: some(fc.integer({ min: 0, max: 100 })),
    retry_backoff: some(fc.constantFrom(...retryBackoffs)),
    retry: some(retryObject),
    on_lost: some(fc.constantFrom(...onLostChoices)),
  })
  .map(given)

/** Only the fields that were given, as JSON has them. */
function given(fields: object): RetryRequest & Record<string, never> {
  return JSON.parse(JSON.stringify(fields)) as RetryRequest & Record<string, never>
}

function problems(sent: RetryRequest) {
  try {
    checkRetryRequest(sent)
    return []
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    expect(error.code).toBe('validation_failed')
    return error.errors
  }
}

describe('a policy', () => {
  it('of a job that says nothing: three retries, exponential, from a second to five minutes', () => {
    expect(retryPolicyOf(retryFieldsOf({}))).toEqual({
      maxAttempts: 4,
      backoff: 'exponential',
      baseMs: 1_000,
      factor: 2,
      capMs: 300_000,
      maxElapsedMs: null,
      onLost: 'retry',
    })
  })

  it('of a job stored with the short form only is the same as of one registered with it today', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100 }),
        fc.constantFrom(...retryBackoffs),
        (max_retries, retry_backoff) => {
          const old = { max_retries, retry_backoff }
          expect(retryPolicyOf(old)).toEqual(retryPolicyOf(retryFieldsOf(old)))
          expect(retryPolicyOf(old)).toMatchObject({ maxAttempts: max_retries + 1, backoff: retry_backoff })
        },
      ),
    )
  })

  it('is the same in both forms', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100 }),
        fc.constantFrom(...retryBackoffs),
        (max_retries, backoff) => {
          const short = retryFieldsOf({ max_retries, retry_backoff: backoff })
          const object = retryFieldsOf({ retry: { max_attempts: max_retries + 1, backoff } })
          expect(object).toEqual(short)
        },
      ),
    )
  })

  it('says what the object form said', () => {
    const retry = {
      max_attempts: 7,
      backoff: 'linear',
      base_ms: 50,
      cap_ms: 900,
      max_elapsed_seconds: 30,
    } as const
    expect(retryPolicyOf(retryFieldsOf({ retry, on_lost: 'fail' }))).toEqual({
      maxAttempts: 7,
      backoff: 'linear',
      baseMs: 50,
      factor: 2,
      capMs: 900,
      maxElapsedMs: 30_000,
      onLost: 'fail',
    })
  })

  it('has a cap of at least its base, whatever was given', () => {
    fc.assert(
      fc.property(request, (sent) => {
        const { baseMs, capMs } = retryPolicyOf(retryFieldsOf(sent))
        expect(capMs).toBeGreaterThanOrEqual(baseMs)
      }),
    )
  })

  it('is shown in full, and what is shown says the same when it is sent', () => {
    fc.assert(
      fc.property(request, (sent) => {
        const fields = retryFieldsOf(sent)
        const { retry, on_lost } = retryViewOf(fields)
        const { max_elapsed_seconds: elapsed, ...rest } = retry
        const again = {
          retry: { ...rest, ...(elapsed !== null && { max_elapsed_seconds: elapsed }) },
          on_lost,
        }
        expect(retryFieldsOf(again)).toEqual(fields)
      }),
    )
    expect(retryViewOf({ max_retries: 0, retry_backoff: 'fixed' })).toMatchObject({
      retry: { max_attempts: 1, backoff: 'fixed', base_ms: 1_000, max_elapsed_seconds: null },
      on_lost: 'retry',
    })
  })

  it('stays the same when it is stored and read again, as JSON too', () => {
    fc.assert(
      fc.property(request, (sent) => {
        const fields = retryFieldsOf(sent)
        const stored = JSON.parse(JSON.stringify(fields)) as typeof fields
        expect(retryFieldsOf(stored)).toEqual(fields)
        expect(retryPolicyOf(stored)).toEqual(retryPolicyOf(fields))
      }),
    )
  })
})

describe('a change laid over a stored policy', () => {
  const stored = retryFieldsOf({ retry: { max_attempts: 9, backoff: 'linear', base_ms: 70, cap_ms: 80 } })

  it('of max_retries leaves the rest', () => {
    expect(retryFieldsOf({ ...stored, max_retries: 1 })).toEqual({ ...stored, max_retries: 1 })
  })

  it('of the object leaves the attempts and the backoff that it does not name', () => {
    expect(retryFieldsOf({ ...stored, retry: { base_ms: 5 } })).toMatchObject({
      max_retries: 8,
      retry_backoff: 'linear',
      retry: { base_ms: 5, cap_ms: 300_000 },
    })
  })

  it('with null goes back to the defaults', () => {
    expect(retryFieldsOf({ ...stored, retry: null, max_retries: null })).toEqual({
      ...retryFieldsOf({}),
      retry_backoff: 'linear',
    })
  })
})

describe('a request that contradicts itself is refused', () => {
  it.each([
    [{ max_retries: 3, retry: { max_attempts: 4 } }, ['/max_retries']],
    [{ max_retries: 0, retry: {} }, ['/max_retries']],
    [{ retry_backoff: 'fixed', retry: { base_ms: 5 } }, ['/retry_backoff']],
    [{ max_retries: 3, retry_backoff: 'fixed', retry: {} }, ['/max_retries', '/retry_backoff']],
    [{ retry: { backoff: 'fixed', factor: 2 } }, ['/retry/factor']],
    [{ retry: { base_ms: 10, cap_ms: 9 } }, ['/retry/cap_ms']],
  ] as [RetryRequest, string[]][])('%j', (sent, pointers) => {
    const found = problems(sent)
    expect(found.map(({ pointer }) => pointer)).toEqual(pointers)
    for (const { message, hint } of found) expect([message, hint].every(Boolean)).toBe(true)
  })

  it('with the reason and the repair', () => {
    expect(() => checkRetryRequest({ max_retries: 3, retry: { max_attempts: 4 } })).toThrow(
      'max_retries cannot be given together with retry: the two could contradict each other.',
    )
    expect(problems({ max_retries: 3, retry: {} })[0]?.hint).toContain('retry.max_attempts (max_retries + 1)')
  })

  it.each([
    {},
    { max_retries: 3, retry_backoff: 'fixed' },
    { retry: { max_attempts: 4, backoff: 'exponential', factor: 3 } },
    { retry: { factor: 3 } },
    { retry: { base_ms: 10, cap_ms: 10 } },
    { max_retries: 3, retry: null },
    { max_retries: null, retry: {} },
  ] as RetryRequest[])('%j is not', (sent) => {
    expect(problems(sent)).toEqual([])
  })
})
