import { CarillonError, limits, type Tick } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf } from '../../platform/ids.js'
import { readInstant } from '../../time/instant.js'
import { parseSchedule, type Schedule } from '../../time/schedule.js'
import { timelineOf } from '../../time/timeline.js'
import { type TickChange, TickChanges } from '../tick-changes.js'
import { audit } from '../audit.js'
import { changing, type JobName, type Situation, subjectOf } from './change.js'
import { hasEnded } from './ended.js'
import { moveCursors, nothingOwed } from './move.js'
import { startOf } from './starting.js'
import { isStaged, type TakenBack, takeBack } from './taking-back.js'
import { tickView } from './tick-view.js'
import { utcText } from '../../time/iso-text.js'

const putStatement = statement<
  {
    job: number
    now: number
    due: number
    reopens: boolean
    action: 'skip' | 'move'
    start_at: number | null
    reason: string | null
    actor: string | null
  },
  { due: number }
>(new URL('./put-tick-change.sql', import.meta.url))
const dropStatement = statement<{ job: number; now: number; due: number; reopens: boolean }, { job: number }>(
  new URL('./drop-tick-change.sql', import.meta.url),
)

export interface TickOrder {
  /** The tick: an instant, or a reading of the clocks in the job's zone. */
  at: string
  reason?: string
  actor?: string
}

/** Leaves one tick out that is ahead. At its instant a record says so; until then it can be restored. */
export function skipTick(database: Database, name: JobName, order: TickOrder): Promise<Tick> {
  return changeTick(database, name, order, () => ({ action: 'skip', start_at: null }))
}

/** Starts one tick at another time, between the ticks beside it. It stays the tick that it is. */
export function moveTick(
  database: Database,
  name: JobName,
  order: TickOrder & { to: string },
): Promise<Tick> {
  return changeTick(database, name, order, (found) => ({
    action: 'move',
    start_at: checkedStart(found, instantOf(order.to, '/to', found.situation)),
  }))
}

/** Takes back what was asked of a tick. One of which nothing was asked stays as it is. */
export function restoreTick(database: Database, name: JobName, order: { at: string }): Promise<Tick> {
  return changeTick(database, name, order, () => null)
}

interface FoundTick {
  situation: Situation
  schedule: Schedule
  taken: TakenBack
  due: number
}

function changeTick(
  database: Database,
  name: JobName,
  order: TickOrder,
  decide: (found: FoundTick) => Pick<TickChange, 'action' | 'start_at'> | null,
): Promise<Tick> {
  return changing(database, name, async (situation, calendars, runner) => {
    const { job, now, definition } = situation
    const schedule = parseSchedule({ ...definition, calendars })
    const found = findTick(situation, schedule, instantOf(order.at, '/at', situation))
    const wanted = decide(found)
    if (wanted !== null) checkRoom(found)
    const { reason = null, actor = null } = order
    const rest = situation.changes.all.filter(({ due }) => due !== found.due)
    const changes = new TickChanges(wanted === null ? rest : [...rest, { due: found.due, reason, ...wanted }])
    await setCursor(runner, found, changes)
    // The last tick of a job ends it when it is staged: one that is taken back has not come.
    const change = { job, now, due: found.due, reopens: situation.state === 'ended' }
    if (wanted === null) await runner.run(dropStatement, change)
    else await runner.run(putStatement, { ...change, reason, actor, ...wanted })
    const to = wanted?.start_at ?? null
    const detail = { tick: utcText(found.due), ...(to !== null && { to: utcText(to) }), reason }
    await audit(runner, { ...subjectOf(name), detail })
    return tickView({ situation: { ...situation, changes, queued: [] }, schedule, due: found.due })
  })
}

