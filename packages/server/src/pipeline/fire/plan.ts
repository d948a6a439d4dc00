import { type JobDefinition, limits } from '@carillon/contract'
import { decideTick, type TickRange } from '../../time/missed.js'
import { type CalendarSet, parseSchedule, type Schedule } from '../../time/schedule.js'
import { jobIdOf } from '../../platform/ids.js'
import { namesCalendar } from '../calendars.js'
import { jitterMs } from '../../time/jitter.js'
import { spreadMs } from '../spread.js'
import type { RunDefinition } from '../run.js'
import { byJob } from './by-job.js'
import { noTickChanges, type TickChanges } from '../tick-changes.js'

/** A timer with its job, as read-timers.sql answers it. */
export interface DueTimer {
  job: number
  partition: number
  tenant: number
  due: number
  start_at: number
  rev: number
  /** Runs that the schedule has made so far, for max_runs. */
  runs: number
  /** Every tick up to here is in queue, ledger or a replay. */
  accounted_through: number
  uuid: string
  version: number
  route: number
  /** Where the row lies, as long as nobody changes it. Null: not known. */
  place: string | null
  /** The latest tick that somebody skipped or moved; null: none ever. */
  ticks_changed_until: number | null
  /** Short ones whole, long ones without payload and target: a tick does not depend on them. */
  definition: Omit<JobDefinition, 'payload' | 'target'> & Partial<Pick<JobDefinition, 'payload' | 'target'>>
  /** What it takes to keep it, about: the size in the table of a short one, and the longest such of a long one. */
  definition_bytes: number
  now: number
  /** As this process left it, not as it was read just now. */
  remembered?: true
  /**
   * What was made of the definition. Kept here: a WeakMap of tens of thousands would be gone through at every collection of garbage.
   */
  schedule?: Schedule
  runDefinition?: RunDefinition
}

/** One row for the firing statement: what this tick becomes, and where the cursor goes. */
export interface PlannedTick {
  timer: DueTimer
  /** The tick to run; null when those that were missed are passed over or put off. */
  runDue: number | null
  availableAt: number
  nextDue: number | null
  nextStart: number | null
  /** How many runs of the job may go on at once; null: any number. */
  places: number | null
  /** Whether a tick whose place is taken may wait for it, or replace what is there: overlap.sql decides. */
  waits: boolean
  skip: TickRange | null
  replay: TickRange | null
  /** Why ticks were passed over or put off. */
  reason: 'missed' | 'overload' | 'skipped_by_request'
  /** No runs, but on record: wall times that the clocks jumped over, by the instant of the jump, and ticks left out on request. */
  gaps: readonly NotedTick[]
}

export function ticksByJob(ticks: readonly PlannedTick[]): (job: number) => PlannedTick | undefined {
  return byJob(ticks, ({ timer }) => timer.job)
}

export interface NotedTick {
  at: number
  count: number
  reason: 'dst_gap' | 'skipped_by_request'
  /** The tick after it; null: the one that this plan leads to. */
  next: number | null
}

/** What applies to every tick of a pass. */
export interface Terms {
  /** A tick that starts later than this was missed, and its job's policy decides. */
  lateToleranceMs: number
  /** The scheduler is behind: what has a fire window is spread over what is left of it. */
  overloaded: boolean
  /** An operator's order: fire windows so many times as wide. */
  windowFactor: number
}

/** What to do with a due timer. Pure: ticks are computed here, in Node only, from the rule at every firing. */
export function planTick(
  timer: DueTimer,
  terms: Terms,
  calendars: CalendarSet = {},
  changes: TickChanges = noTickChanges,
): PlannedTick {
  const { definition } = timer
  const all = scheduleOf(timer, calendars)
  if (changes.isSkipped(timer.due)) return passOver(timer, terms, all, changes)
  const schedule = changes.left(all, changes.come(Number.MAX_SAFE_INTEGER, timer.now))
  const decision = decideTick({
    schedule,
    due: timer.due,
    startAt: missedFrom(timer, changes),
    now: timer.now,
    lateToleranceMs: terms.lateToleranceMs,
    policy: {
      missedWindow: definition.missed_window,
      maxMissed: Math.min(
        definition.max_missed,
        (definition.max_runs ?? Number.POSITIVE_INFINITY) - timer.runs,
      ),
      graceMs: definition.misfire_grace_seconds === null ? null : definition.misfire_grace_seconds * 1000,
    },
  })
  const { fire, skip, replay } = decision
  const runs = timer.runs + (replay?.count ?? (fire === null ? 0 : 1))
  const last = fire ?? replay?.to ?? skip?.to ?? timer.due
  // What is left out on request is passed one by one, and noted: the cursor does not jump over it.
  const following = changes.none ? decision.next : all.next(last)
  const next = definition.max_runs !== null && runs >= definition.max_runs && fire === null ? null : following
  const jumped = jumpedOver(all, timer.accounted_through, last)
  const { places, waits } = placesOf(definition)
  return {
    timer,
    runDue: fire,
    availableAt: fire === null ? timer.start_at : startOf(fire, timer, all, terms, changes),
    nextDue: next,
    nextStart: nextStart(next, timer, terms, all, changes),
    places,
    waits,
    skip,
    replay,
    reason: terms.overloaded ? 'overload' : 'missed',
    gaps: changes.none ? jumped : [...jumped, ...leftOut(all, changes, timer.due, last)],
  }
}

