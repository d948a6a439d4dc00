import { NumberMap } from '../../platform/number-map.js'
import { byJob } from './by-job.js'
import type { Decided } from './fire-statement.js'
import type { Whereabouts } from './horizon.js'
import type { DueTimer, PlannedTick } from './plan.js'

/** How much of memory they may take: so many timers, with definitions of so many bytes as they are stored. */
const most = { timers: 100_000, definitionBytes: 64 * 1024 * 1024 }
/** Whatever starts later than this is brought back by the horizon's next load, and may be read then. */
const soonMs = 10 * 60_000
/** How often a full house is gone through for timers that nobody asks for any more. */
const sweepEveryMs = 60_000

/**
 * Timers as this process left them when it fired their last ticks: their next ones need not be read. Only a cache. Whatever
 * changes a job raises its timer's `rev`, and the firing statement refuses a tick that was planned from another `due` or `rev`.
 *
 * Where there is no room, a newcomer is not kept: timers come round in turns, and each that made way for one that comes later would be
 * missed before it.
 */
export class KnownTimers {
  private readonly timers = new NumberMap<DueTimer>()
  private definitionBytes = 0
  private sweptAt = Number.NEGATIVE_INFINITY

  constructor(
    private readonly isMine: (partition: number) => boolean = () => true,
    private readonly room: { timers: number; definitionBytes: number } = most,
  ) {}

  /** The timer, once, if it is known to start then; null: it has to be read. */
  take(job: number, { partition, startAt }: Whereabouts, now: number): DueTimer | null {
    const timer = this.forget(job)
    if (timer === undefined || timer.start_at !== startAt || timer.partition !== partition) return null
    timer.now = now
    timer.remembered = true
    return timer
  }

  /** Those whose timers were not as they were known: they have to be read after all. */
  mistaken(ticks: readonly PlannedTick[], decided: readonly Decided[]): Map<number, Whereabouts> {
    const changed = new Set(decided.flatMap(({ job, decision }) => (decision === 'changed' ? [job] : [])))
    return new Map(
      ticks
        .filter(({ timer }) => changed.has(timer.job) && timer.remembered === true)
        .map(({ timer: { job, partition, start_at: startAt } }) => [job, { partition, startAt }]),
    )
  }

  /** What follows from plain firing is known, and where it lies; whatever else was decided is read again. */
  learn(ticks: readonly PlannedTick[], decided: readonly Decided[]): void {
    const decisionOf = byJob(decided, ({ job }) => job)
    for (const tick of ticks) {
      const { decision, timer_place: place = null } = decisionOf(tick.timer.job) ?? {}
      const next = decision !== 'fired' || place === null ? null : following(tick, place)
      if (next === null) this.forget(tick.timer.job)
      else this.keep(next)
    }
  }

  /** One that was looked at and has to wait. */
  keep(timer: DueTimer): void {
    this.forget(timer.job)
    if (timer.start_at > timer.now + soonMs || !this.hasRoomFor(timer)) return
    this.timers.set(timer.job, timer)
    this.definitionBytes += timer.definition_bytes
  }

  private hasRoomFor({ now, definition_bytes: bytes }: DueTimer): boolean {
    const fits = () =>
      this.timers.size < this.room.timers && this.definitionBytes + bytes <= this.room.definitionBytes
    if (fits()) return true
    // By a clock that may be set back.
    if (Math.abs(now - this.sweptAt) < sweepEveryMs) return false
    this.sweptAt = now
    this.sweep(now)
    return fits()
  }

  /** Others own them now, or nobody has asked for them since they came up: they were edited or deleted. */
  private sweep(now: number): void {
    for (const [job, { partition, start_at: startAt }] of this.timers.entries())
      if (startAt < now - soonMs || !this.isMine(partition)) this.forget(job)
  }

  private forget(job: number): DueTimer | undefined {
    const timer = this.timers.delete(job)
    if (timer === undefined) return undefined
    this.definitionBytes -= timer.definition_bytes
    return timer
  }
}

/** The timer itself, moved on: whoever planned the tick has its answer by now, and a copy for each tick is a good part of its cost. */
function following({ timer, nextDue, nextStart }: PlannedTick, place: string): DueTimer | null {
  if (nextDue === null || nextStart === null) return null
  timer.accounted_through = timer.due
  timer.place = place
  timer.due = nextDue
  timer.start_at = nextStart
  timer.runs += 1
  return timer
}
