import { type Static, type TSchema, Type } from 'typebox'
import { alertKindNames, alertSeverities } from './alert-kinds.js'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const maybe = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const instant = (description: string) => Type.String({ format: 'date-time', description })
const text = (most: number, description: string) =>
  Type.String({ minLength: 1, maxLength: most, description })
const cursor = maybe(Type.String())

export const alertStates = ['firing', 'silenced', 'resolved'] as const
export type AlertState = (typeof alertStates)[number]

const kind = stringEnum(alertKindNames, { description: 'What it is about; docs/operate/alerts.md' })

export const Alert = Type.Object(
  {
    alert_id: Type.String({ pattern: '^alert_[0-9a-z]{13}$' }),
    kind: Type.String(),
    severity: stringEnum(alertSeverities),
    state: stringEnum(alertStates),
    scope: stringEnum(['fleet', 'tenant'], { description: 'Whose it is' }),
    job_id: maybe(Type.String()),
    job_name: maybe(Type.String()),
    subject: Type.String({ description: 'One line, for people' }),
    summary: Type.String({ description: 'What its kind means' }),
    detail: Type.Unknown({ description: 'What was found, by kind' }),
    starts_at: instant('When it was raised'),
    last_seen_at: instant('When it was last found to go on'),
    ends_at: maybe(instant('When it was over')),
    resolved_by: maybe(Type.String({ description: 'Who said that it is over; null: it was seen to be' })),
    count: Type.Integer({ minimum: 1, description: 'How often it was found' }),
    silenced_by: maybe(Type.String({ description: 'The silence that keeps it from being told' })),
    notifications: Type.Optional(
      Type.Array(
        Type.Object({
          channel_id: Type.String(),
          channel: Type.String({ description: 'Its name' }),
          event: stringEnum(['firing', 'resolved']),
          delivered_at: maybe(instant('When the channel last took it')),
          given_up_at: maybe(instant('When no further try was made, after a day')),
          next_try_at: maybe(instant('When it is sent next')),
          tries: Type.Integer({ minimum: 0 }),
          error: maybe(Type.String()),
        }),
        { description: 'Who was told. Only where one alert is asked for' },
      ),
    ),
    runbook: Type.String({ description: 'Where it says what to do' }),
  },
  { $id: 'Alert' },
)
export type Alert = Omit<Static<typeof Alert>, 'detail'> & { detail: unknown }

export const AlertList = Type.Object({ data: Type.Array(Alert), next_cursor: cursor }, { $id: 'AlertList' })
export interface AlertList {
  data: Alert[]
  next_cursor: string | null
}

/** Which alerts a list has. */
export interface AlertQuery {
  state?: AlertState
  kind?: string
  job_id?: string
  limit?: number
}

const jobId = Type.String({ minLength: 1, maxLength: 64, description: 'Only of this job' })
const tag = text(limits.tag, 'Only of jobs that have this tag')

export const AlertSilenceInput = Type.Object(
  {
    kind: Type.Optional(kind),
    job_id: Type.Optional(jobId),
    tag: Type.Optional(tag),
    until: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'ISO-8601 with an offset; 90 days ahead at most',
    }),
    reason: text(limits.reason, 'For people who wonder why nothing is told'),
  },
  { $id: 'AlertSilenceInput', additionalProperties: false },
)
export type AlertSilenceInput = Static<typeof AlertSilenceInput>

export const AlertSilence = Type.Object(
  {
    silence_id: Type.String(),
    kind: maybe(Type.String()),
    job_id: maybe(Type.String()),
    job_name: maybe(Type.String()),
    tag: maybe(Type.String()),
    until: instant('When it ends'),
    reason: Type.String(),
    created_at: instant('When it began'),
    created_by: Type.String({ description: 'The key that made it' }),
  },
  { $id: 'AlertSilence' },
)
export type AlertSilence = Static<typeof AlertSilence>

export const AlertSilenceList = Type.Object(
  { data: Type.Array(AlertSilence), next_cursor: cursor },
  { $id: 'AlertSilenceList' },
)
export type AlertSilenceList = Static<typeof AlertSilenceList>

const params = Type.Unsafe<Record<string, number | null>>({
  type: 'object',
  additionalProperties: { type: ['number', 'null'] },
  maxProperties: 10,
  description: 'By kind; what is left out, or null, is the default',
})
const channels = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: limits.alertChannels,
  uniqueItems: true,
  description: 'Only these are told',
})

export const AlertRuleInput = Type.Object(
  {
    kind,
    job_id: Type.Optional(maybe(jobId)),
    tag: Type.Optional(maybe(tag)),
    params: Type.Optional(params),
    severity: Type.Optional(maybe(stringEnum(alertSeverities))),
    enabled: Type.Optional(Type.Boolean({ default: true, description: 'False: nothing is raised by it' })),
    channels: Type.Optional(maybe(channels)),
  },
  {
    $id: 'AlertRuleInput',
    additionalProperties: false,
    description:
      'In place of the default of its kind: for one job, for the jobs with a tag, or for all. The narrowest holds',
  },
)
export type AlertRuleInput = Static<typeof AlertRuleInput>

export const AlertRulePatch = Type.Object(
  {
    params: Type.Optional(params),
    severity: Type.Optional(maybe(stringEnum(alertSeverities))),
    enabled: Type.Optional(Type.Boolean()),
    channels: Type.Optional(maybe(channels)),
  },
  { $id: 'AlertRulePatch', additionalProperties: false, description: 'What is left out stays as it is' },
)
export type AlertRulePatch = Static<typeof AlertRulePatch>

export const AlertRule = Type.Object(
  {
    rule_id: maybe(
      Type.String({ description: 'Null: the default of the kind, which holds where there is no rule' }),
    ),
    kind: Type.String(),
    job_id: maybe(Type.String()),
    job_name: maybe(Type.String()),
    tag: maybe(Type.String()),
    params: Type.Unsafe<Record<string, number | null>>({
      type: 'object',
      additionalProperties: { type: ['number', 'null'] },
      description: 'With the defaults filled in',
    }),
    severity: stringEnum(alertSeverities),
    enabled: Type.Boolean(),
    channels: maybe(Type.Array(Type.String())),
    summary: Type.String({ description: 'When it is raised' }),
    runbook: Type.String(),
  },
  { $id: 'AlertRule' },
)
export type AlertRule = Static<typeof AlertRule>

export const AlertRuleList = Type.Object(
  { data: Type.Array(AlertRule), next_cursor: cursor },
  { $id: 'AlertRuleList' },
)
export type AlertRuleList = Static<typeof AlertRuleList>
