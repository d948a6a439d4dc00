import type { JobDefinition } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { wholeDefinition } from '../../db/stored-definition.js'
import { jobIdOf } from '../../platform/ids.js'
import { type CalendarSet, parseSchedule, type Schedule } from '../../time/schedule.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { noTickChanges, readTickChanges, type TickChanges } from '../tick-changes.js'

/** Without payload and target: no tick depends on them. */
type Timing = Omit<JobDefinition, 'payload' | 'target'>

export interface LifeRow {
  job: number
  partition: number
  uuid: string
  tenant: number
  name: string
  state: 'active' | 'paused' | 'ended' | 'cancelled' | 'deleted' | 'collected'
  version: number
  effective_from: number
  zone_data: string
  created_at: number
  ended_at: number | null
  cancelled_at: number | null
  paused_at: number | null
  pause_reason: string | null
  paused_until: number | null
  ticks_changed_until: number | null
  definition: Timing | null
  due: number | null
  start_at: number | null
  accounted_through: number | null
  runs: number | null
  segments: SegmentRow[] | null
  now: number
}

interface SegmentRow {
  from: number
  version: number
  calendars: CalendarSet | null
  zone_data: string
  reason: string
  definition: Timing | null
}

export interface LifeQuery {
  tenant: number | null
  after: number
  last: number
  ended_from: number
  most: number
}

const livesStatement = statement<LifeQuery, LifeRow>(new URL('./lives.sql', import.meta.url))

/** A stretch of a job's life with one definition: from < tick <= to. */
export interface Stretch {
  from: number
  to: number
  version: number
  definition: Timing
  schedule: Schedule
  zoneData: string
}

/** Which ticks a job has had, has, and will have. */
export interface Life {
  row: LifeRow
  jobId: string
  stretches: readonly Stretch[]
  /** What people asked of single ticks. */
  changes: TickChanges
  /** The last instant at which a tick is owed; infinite while the job lives. */
  end: number
}

export interface UnreadableLife {
  row: LifeRow
  jobId: string
  problem: string
}

export interface Lives {
  rows: LifeRow[]
  lives: Life[]
  unreadable: UnreadableLife[]
}

export async function readLives(runner: Runner, query: LifeQuery): Promise<Lives> {
  const rows = await runner.run(livesStatement, query)
  const calendars = await readCalendars(
    runner,
    rows.flatMap(({ tenant, definition }) =>
      definition !== null && namesCalendar(definition) ? [tenant] : [],
    ),
  )
  const changes = await readTickChanges(
    runner,
    rows.flatMap(({ job, ticks_changed_until: until }) => (until === null ? [] : [{ job, after: 0 }])),
  )
  const lives: Life[] = []
  const unreadable: UnreadableLife[] = []
  for (const row of rows) {
    const jobId = jobIdOf(row.uuid)
    try {
      lives.push({
        row,
        jobId,
        stretches: stretchesOf(row, calendars.get(row.tenant) ?? {}),
        changes: changes.get(row.job) ?? noTickChanges,
        end: endOf(row),
      })
    } catch (error) {
      unreadable.push({ row, jobId, problem: error instanceof Error ? error.message : String(error) })
    }
  }
  return { rows, lives, unreadable }
}

/** A change of a calendar begins a stretch without a new version. */
function definitionOf({ definition, version }: SegmentRow, row: LifeRow): Timing | null {
  if (definition !== null) return wholeDefinition(definition)
  return version === row.version ? row.definition : null
}

