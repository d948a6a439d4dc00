import { type Static, Type } from 'typebox'
import { JobInput } from './job.js'
import { limits } from './limits.js'

const scheduleFields = [
  ...(['schedule', 'timezone', 'dst_gap', 'dst_overlap', 'exclude'] as const),
  ...(['on_excluded', 'starts_at', 'ends_at', 'max_runs'] as const),
]
type ScheduleFields = Pick<JobInput, (typeof scheduleFields)[number]>

/** The other fields of a job are taken and not looked at, so that a whole definition can be sent as it is. */
const others = Object.keys(JobInput.properties).filter(
  (name) => !(scheduleFields as readonly string[]).includes(name),
)

export type ExplainInput = ScheduleFields & Partial<Omit<JobInput, keyof ScheduleFields>> & { from?: string }
export type PreviewInput = ExplainInput & { count?: number }

const explainProperties = {
  ...Object.fromEntries(scheduleFields.map((name) => [name, JobInput.properties[name]])),
  ...Object.fromEntries(others.map((name) => [name, {}])),
  from: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description:
      'Only ticks after this: ISO-8601; without an offset, in the time zone of the job. Default: now',
  },
}

export const ExplainInput = Type.Unsafe<ExplainInput>({
  $id: 'ExplainInput',
  type: 'object',
  description: 'The schedule fields of a job. Its other fields may be sent along and are not looked at',
  properties: explainProperties,
  required: ['schedule'],
  additionalProperties: false,
})

export const PreviewInput = Type.Unsafe<PreviewInput>({
  $id: 'PreviewInput',
  type: 'object',
  description: 'The schedule fields of a job. Its other fields may be sent along and are not looked at',
  properties: {
    ...explainProperties,
    count: {
      type: 'integer',
      minimum: 1,
      maximum: limits.previewedTicks,
      default: 10,
      description: 'How many ticks',
    },
  },
  required: ['schedule'],
  additionalProperties: false,
})

export const PreviewTick = Type.Object(
  {
    at: Type.String({ format: 'date-time', description: 'UTC' }),
    local: Type.String({ description: 'What the clocks of its zone show, with their offset' }),
    note: Type.Union([Type.String(), Type.Null()], {
      description: 'What the clocks or the exclusions do to it, and which ticks before it are dropped',
    }),
  },
  { $id: 'PreviewTick' },
)

const read = {
  description: Type.String({ description: 'The schedule in words' }),
  timezone: Type.String(),
  warnings: Type.Array(Type.String(), { description: 'What may not be meant' }),
}

export const SchedulePreview = Type.Object(
  { ...read, ticks: Type.Array(PreviewTick) },
  { $id: 'SchedulePreview' },
)
export type SchedulePreview = Static<typeof SchedulePreview>

export const ScheduleExplanation = Type.Object(
  {
    ...read,
    next_run_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'The first tick after `from`',
    }),
  },
  { $id: 'ScheduleExplanation' },
)
export type ScheduleExplanation = Static<typeof ScheduleExplanation>
