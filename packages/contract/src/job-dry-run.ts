import { type Static, Type } from 'typebox'
import { JobWarning } from './job.js'
import { JobDefinitionView } from './job-version.js'
import { PreviewTick } from './preview.js'
import { stringEnum } from './string-enum.js'

/** What creating or editing a job would come to. */
export const JobDryRun = Type.Object(
  {
    version: Type.Integer({ description: 'The version that the job would have' }),
    changed: Type.Array(Type.String(), {
      description:
        'The fields that would differ from the job as it is; empty for a new one, and where nothing would',
    }),
    definition: JobDefinitionView,
    description: Type.String({ description: 'The schedule in words' }),
    ticks: Type.Array(PreviewTick, {
      description: 'The first ten; of a paused job those that come if it is resumed',
    }),
    warnings: Type.Array(JobWarning, { description: 'What may not be meant, or may keep it from running' }),
  },
  { $id: 'JobDryRun' },
)
export type JobDryRun = Static<typeof JobDryRun>

/** Beside a body that creates or edits a job. A query that is misspelt would do what was only to be tried. */
export const DryRunQuery = Type.Object(
  {
    dry_run: Type.Optional(
      stringEnum(['true', 'false'] as const, {
        default: 'false',
        description:
          'true: everything is checked, nothing is changed, and the answer says what it would come to',
      }),
    ),
  },
  { additionalProperties: false },
)
export type DryRunQuery = Static<typeof DryRunQuery>
