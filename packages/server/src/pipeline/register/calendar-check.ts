import { type CalendarInput, CarillonError, type FieldProblem, limits } from '@carillon/contract'
import { readExclusions } from '../../time/exclusions.js'
import { timelineOf } from '../../time/timeline.js'

const anyName = 'x'

/** Refuses a calendar that no job could use, with every entry at fault. */
export function checkCalendar(name: string, { dates, blackouts = [] }: CalendarInput): void {
  const problems = [
    ...nameProblems(name),
    ...dates.flatMap((date, at) => problemOf({ dates: [date] }, `/dates/${at}`)),
    ...blackouts.flatMap((blackout, at) =>
      problemOf({ dates: [], blackouts: [blackout] }, `/blackouts/${at}`),
    ),
  ].slice(0, 50)
  const [first] = problems
  if (first === undefined) return
  throw new CarillonError('invalid_calendar', { detail: first.message, errors: problems })
}

/** In `exclude` what begins like a date is one. */
function nameProblems(name: string): FieldProblem[] {
  if ([...name].length > limits.name) {
    return [{ pointer: 'path:name', message: `must have at most ${limits.name} characters` }]
  }
  if (!/^\d{4,}-/.test(name)) return []
  return [
    { pointer: 'path:name', message: `${JSON.stringify(name)} begins like a date: a job could not name it.` },
  ]
}

function problemOf(calendar: CalendarInput, pointer: string): FieldProblem[] {
  try {
    readExclusions([anyName], { [anyName]: calendar }, timelineOf('UTC'))
    return []
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    const hint = error.errors[0]?.hint
    const message = error.message.replace(` of calendar "${anyName}"`, '')
    return [{ pointer, message, ...(hint !== undefined && { hint }) }]
  }
}
