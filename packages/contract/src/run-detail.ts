import { type Static, Type } from 'typebox'
import { Run } from './run.js'

const maybe = <Schema extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
  schema: Schema,
) => Type.Union([schema, Type.Null()])
const maybeInstant = (description: string) => maybe(Type.String({ format: 'date-time', description }))

/** One try of a run, or a decision about it, as the ledger has it. */
export const RunAttempt = Type.Object(
  {
    attempt: Type.Integer({ description: '0: a decision, nothing was tried' }),
    round: Type.Integer({ description: 'Raised by each re-drive' }),
    outcome: Type.String(),
    final: Type.Boolean({ description: 'It ended the run in this round' }),
    reason: maybe(Type.String()),
    error: maybe(Type.String()),
    result: Type.Unknown({ description: 'What the target answered, capped' }),
    version: Type.Integer(),
    fencing_token: maybe(Type.Integer()),
    worker: maybe(Type.String({ description: 'The process that had it' })),
    available_at: maybeInstant('When it could start at the earliest'),
    leased_at: maybeInstant('When a worker took it'),
    started_at: maybeInstant('When it started'),
    finished_at: maybeInstant('When it finished'),
    recorded_at: Type.String({ format: 'date-time', description: 'When the database recorded it' }),
  },
  { $id: 'RunAttempt' },
)
export type RunAttempt = Static<typeof RunAttempt>

/** A run with everything that was tried. */
export const RunDetail = Type.Object(
  {
    ...Run.properties,
    round: Type.Integer({ description: 'How often it was re-driven' }),
    attempts: Type.Array(RunAttempt, { description: 'Every attempt that ended, of every round, in order' }),
  },
  { $id: 'RunDetail' },
)
export type RunDetail = Static<typeof RunDetail>
