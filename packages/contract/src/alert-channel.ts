import { type Static, type TSchema, Type } from 'typebox'
import { alertSeverities } from './alert-kinds.js'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const maybe = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const text = (most: number, description: string) =>
  Type.String({ minLength: 1, maxLength: most, description })

export const alertChannelTypes = ['alertmanager', 'webhook', 'slack', 'email'] as const
export type AlertChannelType = (typeof alertChannelTypes)[number]

/** What it takes to send. Which of them a channel has depends on its type; the server says which are missing or too many. */
const settings = {
  url: Type.Optional(
    text(
      limits.url,
      'alertmanager: where it listens, such as http://alertmanager:9093. webhook and slack: where to post. A secret: it is never shown again whole',
    ),
  ),
  headers: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      maxProperties: limits.headers,
      additionalProperties: { type: 'string', maxLength: limits.headerValue },
      description: 'Sent with every post, e.g. Authorization. Never shown again',
    }),
  ),
  smtp_host: Type.Optional(text(255, 'email: the server that takes mail')),
  smtp_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, default: 587 })),
  smtp_tls: Type.Optional(
    stringEnum(['starttls', 'tls', 'none'], {
      default: 'starttls',
      description: 'starttls: refused where the server does not offer it; tls: from the first byte',
    }),
  ),
  smtp_user: Type.Optional(text(255, 'email: who logs in')),
  smtp_password: Type.Optional(text(1_024, 'Never shown again')),
  from: Type.Optional(text(320, 'email: the address of the sender')),
  to: Type.Optional(
    Type.Array(text(320, 'An address'), { minItems: 1, maxItems: 20, description: 'email: who gets it' }),
  ),
}

export const AlertChannelInput = Type.Object(
  {
    name: text(limits.channelName, 'Unique in the tenant'),
    type: stringEnum(alertChannelTypes),
    min_severity: Type.Optional(
      stringEnum(alertSeverities, { default: 'info', description: 'What matters less is not told here' }),
    ),
    ...settings,
  },
  { $id: 'AlertChannelInput', additionalProperties: false },
)
export type AlertChannelInput = Static<typeof AlertChannelInput>

export const AlertChannelPatch = Type.Object(
  {
    name: Type.Optional(text(limits.channelName, 'Unique in the tenant')),
    min_severity: Type.Optional(stringEnum(alertSeverities)),
    ...settings,
  },
  {
    $id: 'AlertChannelPatch',
    additionalProperties: false,
    description: 'What is left out stays as it is, secrets too. The type of a channel never changes',
  },
)
export type AlertChannelPatch = Static<typeof AlertChannelPatch>

export const AlertChannel = Type.Object(
  {
    channel_id: Type.String(),
    name: Type.String(),
    type: stringEnum(alertChannelTypes),
    min_severity: stringEnum(alertSeverities),
    url: maybe(Type.String({ description: 'Scheme and host only, "…" for the rest' })),
    header_names: Type.Array(Type.String()),
    smtp_host: maybe(Type.String()),
    smtp_port: maybe(Type.Integer()),
    smtp_tls: maybe(Type.String()),
    smtp_user: maybe(Type.String()),
    smtp_password_set: Type.Boolean(),
    from: maybe(Type.String()),
    to: Type.Array(Type.String()),
    created_at: Type.String({ format: 'date-time' }),
    waiting: Type.Integer({ minimum: 0, description: 'Notifications that it has not taken yet' }),
    last_delivery: maybe(
      Type.Object({
        at: Type.String({ format: 'date-time' }),
        ok: Type.Boolean(),
        error: maybe(Type.String()),
      }),
    ),
  },
  { $id: 'AlertChannel' },
)
export type AlertChannel = Static<typeof AlertChannel>

export const AlertChannelList = Type.Object(
  { data: Type.Array(AlertChannel), next_cursor: maybe(Type.String()) },
  { $id: 'AlertChannelList' },
)
export type AlertChannelList = Static<typeof AlertChannelList>

/** What became of a test. */
export const AlertChannelTest = Type.Object(
  { ok: Type.Boolean(), error: maybe(Type.String({ description: 'Why it was not taken' })) },
  { $id: 'AlertChannelTest' },
)
export type AlertChannelTest = Static<typeof AlertChannelTest>