/** Reading a schedule takes longer than finding its next tick. One that depends on calendars is read again: they change. */
function scheduleOf(timer: DueTimer, calendars: CalendarSet): Schedule {
  if (timer.schedule !== undefined) return timer.schedule
  const { definition } = timer
  checkNumbers(definition)
  // Field by field: a copy of all of them is most of what a plan would allocate.
  const schedule = parseSchedule({
    schedule: definition.schedule,
    timezone: definition.timezone,
    anchor: definition.anchor,
    dst_gap: definition.dst_gap,
    dst_overlap: definition.dst_overlap,
    exclude: definition.exclude,
    on_excluded: definition.on_excluded,
    starts_at: definition.starts_at,
    ends_at: definition.ends_at,
    calendars,
  })
  if (!namesCalendar(definition)) timer.schedule = schedule
  return schedule
}

/** A tick that somebody asked to leave out: it is noted at its time, and the cursor goes on. */
function passOver(timer: DueTimer, terms: Terms, schedule: Schedule, changes: TickChanges): PlannedTick {
  const next = schedule.next(timer.due)
  return {
    timer,
    runDue: null,
    availableAt: timer.start_at,
    nextDue: next,
    nextStart: nextStart(next, timer, terms, schedule, changes),
    ...placesOf(timer.definition),
    skip: { from: timer.due, to: timer.due, count: 1 },
    replay: null,
    reason: 'skipped_by_request',
    gaps: jumpedOver(schedule, timer.accounted_through, timer.due),
  }
}

function nextStart(
  next: number | null,
  { uuid, definition }: DueTimer,
  terms: Terms,
  schedule: Schedule,
  changes: TickChanges,
): number | null {
  if (next === null) return null
  const moved = changes.movedTo(next)
  if (moved !== null) return moved
  // Most jobs have neither jitter nor window, and the id to spread them by is a long text.
  if (definition.jitter_seconds === 0 && definition.fire_window_seconds === 0) return next
  return next + spreadMs(jobIdOf(uuid), definition, widening(schedule, next, definition, terms))
}

/** A tick that was moved to an earlier time is missed only when its own time has passed, too. */
function missedFrom({ due, start_at: startAt, uuid, definition }: DueTimer, changes: TickChanges): number {
  return changes.movedTo(due) === null
    ? startAt
    : Math.max(startAt, due + spreadMs(jobIdOf(uuid), definition))
}

/** Ticks after the cursor that are left out on request, among those that a plan accounts for. */
function leftOut(schedule: Schedule, changes: TickChanges, due: number, last: number): NotedTick[] {
  return changes
    .skipped(schedule, due + 1, last)
    .map((at) => ({ at, count: 1, reason: 'skipped_by_request', next: schedule.next(at) }))
}

/** The cursor's own start time belongs to its tick; a later tick taken in its stead starts at its own instant. */
function startOf(
  fire: number,
  timer: DueTimer,
  schedule: Schedule,
  terms: Terms,
  changes: TickChanges,
): number {
  const { definition } = timer
  const startAt = fire === timer.due ? timer.start_at : fire
  const meant = changes.movedTo(fire) !== null
  if (meant || !terms.overloaded || definition.fire_window_seconds === 0) return startAt
  const windowMs = definition.fire_window_seconds * widening(schedule, fire, definition, terms) * 1000
  const from = Math.max(startAt, timer.now)
  const leftMs = fire + windowMs - from
  return leftMs <= 0 ? startAt : from + jitterMs(`${timer.job} ${fire}`, leftMs / 1000)
}

/**
 * How many times as wide the window of a tick is by the operator's order: never beyond the tick after it. A wider one would
 * outlast the order by many ticks, which would be late then, and missed.
 */
function widening(
  schedule: Schedule,
  tick: number,
  { fire_window_seconds: window }: Pick<JobDefinition, 'fire_window_seconds'>,
  { windowFactor }: Terms,
): number {
  if (windowFactor <= 1 || window === 0) return 1
  const following = schedule.next(tick)
  return following === null
    ? windowFactor
    : Math.max(1, Math.min(windowFactor, (following - tick) / 1000 / window))
}

export function placesOf({
  overlap_policy: policy,
  max_concurrent: most,
}: Pick<JobDefinition, 'overlap_policy' | 'max_concurrent'>): { places: number | null; waits: boolean } {
  return { places: policy === 'ALLOW' ? most : 1, waits: policy === 'QUEUE' || policy === 'REPLACE' }
}

const noGaps: readonly NotedTick[] = []

function jumpedOver(schedule: Schedule, after: number, through: number): readonly NotedTick[] {
  const dropped = schedule.dropped(after, through)
  if (dropped.length === 0) return noGaps
  const counts = new Map<number, number>()
  for (const { at, reason } of dropped) {
    // Ticks that coincide are one: where another falls on the very jump, that one has its own record.
    if (reason === 'dst_gap' && schedule.prev(at) !== at) counts.set(at, (counts.get(at) ?? 0) + 1)
  }
  return [...counts].map(([at, count]) => ({ at, count, reason: 'dst_gap', next: null }))
}

/** A damaged number must stop the plan: it would turn into "no further tick" or "all too late" without a word. */
function checkNumbers({
  anchor,
  max_retries,
  max_missed,
  misfire_grace_seconds,
}: DueTimer['definition']): void {
  checkNumber('anchor', anchor)
  checkNumber('max_retries', max_retries)
  checkNumber('max_missed', max_missed)
  checkNumber('misfire_grace_seconds', misfire_grace_seconds ?? 0)
  if (max_retries > limits.retries) throw new Error(`The definition has more than ${limits.retries} retries.`)
}

function checkNumber(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`The definition has no usable number as ${name}.`)
}
