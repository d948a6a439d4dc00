import { byJob } from './by-job.js'
import type { Decided } from './fire-statement.js'
import type { Whereabouts } from './horizon.js'
import type { DueTimer, PlannedTick } from './plan.js'

/** Each with its definition, of 4 KB at most. */
const mostKnown = 50_000

/**
 * Timers as this process left them when it fired their last ticks: their next ones need not be read. Only a cache. Whatever
 * changes a job raises its timer's `rev`, and the firing statement refuses a tick that was planned from another `due` or `rev`.
 */
export class KnownTimers {
  private readonly timers = new Map<number, DueTimer>()

  /** The timer, once, if it is known to start then; null: it has to be read. */
  take(job: number, { partition, startAt }: Whereabouts, now: number): DueTimer | null {
    const timer = this.timers.get(job)
    if (timer === undefined) return null
    this.timers.delete(job)
    if (timer.start_at !== startAt || timer.partition !== partition) return null
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
      if (next === null) this.timers.delete(tick.timer.job)
      else this.keep(next)
    }
  }

  /** One that was looked at and has to wait. */
  keep(timer: DueTimer): void {
    // Those of jobs that are gone stay behind: now and then all are forgotten.
    if (this.timers.size >= mostKnown) this.timers.clear()
    this.timers.set(timer.job, timer)
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
