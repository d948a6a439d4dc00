import { dayMs, dayOf, dateText } from './civil.js'
import { ClockNotes } from './clock-notes.js'
import { clockAndDate, localText, shortList, utcText } from './iso-text.js'
import { quote } from './refusal.js'
import { rulesOf, shapeOf } from './rule-shape.js'
import { parseSchedule, type Schedule } from './schedule.js'
import type { ScheduleInput, ScheduleSource } from './source.js'
import type { DroppedTick } from './ticks.js'
import { timelineOf } from './timeline.js'

export interface PreviewTick {
  /** In UTC: 2026-10-24T00:30:00Z. */
  at: string
  /** What the clocks of the zone show, with their offset: 2026-10-24T02:30:00+02:00. */
  local: string
  /** What is special about it, and which ticks before it are dropped; null for most. */
  note: string | null
}

export interface Preview {
  ticks: PreviewTick[]
  /** What a person may not have meant. */
  warnings: string[]
}

/** More are never shown: a person reads ten, a chart some hundred. */
export const mostPreviewed = 1000

/** A schedule reports no more dropped ticks than this at a time. */
const mostDropped = 100
/** How far ahead dropped ticks are looked for where no tick follows. */
const lookAheadMs = 3660 * dayMs
/** A moved tick comes from an excluded day at most this far away, as far as is told. */
const movedFromMs = 31 * dayMs

/**
 * The first `n` ticks (0 to 1000) after an instant, computed by the engine that fires them. Throws what parseSchedule
 * throws.
 */
export function preview(source: ScheduleSource, { from, n }: { from: number; n: number }): Preview {
  if (!Number.isInteger(n) || n < 0 || n > mostPreviewed) {
    throw new RangeError(`A preview has 0 to ${mostPreviewed} ticks, not ${n}.`)
  }
  const schedule = parseSchedule(source)
  const timeline = timelineOf(source.timezone)
  const clocks = new ClockNotes(source, timeline)
  const moves = new MoveNotes(source)
  const ticks: PreviewTick[] = []
  let after = from
  while (ticks.length < n) {
    const tick = schedule.next(after)
    if (tick === null) break
    const notes = [...clocks.of(tick), ...moves.of(tick), ...droppedNotes(schedule.dropped(after, tick))]
    ticks.push({
      at: utcText(tick),
      local: localText(tick, timeline.offsetAt(tick)),
      note: notes.length === 0 ? null : notes.join('; '),
    })
    after = tick
  }
  const ended = ticks.length < n ? endWarnings(schedule, after, ticks.length) : []
  return { ticks, warnings: [...dayWarnings(source.schedule), ...ended] }
}

/** Says from where a tick was moved, under a policy that moves ticks of excluded days. */
class MoveNotes {
  /** The ticks as the rules name them; null where nothing moves. */
  readonly #named: Schedule | null
  /** The same without those of excluded days, which it reports as dropped. */
  readonly #excluding: Schedule | null
  readonly #backwards: boolean

  constructor(source: ScheduleSource) {
    const { exclude, on_excluded: policy = 'exclude', ...rest } = source
    const moves = exclude != null && exclude.length > 0 && policy !== null && policy !== 'exclude'
    const bare = { ...rest, starts_at: null, ends_at: null }
    this.#named = moves ? parseSchedule(bare) : null
    this.#excluding = moves ? parseSchedule({ ...bare, exclude }) : null
    this.#backwards = policy === 'next_business_day'
  }

  of(tick: number): string[] {
    if (this.#named === null || this.#excluding === null || this.#named.prev(tick) === tick) return []
    const days = this.#backwards
      ? this.#excluding.dropped(tick - movedFromMs, tick)
      : this.#excluding.dropped(tick, tick + movedFromMs)
    const excluded = days.filter(({ reason }) => reason === 'excluded')
    const nearest = this.#backwards ? excluded.at(-1) : excluded[0]
    const day = nearest === undefined ? 'an excluded day' : dateText(dayOf(nearest.wall))
    return [`moved here from ${day}, which is excluded`]
  }
}

function droppedNotes(dropped: readonly DroppedTick[]): string[] {
  const reasons = new Map<string, string[]>()
  for (const { wall, reason, detail } of dropped) {
    const why = reason === 'dst_gap' ? 'the clocks jump over it' : `excluded (${detail ?? 'by the job'})`
    const readings = reasons.get(why) ?? []
    readings.push(clockAndDate(wall))
    reasons.set(why, readings)
  }
  return [...reasons].map(([why, readings]) => {
    const plural = readings.length > 1 ? why.replace('over it', 'over them') : why
    return `skipped ${shortList(readings, readings.length >= mostDropped)}: ${plural}`
  })
}

function endWarnings(schedule: Schedule, after: number, found: number): string[] {
  const why = droppedNotes(schedule.dropped(after, after + lookAheadMs))
  // That a rule with an end has one is no surprise.
  if (found > 0 && why.length === 0) return []
  const which = found === 0 ? 'No tick comes' : 'No further tick comes'
  return [`${which} after ${utcText(after)}${why.length === 0 ? '' : `: ${why.join('; ')}`}.`]
}

/** By the custom of cron two day fields widen the choice, where most people expect that they narrow it. */
function dayWarnings(schedule: ScheduleInput): string[] {
  return rulesOf(schedule).flatMap((rule) => {
    const shape = shapeOf(rule)
    if (shape.kind !== 'cron') return []
    const { days, weekdays, bothDays } = shape.fields
    if (days.any || weekdays.any || bothDays) return []
    const weekday = shape.text.split(/ +/).at(-1) ?? ''
    return [
      `${quote(shape.text)} sets both day of the month and day of the week: a day that fits either of them is enough, as in cron. ` +
        `To ask for both, put a plus before the weekday ("+${weekday}") or set day_match to "and".`,
    ]
  })
}
