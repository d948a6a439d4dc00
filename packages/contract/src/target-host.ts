import { type Static, type TSchema, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const maybe = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const maybeInstant = (description: string) => maybe(Type.String({ format: 'date-time', description }))
const count = (description: string) => Type.Integer({ minimum: 0, description })

/** What a breaker does where a host's own settings say nothing. One place, so that docs, API and statements agree. */
export const breakerDefaults = {
  attempts: 10,
  window_seconds: 30,
  failure_ratio: 0.5,
  failures_in_row: 5,
  open_seconds: 10,
  max_open_seconds: 300,
} as const

const whole = (most: number, description: string) =>
  Type.Optional(maybe(Type.Integer({ minimum: 1, maximum: most, description })))
const perSecond = (description: string) =>
  Type.Optional(
    maybe(Type.Number({ minimum: limits.slowestPerSecond, maximum: limits.fastestPerSecond, description })),
  )
const unless = (value: number) => `; null: ${value}`

/** What a person sends to limit the calls to a host. What is left out stays as it is; null takes a limit away. */
export const TargetLimitsInput = Type.Object(
  {
    rate_per_second: perSecond('Starts a second, over the whole fleet'),
    burst: whole(limits.burst, 'Starts at once after a quiet time; null: those of one second'),
    max_concurrent: whole(limits.hostConcurrent, 'Runs at once, over the whole fleet'),
    timeout_seconds: whole(
      limits.timeoutSeconds,
      'The longest that one attempt may take, whatever the job says',
    ),
    drain_per_second: perSecond(
      'The pace at which parked runs leave once the host is well again; null: 10 a second, doubling every 5 s',
    ),
    breaker_enabled: Type.Optional(maybe(Type.Boolean({ description: 'Null: true' }))),
    breaker_attempts: whole(
      limits.hostConcurrent,
      `It opens by the share of failures after so many attempts in a window${unless(breakerDefaults.attempts)}`,
    ),
    breaker_window_seconds: whole(3_600, `The window${unless(breakerDefaults.window_seconds)}`),
    breaker_failure_ratio: Type.Optional(
      maybe(
        Type.Number({
          minimum: 0.01,
          maximum: 1,
          description: `The share of failures by which it opens${unless(breakerDefaults.failure_ratio)}`,
        }),
      ),
    ),
    breaker_failures_in_row: whole(
      limits.hostConcurrent,
      `Or by so many failures without a success between, however rare${unless(breakerDefaults.failures_in_row)}`,
    ),
    breaker_open_seconds: whole(
      86_400,
      `How long it stays open before a probe; each time twice as long${unless(breakerDefaults.open_seconds)}`,
    ),
    breaker_max_open_seconds: whole(
      86_400,
      `But no longer than this${unless(breakerDefaults.max_open_seconds)}`,
    ),
  },
  { $id: 'TargetLimitsInput', additionalProperties: false },
)
export type TargetLimitsInput = Static<typeof TargetLimitsInput>

export const TargetLimits = Type.Required(Type.Omit(TargetLimitsInput, []), { $id: 'TargetLimits' })
export type TargetLimits = {
  [Name in keyof TargetLimitsInput]-?: Exclude<TargetLimitsInput[Name], undefined>
}

export const breakerStates = ['closed', 'open', 'half_open', 'draining'] as const
export type BreakerState = (typeof breakerStates)[number]

export const TargetBreaker = Type.Object(
  {
    state: stringEnum(breakerStates),
    since: maybeInstant('Since when it is in this state; null: it never opened of late'),
    retry_at: maybeInstant('While open: when the next run is let through as a probe'),
    openings: count('How often it opened without a long enough rest between'),
    attempts: count('In the present window; only counted where something failed of late'),
    failures: count('Of these, failed: no connection, timeout, 5xx or 429'),
    failures_in_row: count('Failures since the last success'),
    last_error: maybe(Type.String()),
    last_failed_at: maybeInstant('When it failed last'),
  },
  { $id: 'TargetBreaker' },
)
export type TargetBreaker = Static<typeof TargetBreaker>

/** A host that http jobs call, with what protects it. */
export const TargetHost = Type.Object(
  {
    host: Type.String({ description: 'Lower case, with its port unless that is the usual one' }),
    jobs: count('Live jobs that call it'),
    in_flight: count('Runs that workers have now'),
    waiting: count(`Runs that are due and not started; at most ${limits.countedWaiting} are counted`),
    waiting_since: maybeInstant('When the first of them was due'),
    limits: TargetLimits,
    breaker: TargetBreaker,
  },
  { $id: 'TargetHost' },
)
export type TargetHost = Omit<Static<typeof TargetHost>, 'limits'> & { limits: TargetLimits }

export const TargetHostList = Type.Object(
  { data: Type.Array(TargetHost), next_cursor: maybe(Type.String()) },
  { $id: 'TargetHostList' },
)
export type TargetHostList = { data: TargetHost[]; next_cursor: string | null }