/** The tick, if it is ahead and nobody has it. What is staged is taken back: it comes again as it is to be from now on. */
function findTick(situation: Situation, schedule: Schedule, due: number): FoundTick {
  const { now, queued, state, changes, definition } = situation
  if (schedule.prev(due) !== due) throw noTick(situation, schedule, due)
  const taken = takeBack(situation, schedule)
  const run = queued.find((one) => one.origin === 0 && one.due === due)
  if (run !== undefined && (!isStaged(run, now) || taken.from === null || due < taken.from))
    throw new CarillonError('tick_in_flight', {
      detail:
        run.holder === null
          ? `The tick ${utcText(due)} of ${jobIdOf(situation.uuid)} is in the queue.`
          : `A worker holds the run of the tick ${utcText(due)} of ${jobIdOf(situation.uuid)}.`,
    })
  const start =
    due === taken.due
      ? taken.startAt
      : (changes.movedTo(due) ?? startOf(due, situation, schedule, definition))
  const passed = due <= taken.accounted || due < (taken.due ?? due) || (start ?? due) <= now
  if (state === 'ended' && taken.count === 0 && due > taken.accounted) throw hasEnded(situation)
  if (!passed) return { situation, schedule, taken, due }
  throw new CarillonError('tick_passed', {
    detail: `The tick ${utcText(due)} of ${jobIdOf(situation.uuid)} has come: it is ${utcText(now)}.`,
  })
}

async function setCursor(runner: Runner, found: FoundTick, changes: TickChanges): Promise<void> {
  const { situation, schedule, taken, due } = found
  const startAt =
    taken.due === due
      ? (changes.movedTo(due) ?? startOf(due, situation, schedule, situation.definition))
      : taken.startAt
  const move = {
    ...nothingOwed,
    taken,
    accounted: taken.accounted,
    due: taken.due,
    startAt,
    reason: 'edited',
    replayState: 'running',
  } as const
  await moveCursors(runner, situation.now, [{ situation, move }])
}

/** The cursor fires ticks in their order: none can be moved past another. */
function checkedStart({ situation, schedule, taken, due }: FoundTick, to: number): number {
  const { now, changes, definition } = situation
  const startAt = (tick: number) => changes.movedTo(tick) ?? startOf(tick, situation, schedule, definition)
  if (to < now) throw badMove(`${utcText(to)} has passed: it is ${utcText(now)}.`, 'must be an instant ahead')
  const before = schedule.prev(due - 1)
  if (before !== null && before > taken.accounted && to <= (startAt(before) ?? to)) {
    throw badMove(
      `The tick before it, ${utcText(before)}, starts at ${utcText(startAt(before) ?? before)}.`,
      'must be after the start of the tick before',
    )
  }
  const after = schedule.next(due)
  if (after !== null && to >= (startAt(after) ?? after)) {
    throw badMove(
      `The tick after it, ${utcText(after)}, starts at ${utcText(startAt(after) ?? after)}.`,
      'must be before the start of the tick after',
    )
  }
  return to
}

function checkRoom({ situation: { changes, uuid }, taken, due }: FoundTick): void {
  const ahead = changes.all.filter((change) => change.due > taken.accounted && change.due !== due)
  if (ahead.length < limits.tickChanges) return
  throw new CarillonError('too_many_tick_changes', {
    detail: `${ahead.length} ticks ahead of ${jobIdOf(uuid)} are skipped or moved already.`,
  })
}

function noTick({ uuid, now }: Situation, schedule: Schedule, due: number): CarillonError {
  const beside = [schedule.prev(due), schedule.next(due)].flatMap((tick) =>
    tick === null ? [] : [utcText(tick)],
  )
  const near = beside.length === 0 ? '' : `; the ticks beside it: ${beside.join(', ')}`
  return new CarillonError('tick_not_found', {
    detail: `The schedule of ${jobIdOf(uuid)} does not name ${utcText(due)}${near}.`,
    errors: [{ pointer: '/at', message: due <= now ? 'has passed, and is no tick' : 'is no tick' }],
  })
}

function badMove(why: string, message: string): CarillonError {
  return new CarillonError('validation_failed', {
    detail: `The tick cannot be moved there. ${why}`,
    errors: [{ pointer: '/to', message }],
  })
}

function instantOf(text: string, pointer: string, { definition }: Situation): number {
  try {
    return readInstant(text, pointer, timelineOf(definition.timezone))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    throw new CarillonError('validation_failed', { detail: error.message, errors: [...error.errors] })
  }
}
