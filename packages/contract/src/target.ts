import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const text = (max: number, description: string) => Type.String({ minLength: 1, maxLength: max, description })

/** Not a Type.Record: its pattern leaves out names with a line break, whose values would go unchecked. */
const texts = (max: number, description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    description,
    additionalProperties: { type: 'string', maxLength: max },
  })

/** Bounds of what a target may hold. */
export const targetLimits = {
  successCodes: 50,
  redirects: 5,
  /** Variables in one body template; a payload can be named many times, and each time it is written out. */
  bodyVariables: 100,
  arguments: 1_000,
  commandText: 32_768,
  environment: 100,
  path: 4_096,
} as const

/** What viewers and workers see in place of a header's or a variable's value. No target takes it: what was copied from them loses nothing. */
export const hiddenValue = '••••••'
const hidden = 'Their values are shown to operators and admins; others see •••••• in place of them.'

export const HttpTarget = Type.Object(
  {
    type: Type.Literal('http'),
    url: text(limits.url, 'Absolute http or https URL'),
    method: Type.Optional(stringEnum(['POST', 'PUT', 'PATCH', 'GET', 'DELETE'], { default: 'POST' })),
    headers: Type.Optional(
      texts(
        limits.headerValue,
        'Sent with every delivery. Carillon-*, Webhook-*, Idempotency-Key and Traceparent are set by Carillon. ' +
          hidden,
      ),
    ),
    body: Type.Optional(
      Type.Unknown({
        description:
          'What is sent in place of the standard envelope: JSON, or text if it is a string. Variables: {{payload}}, ' +
          '{{payload.a.b}}, {{job_id}}, {{job_name}}, {{run_id}}, {{scheduled_at}}, {{scheduled_at_unix}}, {{attempt}}, ' +
          '{{fencing_token}}, {{catch_up}}, {{idempotency_key}}',
      }),
    ),
    success_codes: Type.Optional(
      Type.Unsafe<(number | string)[]>({
        type: 'array',
        minItems: 1,
        maxItems: targetLimits.successCodes,
        // Without a type: the target's own check has one clear message for every wrong one.
        items: {},
        default: ['2xx'],
        description: 'Statuses that count as success: 204, "2xx", "200-204"',
      }),
    ),
    follow_redirects: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: targetLimits.redirects,
        default: 0,
        description:
          'How many redirects one delivery follows. Your own headers are not sent to another origin',
      }),
    ),
  },
  { $id: 'HttpTarget', additionalProperties: false },
)
export type HttpTarget = Static<typeof HttpTarget>

export const TaskTarget = Type.Object(
  { type: Type.Literal('task'), task: text(limits.name, 'Name of a task that a worker has loaded') },
  { $id: 'TaskTarget', additionalProperties: false },
)
export type TaskTarget = Static<typeof TaskTarget>

export const CommandTarget = Type.Object(
  {
    type: Type.Literal('command'),
    argv: Type.Optional(
      Type.Array(Type.String({ maxLength: targetLimits.commandText }), {
        minItems: 1,
        maxItems: targetLimits.arguments,
        description: 'The program and its arguments, passed on as they are. Either this or shell',
      }),
    ),
    shell: Type.Optional(text(targetLimits.commandText, 'A line for /bin/sh -c. Either this or argv')),
    env: Type.Optional(
      texts(
        targetLimits.commandText,
        'Added to PATH, HOME, LANG and TZ of the worker; nothing else is inherited. CARILLON_* is set by Carillon. ' +
          hidden,
      ),
    ),
    cwd: Type.Optional(text(targetLimits.path, 'Absolute path of the working folder. Default: the worker’s')),
    success_exit_codes: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), {
        minItems: 1,
        maxItems: 256,
        default: [0],
        description: 'Exit codes that count as success',
      }),
    ),
  },
  { $id: 'CommandTarget', additionalProperties: false },
)
export type CommandTarget = Static<typeof CommandTarget>

export type Target = HttpTarget | TaskTarget | CommandTarget
/** `type` says which one is meant, so that a mistake is reported against that one and not against all. */
export const Target = Type.Unsafe<Target>({
  $id: 'Target',
  type: 'object',
  oneOf: [HttpTarget, TaskTarget, CommandTarget],
  discriminator: { propertyName: 'type' },
})

/** The body of a delivery whose target has no body template. */
export interface WebhookEnvelope<Payload = unknown> {
  job_id: string
  job_name: string
  /** The same as the header webhook-id, over all attempts of a run. */
  run_id: string
  /** The tick: ISO-8601, UTC. */
  scheduled_at: string
  /** 1 for the first attempt. */
  attempt: number
  /** Grows with every attempt. A store that remembers the highest one can refuse a late writer. */
  fencing_token: number
  /** True when the tick had been missed and is run late. */
  catch_up: boolean
  idempotency_key: string
  payload: Payload
}
