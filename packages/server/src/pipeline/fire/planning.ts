import type { Logger } from 'pino'
import { breathe, type Clock } from '../../platform/clock.js'
import { jobIdOf } from '../../platform/ids.js'
import type { Metrics } from '../../platform/metrics.js'
import type { CalendarSet } from '../../time/schedule.js'
import type { TickChanges } from '../tick-changes.js'
import { type DueTimer, type PlannedTick, planTick, type Terms } from './plan.js'

/** What all ticks of a pass are planned with. */
export interface PassPlan {
  terms: Terms
  calendars: ReadonlyMap<number, CalendarSet>
  changes: ReadonlyMap<number, TickChanges>
}

/** Ticks are computed in slices: a long computation must hold up no heartbeat and no start of a run. */
const sliceMs = 5
const repeatTellMs = 60_000
/** Jobs that were told of; then all are forgotten. */
const mostTold = 5_000

/** Plans ticks, as many as fit one statement. */
export class Planning {
  private readonly toldAt = new Map<number, number>()

  constructor(private readonly options: { clock: Clock; log: Logger; metrics: Metrics }) {}

  /** Plans from `from` on until there are so many. Breathes between slices. */
  async plan(
    timers: readonly DueTimer[],
    from: number,
    most: number,
    { terms, calendars, changes }: PassPlan,
  ): Promise<{ ticks: PlannedTick[]; end: number }> {
    const { clock } = this.options
    let begun = clock.monotonic()
    const ticks: PlannedTick[] = []
    let end = from
    while (end < timers.length && ticks.length < most) {
      const timer = timers[end] as DueTimer
      const tick = this.planOne(timer, terms, calendars.get(timer.tenant), changes.get(timer.job))
      if (tick !== null) ticks.push(tick)
      end += 1
      if (clock.monotonic() - begun < sliceMs) continue
      await breathe(clock)
      begun = clock.monotonic()
    }
    return { ticks, end }
  }

  /** A job whose rule cannot be evaluated must not stop the others. Its cursor stays, so nothing is lost. */
  private planOne(
    timer: DueTimer,
    terms: Terms,
    calendars: CalendarSet | undefined,
    changes: TickChanges | undefined,
  ): PlannedTick | null {
    try {
      return planTick(timer, terms, calendars, changes)
    } catch (error) {
      this.tellUnreadable(timer, error)
      return null
    }
  }

  /** Once when it is found, then once a minute: every scan meets it again. */
  tellUnreadable(timer: DueTimer, error: unknown): void {
    this.options.metrics.ticks.inc({ decision: 'unreadable' })
    const now = this.options.clock.monotonic()
    const told = this.toldAt.get(timer.job)
    if (told !== undefined && now - told < repeatTellMs) return
    if (this.toldAt.size >= mostTold) this.toldAt.clear()
    this.toldAt.set(timer.job, now)
    this.options.log.error(
      { job: jobIdOf(timer.uuid), err: error },
      'the schedule of a job cannot be evaluated',
    )
  }
}
