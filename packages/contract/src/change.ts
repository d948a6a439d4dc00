import { type Static, Type } from 'typebox'
import { JobInput } from './job.js'
import { limits } from './limits.js'

/** The reason and the end of a pause; neither is needed. */
export const PauseInput = Type.Object(
  {
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.reason, description: 'For people who look at the job' }),
    ),
    until: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'When the job resumes by itself: ISO-8601; without an offset, in its own time zone',
      }),
    ),
  },
  { $id: 'PauseInput', additionalProperties: false },
)
export type PauseInput = Static<typeof PauseInput>

type Nullable<Fields> = { [Name in keyof Fields]?: Fields[Name] | null }
/** Fields of a job to change; each replaces the present one as a whole. Null: back to the default. */
export type JobPatch = Partial<Pick<JobInput, 'name' | 'schedule' | 'target' | 'payload'>> &
  Nullable<Omit<JobInput, 'name' | 'schedule' | 'target' | 'payload'>> & { version?: number }

/** These have no default, or null is a value of theirs. */
const neverNull = new Set(['name', 'schedule', 'target', 'payload'])

interface Field {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  default?: unknown
}

function patchField(name: string, field: Field): Field | object {
  const { default: _default, ...rest } = field
  if (neverNull.has(name)) return field
  // An enum of one type, and not a union with null: a wrong value then has one clear message.
  return {
    ...rest,
    type: [...new Set([field.type, 'null'].flat())],
    ...(field.enum !== undefined && { enum: [...field.enum, null] }),
  }
}

export const JobPatch = Type.Unsafe<JobPatch>({
  $id: 'JobPatch',
  type: 'object',
  description:
    'The fields to change, each as a whole. null puts a field back to its default. `version`, if given, must be the ' +
    'present one: otherwise somebody else was faster, and nothing is changed',
  properties: {
    ...Object.fromEntries(
      Object.entries(JobInput.properties).map(([name, field]) => [name, patchField(name, field as Field)]),
    ),
    version: { type: 'integer', minimum: 1, description: 'The version that the change was made for' },
  },
  additionalProperties: false,
})

/** A definition for the job of a name, which the path says. */
export type JobUpsertInput = Omit<JobInput, 'name'> & { name?: string }
export const JobUpsertInput = Type.Unsafe<JobUpsertInput>({
  ...JobInput,
  $id: 'JobUpsertInput',
  required: (JobInput.required ?? []).filter((name) => name !== 'name'),
})
