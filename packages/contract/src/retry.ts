import { Type } from 'typebox'
import { CarillonError, type FieldProblem } from './carillon-error.js'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

export const retryBackoffs = ['fixed', 'linear', 'exponential'] as const
export type RetryBackoff = (typeof retryBackoffs)[number]

export const onLostChoices = ['retry', 'fail'] as const
export type OnLost = (typeof onLostChoices)[number]

/** Bounds and defaults of the object form. */
export const retryLimits = {
  waitMs: 86_400_000,
  factor: 100,
  elapsedSeconds: 30 * 86_400,
  defaultRetries: 3,
  defaultBackoff: 'exponential',
  defaultBaseMs: 1_000,
  defaultFactor: 2,
  defaultCapMs: 300_000,
} as const

/** The short form. */
export const shortRetryFields = {
  max_retries: Type.Optional(
    Type.Integer({ minimum: 0, maximum: limits.retries, default: retryLimits.defaultRetries }),
  ),
  retry_backoff: Type.Optional(stringEnum(retryBackoffs, { default: retryLimits.defaultBackoff })),
}

const wait = (description: string, byDefault: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: retryLimits.waitMs, default: byDefault, description }))

/** The object form, in place of the short one, and what becomes of a run whose worker was lost. */
export const fullRetryFields = {
  retry: Type.Optional(
    Type.Object(
      {
        max_attempts: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: limits.retries + 1,
            default: retryLimits.defaultRetries + 1,
            description: 'All attempts, the first one included',
          }),
        ),
        backoff: Type.Optional(stringEnum(retryBackoffs, { default: retryLimits.defaultBackoff })),
        base_ms: wait('The longest wait before the second attempt', retryLimits.defaultBaseMs),
        factor: Type.Optional(
          Type.Number({
            minimum: 1,
            maximum: retryLimits.factor,
            default: retryLimits.defaultFactor,
            description: 'Of the exponential backoff: how much longer each wait is than the one before',
          }),
        ),
        cap_ms: wait('No wait of the backoff is longer', retryLimits.defaultCapMs),
        max_elapsed_seconds: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: retryLimits.elapsedSeconds,
            description: 'No attempt starts later than this after the run was due. Default: no such limit',
          }),
        ),
      },
      {
        additionalProperties: false,
        description:
          'How failed attempts are repeated. Each wait is drawn between 0 and its backoff (full jitter). ' +
          'In place of max_retries and retry_backoff',
      },
    ),
  ),
  on_lost: Type.Optional(
    stringEnum(onLostChoices, {
      default: 'retry',
      description:
        'A run whose worker was lost amid it: retry starts it again; fail records it, because the job must never run twice',
    }),
  ),
}

export interface RetryObject {
  max_attempts?: number
  backoff?: RetryBackoff
  base_ms?: number
  factor?: number
  cap_ms?: number
  max_elapsed_seconds?: number
}

/** What a person may say about retries, in either form; in a patch null stands for the default. */
export interface RetryRequest {
  max_retries?: number | null
  retry_backoff?: RetryBackoff | null
  retry?: RetryObject | null
  on_lost?: OnLost | null
}

/** What a definition says about retries. Jobs stored before there was an object form have only the first two. */
export interface RetryFields {
  max_retries: number
  retry_backoff: RetryBackoff
  retry?: Pick<RetryObject, 'base_ms' | 'factor' | 'cap_ms' | 'max_elapsed_seconds'>
  on_lost?: OnLost
}

/** The one form in which a policy is computed with. */
export interface RetryPolicy {
  maxAttempts: number
  backoff: RetryBackoff
  baseMs: number
  factor: number
  capMs: number
  maxElapsedMs: number | null
  onLost: OnLost
}

