import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const moment = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: `${description}: ISO-8601; without an offset, in the time zone of the job`,
  })
const reason = Type.Optional(
  Type.String({ minLength: 1, maxLength: limits.reason, description: 'For people who look at the job' }),
)

/** Asks to leave one tick out. */
export const SkipInput = Type.Object(
  { at: moment('The tick'), reason },
  { $id: 'SkipInput', additionalProperties: false },
)
export type SkipInput = Static<typeof SkipInput>

/** Asks to start one tick at another time. */
export const MoveInput = Type.Object(
  {
    at: moment('The tick'),
    to: moment('When it starts: ahead, and between the starts of the ticks beside it'),
    reason,
  },
  { $id: 'MoveInput', additionalProperties: false },
)
export type MoveInput = Static<typeof MoveInput>

/** Takes back what was asked of a tick. */
export const RestoreInput = Type.Object(
  { at: moment('The tick') },
  { $id: 'RestoreInput', additionalProperties: false },
)
export type RestoreInput = Static<typeof RestoreInput>

/** A tick that is ahead. */
export const Tick = Type.Object(
  {
    due: Type.String({ format: 'date-time', description: 'The tick, by which it is named for ever' }),
    start_at: Type.String({ format: 'date-time', description: 'When it starts' }),
    due_local: Type.String({ description: "What the clocks of the job's zone show, with their offset" }),
    state: stringEnum(['planned', 'skipped', 'moved', 'staged'], {
      description: 'staged: its run is in the queue and waits for its time',
    }),
    note: Type.Optional(Type.String({ description: 'What is special about it' })),
  },
  { $id: 'Tick' },
)
export type Tick = Static<typeof Tick>

export const TickList = Type.Object(
  { data: Type.Array(Tick), next_cursor: Type.Null({ description: 'Ask again with `from`' }) },
  { $id: 'TickList' },
)
export type TickList = Static<typeof TickList>