/** In order, without a hole and without an overlap: a later stretch takes what an earlier one would share with it. */
function stretchesOf(row: LifeRow, calendars: CalendarSet): Stretch[] {
  const pieces = [
    ...(row.segments ?? []).map((segment) => ({
      from: segment.from,
      version: segment.version,
      calendars: segment.calendars ?? {},
      zoneData: segment.zone_data,
      definition: definitionOf(segment, row),
    })),
    {
      from: row.effective_from,
      version: row.version,
      calendars,
      zoneData: row.zone_data,
      definition: row.definition,
    },
  ]
  let to = Number.POSITIVE_INFINITY
  const stretches: Stretch[] = []
  for (const { calendars: excluded, definition, ...piece } of pieces.reverse()) {
    if (definition === null) throw new Error(`The definition of its version ${piece.version} is gone.`)
    const schedule = parseSchedule({ ...definition, calendars: excluded })
    if (piece.from < to) stretches.push({ ...piece, to, definition, schedule })
    to = Math.min(to, piece.from)
  }
  return stretches.reverse()
}

/** A job that was deleted or cancelled owes nothing after that; one that made all its runs, nothing after the last of them. */
function endOf(row: LifeRow): number {
  const wasEnded = row.state === 'deleted' || row.state === 'cancelled'
  const end = wasEnded ? (row.ended_at ?? row.now) : Number.POSITIVE_INFINITY
  return usedUp(row) ? Math.min(end, row.accounted_through ?? row.now) : end
}

/** Whether the job ended because it had made as many runs as it may. */
export function usedUp({ state, definition, runs }: LifeRow): boolean {
  const most = definition?.max_runs ?? null
  return isOver(state) && most !== null && (runs ?? 0) >= most
}

function isOver(state: LifeRow['state']): boolean {
  return state === 'ended' || state === 'cancelled' || state === 'deleted'
}

/** The ticks from one instant to another, both included, in order; also those after the end of the life. */
export function* ticksOf(life: Life, from: number, to: number): Generator<number> {
  for (const stretch of life.stretches) {
    const last = Math.min(to, stretch.to)
    const { schedule } = stretch
    let tick = schedule.next(Math.max(from - 1, stretch.from))
    for (; tick !== null && tick <= last; tick = schedule.next(tick)) yield tick
  }
}

/** How many ticks there are from one instant to another, both included; by arithmetic. */
export function countTicks(life: Life, from: number, to: number): number {
  return life.stretches.reduce((sum, stretch) => {
    const first = Math.max(from, stretch.from + 1)
    const last = Math.min(to, stretch.to)
    return first <= last ? sum + stretch.schedule.count(first, last) : sum
  }, 0)
}

/** The same without ticks that were left out on request: those have records of their own. */
export function countUnlessSkipped(life: Life, from: number, to: number): number {
  const skipped = life.changes.all.filter(({ due }) => from <= due && due <= to && isSkipped(life, due))
  return countTicks(life, from, to) - skipped.length
}

/** Whether a tick was, or is to be, left out on request. */
export function isSkipped(life: Life, tick: number): boolean {
  return life.changes.isSkipped(tick) && isTick(life, tick)
}

export function stretchAt(life: Life, instant: number): Stretch | undefined {
  return life.stretches.find(({ from, to }) => from < instant && instant <= to)
}

export function isTick(life: Life, instant: number): boolean {
  return stretchAt(life, instant)?.schedule.prev(instant) === instant
}

/** Whether wall times that the rule names fell into a jump of the clocks at this instant. */
export function isGap(life: Life, instant: number): boolean {
  const dropped = stretchAt(life, instant)?.schedule.dropped(instant - 1, instant) ?? []
  return dropped.some(({ at, reason }) => at === instant && reason === 'dst_gap')
}

/** The last tick before an instant and the first after it. */
export function neighboursOf(life: Life, instant: number): { before: number | null; after: number | null } {
  let before: number | null = null
  let after: number | null = null
  for (const { from, to, schedule } of life.stretches) {
    const last = schedule.prev(Math.min(instant - 1, to))
    if (last !== null && last > from) before = last
    const first = schedule.next(Math.max(instant, from))
    if (after === null && first !== null && first <= Math.min(to, life.end)) after = first
  }
  return { before, after }
}
