import { type JobDefinition, limits } from '@carillon/contract'
import { decideTick } from '../../time/missed.js'
import { type CalendarSet, parseSchedule, type Schedule } from '../../time/schedule.js'
import { jobIdOf } from '../../platform/ids.js'
import { spreadMs } from '../spread.js'

/** A timer as scan-due.sql answers it. */
export interface DueTimer {
  job: number
  partition: number
  tenant: number
  due: number
  start_at: number
  rev: number
  /** Every tick up to here is in queue or ledger. */
  accounted_through: number
  uuid: string
  version: number
  route: number
  /** Without payload and target: a tick does not depend on them. */
  definition: Omit<JobDefinition, 'payload' | 'target'>
  now: number
}

/** One row for the firing statement: what this tick becomes, and where the cursor goes. */
export interface PlannedTick {
  timer: DueTimer
  /** The tick to run; null when all that were missed are passed over. */
  runDue: number | null
  availableAt: number
  catchUp: boolean
  nextDue: number | null
  nextStart: number | null
  skip: { from: number; to: number; count: number } | null
  /** Wall times that the rule names and the clocks jumped over, by the instant of the jump: no runs, but on record. */
  gaps: { at: number; count: number }[]
}

/** What to do with a due timer. Pure: ticks are computed here, in Node only, from the rule at every firing. */
export function planTick(timer: DueTimer, lateToleranceMs: number, calendars: CalendarSet = {}): PlannedTick {
  const { definition } = timer
  checkNumbers(definition)
  const schedule = parseSchedule({ ...definition, calendars })
  const decision = decideTick({
    schedule,
    due: timer.due,
    startAt: timer.start_at,
    now: timer.now,
    lateToleranceMs,
    policy: {
      missedWindow: definition.missed_window,
      maxMissed: definition.max_missed,
      graceMs: definition.misfire_grace_seconds === null ? null : definition.misfire_grace_seconds * 1000,
    },
  })
  const runDue = decision.fire?.due ?? null
  return {
    timer,
    runDue,
    // The cursor's own start time belongs to its tick; a later tick taken in its stead starts at its own instant.
    availableAt: runDue === timer.due ? timer.start_at : (runDue ?? timer.due),
    catchUp: decision.fire?.catchUp ?? false,
    nextDue: decision.next,
    nextStart: decision.next === null ? null : decision.next + spreadMs(jobIdOf(timer.uuid), definition),
    skip: decision.skip,
    gaps: jumpedOver(schedule, timer.accounted_through, runDue ?? decision.skip?.to ?? timer.due),
  }
}

function jumpedOver(schedule: Schedule, after: number, through: number): { at: number; count: number }[] {
  const counts = new Map<number, number>()
  for (const { at, reason } of schedule.dropped(after, through)) {
    // Ticks that coincide are one: where another falls on the very jump, that one has its own record.
    if (reason === 'dst_gap' && schedule.prev(at) !== at) counts.set(at, (counts.get(at) ?? 0) + 1)
  }
  return [...counts].map(([at, count]) => ({ at, count }))
}

/** A damaged number must stop the plan: it would turn into "no further tick" or "all too late" without a word. */
function checkNumbers({
  anchor,
  max_retries,
  max_missed,
  misfire_grace_seconds,
}: DueTimer['definition']): void {
  const numbers = { anchor, max_retries, max_missed, misfire_grace_seconds: misfire_grace_seconds ?? 0 }
  for (const [name, value] of Object.entries(numbers)) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new Error(`The definition has no usable number as ${name}.`)
  }
  if (max_retries > limits.retries) throw new Error(`The definition has more than ${limits.retries} retries.`)
}
