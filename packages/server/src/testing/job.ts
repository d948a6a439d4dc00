import type { JobDefinition, JobInput } from '@carillon/contract'
import { firstStart, type NewJob } from '../pipeline/register/definition.js'
import { type CalendarSet, parseSchedule, type Schedule } from '../time/schedule.js'
import { decideTick, type TickDecision } from '../time/missed.js'

/** A job and its cursor, as the scheduler keeps it. */
export class TestJob {
  readonly definition: JobDefinition
  private readonly schedule: Schedule
  /** The next tick that is not decided; null when none is ahead. */
  private due: number | null
  private readonly spreadMs: number
  private fired = 0

  constructor(
    readonly id: string,
    readonly input: JobInput,
    made: NewJob,
    calendars: CalendarSet,
  ) {
    const { definition, due } = made
    this.definition = definition
    this.schedule = parseSchedule({ ...definition, calendars })
    this.due = due
    this.spreadMs = Math.max(0, firstStart(made, id) - due)
  }

  get name(): string {
    return this.definition.name
  }

  /** When its next tick starts; null when none is ahead. */
  get startAt(): number | null {
    return this.due === null ? null : this.due + this.spreadMs
  }

  /** Decides, by the policy, what becomes of the ticks up to now, and moves the cursor past them. */
  decide(now: number, lateToleranceMs: number): TickDecision {
    const { due, schedule, definition } = this
    if (due === null) return { fire: null, skip: null, replay: null, next: null }
    const { missed_window, max_missed, misfire_grace_seconds: grace, max_runs: mostRuns } = definition
    const decision = decideTick({
      schedule,
      due,
      startAt: due + this.spreadMs,
      now,
      lateToleranceMs,
      policy: {
        missedWindow: missed_window,
        maxMissed: max_missed,
        graceMs: grace === null ? null : grace * 1000,
      },
    })
    this.fired += (decision.fire === null ? 0 : 1) + (decision.replay?.count ?? 0)
    this.due = mostRuns !== null && this.fired >= mostRuns ? null : decision.next
    return decision
  }

  /** The ticks from one to another, both included. */
  ticks(from: number, to: number): number[] {
    const ticks = [from]
    for (let tick = this.schedule.next(from); tick !== null && tick <= to; tick = this.schedule.next(tick))
      ticks.push(tick)
    return ticks
  }
}