/** Refuses what contradicts itself within one request. Call it with what was sent, before anything is merged into it. */
export function checkRetryRequest({ max_retries, retry_backoff, retry }: RetryRequest): void {
  if (retry == null) return
  const problems: FieldProblem[] = []
  for (const [name, value] of Object.entries({ max_retries, retry_backoff })) {
    if (value == null) continue
    const twin = name === 'max_retries' ? 'retry.max_attempts (max_retries + 1)' : 'retry.backoff'
    problems.push({
      pointer: `/${name}`,
      message: 'cannot be given together with retry: the two could contradict each other',
      hint: `Remove it and say it as ${twin}, or remove retry.`,
    })
  }
  const { backoff, factor, base_ms: baseMs, cap_ms: capMs } = retry
  if (factor !== undefined && backoff !== undefined && backoff !== 'exponential') {
    problems.push({
      pointer: '/retry/factor',
      message: `has no meaning with backoff ${backoff}`,
      hint: 'Remove it, or make the backoff exponential.',
    })
  }
  if (baseMs !== undefined && capMs !== undefined && capMs < baseMs) {
    problems.push({
      pointer: '/retry/cap_ms',
      message: `is less than base_ms (${capMs} < ${baseMs}), so that every wait would be cut`,
      hint: 'Give a cap of at least base_ms.',
    })
  }
  const [first] = problems
  if (first === undefined) return
  throw new CarillonError('validation_failed', {
    detail: `${first.pointer.slice(1).replace('/', '.')} ${first.message}.`,
    errors: problems,
  })
}

/**
 * The fields to store. Takes what was sent, or what was sent over a stored definition: then an object form that names
 * no attempts or no backoff leaves those of the definition.
 */
export function retryFieldsOf(request: RetryRequest): Required<RetryFields> {
  const { retry } = request
  const baseMs = retry?.base_ms ?? retryLimits.defaultBaseMs
  const retries = retry?.max_attempts === undefined ? request.max_retries : retry.max_attempts - 1
  return {
    max_retries: retries ?? retryLimits.defaultRetries,
    retry_backoff: retry?.backoff ?? request.retry_backoff ?? retryLimits.defaultBackoff,
    retry: {
      base_ms: baseMs,
      factor: retry?.factor ?? retryLimits.defaultFactor,
      // A first wait beyond the usual cap is meant.
      cap_ms: Math.max(retry?.cap_ms ?? retryLimits.defaultCapMs, baseMs),
      ...(retry?.max_elapsed_seconds != null && { max_elapsed_seconds: retry.max_elapsed_seconds }),
    },
    on_lost: request.on_lost ?? 'retry',
  }
}

export function retryPolicyOf(fields: RetryFields): RetryPolicy {
  const { max_retries: retries, retry_backoff: backoff, retry, on_lost: onLost } = retryFieldsOf(fields)
  return {
    maxAttempts: 1 + retries,
    backoff,
    baseMs: retry.base_ms ?? retryLimits.defaultBaseMs,
    factor: retry.factor ?? retryLimits.defaultFactor,
    capMs: retry.cap_ms ?? retryLimits.defaultCapMs,
    maxElapsedMs: retry.max_elapsed_seconds === undefined ? null : retry.max_elapsed_seconds * 1_000,
    onLost,
  }
}

/** How a job shows its policy: always in full, whichever form it was given in. */
export const retryViewFields = {
  retry: Type.Optional(
    Type.Object({
      max_attempts: Type.Integer(),
      backoff: stringEnum(retryBackoffs),
      base_ms: Type.Integer(),
      factor: Type.Number(),
      cap_ms: Type.Integer(),
      max_elapsed_seconds: Type.Union([Type.Integer(), Type.Null()]),
    }),
  ),
  on_lost: Type.Optional(stringEnum(onLostChoices)),
}

export function retryViewOf(fields: RetryFields) {
  const policy = retryPolicyOf(fields)
  return {
    retry: {
      max_attempts: policy.maxAttempts,
      backoff: policy.backoff,
      base_ms: policy.baseMs,
      factor: policy.factor,
      cap_ms: policy.capMs,
      max_elapsed_seconds: policy.maxElapsedMs === null ? null : policy.maxElapsedMs / 1_000,
    },
    on_lost: policy.onLost,
  }
}
