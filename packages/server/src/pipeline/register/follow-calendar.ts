import { isDeepStrictEqual } from 'node:util'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Calendar, CalendarSet } from '../../time/schedule.js'
import { readCalendars } from '../calendars.js'
import { calendarsNamed } from './calendar-content.js'
import { lockAndLook, type Situation } from './change.js'
import { moveCursors } from './move.js'
import { type Rescheduled, reschedule } from './reschedule.js'

const noteStatement = statement<
  {
    now: number
    zone_data: string
    jobs: number[]
    froms: number[]
    calendars: (string | null)[]
    ends: boolean[]
  },
  { job: number }
>(new URL('./note-calendar-change.sql', import.meta.url))

export interface FollowedChange {
  tenant: number
  name: string
  jobs: number[]
  old: Calendar
  next: Calendar
  lateToleranceMs: number
}

/** Sets the timers of jobs by the new content of a calendar. What they did before keeps the old one. */
export async function followCalendar(runner: Runner, change: FollowedChange): Promise<void> {
  const { tenant, name, jobs, old, next, lateToleranceMs } = change
  const situations = await lockAndLook(runner, jobs)
  const others = (await readCalendars(runner, [tenant])).get(tenant) ?? {}
  const before: CalendarSet = { ...others, [name]: old }
  const after: CalendarSet = { ...others, [name]: next }
  const same = isDeepStrictEqual(old, next)
  const changes = situations
    .filter(({ state, definition }) => isLive(state) && definition.exclude.includes(name))
    .flatMap((situation) => planned(situation, before, after, lateToleranceMs))
    .filter(({ situation, rescheduled }) => !(same && isRight(situation, rescheduled)))
  const [first] = changes
  if (first === undefined) return
  const { now } = first.situation
  await moveCursors(
    runner,
    now,
    changes.map(({ situation, rescheduled: { move } }) => ({ situation, move })),
  )
  await runner.run(noteStatement, {
    now,
    zone_data: process.versions.tz ?? 'unknown',
    jobs: changes.map(({ situation }) => situation.job),
    froms: changes.map(({ rescheduled }) => rescheduled.from),
    calendars: changes.map(({ situation }) => JSON.stringify(calendarsNamed(situation.definition, before))),
    ends: changes.map(({ rescheduled }) => rescheduled.ends),
  })
}

function isLive(state: Situation['state']): boolean {
  return state === 'active' || state === 'paused'
}

function planned(situation: Situation, before: CalendarSet, after: CalendarSet, lateToleranceMs: number) {
  const { definition } = situation
  try {
    const rescheduled = reschedule(
      situation,
      { definition, calendars: before },
      { definition, calendars: after },
      lateToleranceMs,
    )
    return [{ situation, rescheduled }]
  } catch {
    // A job that cannot be evaluated is told of where it would fire; it keeps no calendar from being changed.
    return []
  }
}

/** Whether the timer stands where the calendar says, with what is staged left alone. */
function isRight(
  { due, accounted_through: accounted, state }: Situation,
  { schedule }: Rescheduled,
): boolean {
  return state === 'paused' || schedule.next(accounted) === due
}
