import { type Static, Type } from 'typebox'
import { limits } from './limits.js'

const moment = (description: string) => Type.String({ minLength: 1, maxLength: 64, description })

export const Blackout = Type.Object(
  {
    from: moment('ISO-8601; without an offset, in the time zone of the job that names the calendar'),
    to: moment('The first instant after it'),
    reason: Type.String({ minLength: 1, maxLength: limits.reason }),
  },
  { $id: 'Blackout', additionalProperties: false },
)
export type Blackout = Static<typeof Blackout>

/** What a person sends to make or replace a calendar. */
export const CalendarInput = Type.Object(
  {
    dates: Type.Array(moment('A day "2026-12-25", or a range with both ends "2026-12-24/2027-01-02"'), {
      maxItems: limits.calendarDates,
    }),
    blackouts: Type.Optional(Type.Array(Blackout, { maxItems: limits.blackouts })),
  },
  { $id: 'CalendarInput', additionalProperties: false },
)
export type CalendarInput = Static<typeof CalendarInput>

/** Days and stretches of time that jobs leave out by naming the calendar in `exclude`. */
export const Calendar = Type.Object(
  {
    name: Type.String(),
    version: Type.Integer({ description: 'Raised by every change of its content' }),
    dates: Type.Array(Type.String()),
    blackouts: Type.Array(Blackout),
    updated_at: Type.String({ format: 'date-time' }),
    jobs: Type.Integer({ description: 'Live jobs that name it' }),
  },
  { $id: 'Calendar' },
)
export type Calendar = Static<typeof Calendar>

export const CalendarList = Type.Object({ data: Type.Array(Calendar) }, { $id: 'CalendarList' })
export type CalendarList = Static<typeof CalendarList>
