import { BuiltSchedule } from './built-schedule.js'
import { dayOf } from './civil.js'
import { clockAndDate, clockOf, shortList } from './iso-text.js'
import { rulesOf, shapeOf } from './rule-shape.js'
import { parseSchedule, type Schedule } from './schedule.js'
import type { ScheduleSource } from './source.js'
import { readingsOf, type Timeline } from './timeline.js'

/** One rule about readings on the wall, by itself: what the clocks do to it can be told. */
interface WallVoice {
  readonly schedule: Schedule
  /** The readings by which the rule names one of its ticks. */
  nominal(tick: number): number[]
}

/** Says where a change of the clocks has a part in a tick. Intervals and instants with an offset are above that. */
export class ClockNotes {
  readonly #timeline: Timeline
  readonly #voices: readonly WallVoice[]

  constructor(source: ScheduleSource, timeline: Timeline) {
    this.#timeline = timeline
    this.#voices = voicesOf(source)
  }

  /** What to know about a tick: one text for a reading shown twice, one for readings that the clocks jump over. */
  of(tick: number): string[] {
    const segment = this.#timeline.segmentAt(tick)
    const wall = tick + segment.offset
    const named = this.#voices.filter(({ schedule }) => schedule.prev(tick) === tick)
    const nominal = new Set(named.flatMap((voice) => voice.nominal(tick)))
    const jumped = [...nominal].filter((reading) => reading !== wall).sort((left, right) => left - right)
    const notes: string[] = []
    if (jumped.length > 0) notes.push(gapNote(jumped, wall, segment.headShift))
    if (nominal.has(wall)) {
      const [first, second] = readingsOf(this.#timeline, wall).shown
      if (first !== undefined && second !== undefined) {
        const other = tick === first ? second : first
        const both = named.some(({ schedule }) => schedule.prev(other) === other)
        notes.push(overlapNote(wall, tick === first, both))
      }
    }
    return notes
  }
}

/** Bounds and exclusions have no say in what the clocks do. */
function voicesOf(source: ScheduleSource): WallVoice[] {
  const { timezone, anchor, dst_gap, dst_overlap } = source
  const voices: WallVoice[] = []
  for (const rule of rulesOf(source.schedule)) {
    const shape = shapeOf(rule)
    if (shape.kind === 'interval' || (shape.kind === 'once' && 'instant' in shape.moment)) continue
    const schedule = scheduleOrNull({ schedule: rule, timezone, anchor, dst_gap, dst_overlap })
    if (!(schedule instanceof BuiltSchedule)) continue
    const { rules } = schedule
    const reading = shape.kind === 'once' && 'wall' in shape.moment ? shape.moment.wall : null
    voices.push({ schedule, nominal: (tick) => (reading === null ? rules.nominal(tick) : [reading]) })
  }
  return voices
}

/** Null for a rule that is silent by itself, which it may be beside others. */
function scheduleOrNull(source: ScheduleSource): Schedule | null {
  try {
    return parseSchedule(source)
  } catch {
    return null
  }
}

function gapNote(jumped: readonly number[], wall: number, shift: number): string {
  const before = wall - shift
  const show = dayOf(before) === dayOf(wall) ? clockOf : clockAndDate
  const verb = jumped.length === 1 ? 'does not exist' : 'do not exist'
  const runs = jumped.length === 1 ? 'runs' : 'run once'
  const readings = shortList(jumped.map(show))
  return `${readings} ${verb} (clocks jump from ${show(before)} to ${show(wall)}); ${runs} at ${clockOf(wall)}`
}

function overlapNote(wall: number, isFirst: boolean, both: boolean): string {
  const which = both
    ? `runs both times (${isFirst ? 'first' : 'second'} of two)`
    : `runs once (${isFirst ? 'first' : 'last'})`
  return `${clockOf(wall)} happens twice; ${which}`
}
