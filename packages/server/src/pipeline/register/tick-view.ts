import type { Tick } from '@carillon/contract'
import { ClockNotes } from '../../time/clock-notes.js'
import { localText, utcText } from '../../time/iso-text.js'
import type { Schedule, ScheduleSource } from '../../time/schedule.js'
import { timelineOf } from '../../time/timeline.js'
import type { TickChanges } from '../tick-changes.js'
import { startOf } from './starting.js'
import type { JobDefinition } from '@carillon/contract'

export interface TickSource {
  situation: {
    uuid: string
    state: string
    definition: JobDefinition
    changes: TickChanges
    /** Ticks that are in the queue already. */
    queued: readonly { due: number; origin: number; available_at: number; holder: number | null }[]
    /** The cursor, which may start otherwise than the rule says: its window may be widened. */
    due: number | null
    start_at: number | null
  }
  schedule: Schedule
  due: number
}

/** A tick that is ahead, as people see it. */
export function tickView({ situation, schedule, due }: TickSource): Tick {
  const { definition, changes, queued } = situation
  const run = queued.find((one) => one.origin === 0 && one.due === due)
  const change = changes.of(due)
  const atCursor = situation.due === due && change === undefined ? situation.start_at : null
  const startAt =
    run?.available_at ?? change?.start_at ?? atCursor ?? startOf(due, situation, schedule, definition) ?? due
  const state = run !== undefined ? 'staged' : change === undefined ? 'planned' : stateOf[change.action]
  const notes = [
    ...new ClockNotes(sourceOf(definition), timelineOf(definition.timezone)).of(due),
    ...(run !== undefined && run.holder !== null ? ['a worker holds its run'] : []),
    ...(change?.reason == null ? [] : [change.reason]),
    ...(situation.state === 'paused' ? ['the job is paused'] : []),
  ]
  return {
    due: utcText(due),
    start_at: utcText(startAt),
    due_local: localText(due, timelineOf(definition.timezone).offsetAt(due)),
    state,
    ...(notes.length > 0 && { note: notes.join('; ') }),
  }
}

const stateOf = { skip: 'skipped', move: 'moved' } as const

/** Calendars have no say in what the clocks do. */
function sourceOf({ exclude: _exclude, ...definition }: JobDefinition): ScheduleSource {
  return definition
}
