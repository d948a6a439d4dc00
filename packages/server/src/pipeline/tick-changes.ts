import type { Runner } from '../db/pool.js'
import { statement } from '../db/statement.js'
import type { Schedule } from '../time/schedule.js'
import { TicksExcept } from '../time/ticks-except.js'

export interface TickChange {
  due: number
  action: 'skip' | 'move'
  /** When a moved tick starts. */
  start_at: number | null
  reason: string | null
}

const readStatement = statement<{ jobs: number[]; afters: number[] }, TickChange & { job: number }>(
  new URL('./tick-changes.sql', import.meta.url),
)

/** What people asked of single ticks of one job. A change of an instant that is no tick (any more) has no effect. */
export class TickChanges {
  /** In the order of their ticks. */
  readonly all: readonly TickChange[]
  readonly #byDue: ReadonlyMap<number, TickChange>

  constructor(changes: readonly TickChange[]) {
    this.all = [...changes].sort((a, b) => a.due - b.due)
    this.#byDue = new Map(this.all.map((change) => [change.due, change]))
  }

  get none(): boolean {
    return this.all.length === 0
  }

  of(due: number): TickChange | undefined {
    return this.#byDue.get(due)
  }

  isSkipped(due: number): boolean {
    return this.#byDue.get(due)?.action === 'skip'
  }

  /** When a tick was moved to; null where it was not. */
  movedTo(due: number): number | null {
    return this.#byDue.get(due)?.start_at ?? null
  }

  /** The ticks that are left out on request, from one instant to another, both included. */
  skipped(schedule: Schedule, from: number, to: number): number[] {
    return this.all
      .filter(
        ({ due, action }) => action === 'skip' && from <= due && due <= to && schedule.prev(due) === due,
      )
      .map(({ due }) => due)
  }

  /** The schedule as far as it is to be run: without what is left out, up to an instant. */
  left(schedule: Schedule, through?: number): Schedule {
    if (this.none) return schedule
    const skips = this.all.filter(({ action }) => action === 'skip').map(({ due }) => due)
    return new TicksExcept(schedule, skips, through)
  }

  /**
   * Ticks up to an instant have come, but not one that was moved and starts later, nor any after it: the instant before the
   * first of these, or the one that was given.
   */
  come(through: number, now: number): number {
    const ahead = this.all.find(({ due, start_at: startAt }) => due <= through && (startAt ?? now) > now)
    return ahead === undefined ? through : ahead.due - 1
  }
}

export const noTickChanges = new TickChanges([])

/** By job; of each only what lies after an instant. */
export async function readTickChanges(
  runner: Runner,
  wanted: readonly { job: number; after: number }[],
): Promise<ReadonlyMap<number, TickChanges>> {
  if (wanted.length === 0) return new Map()
  const rows = await runner.run(readStatement, {
    jobs: wanted.map(({ job }) => job),
    afters: wanted.map(({ after }) => after),
  })
  const byJob = new Map<number, TickChange[]>()
  for (const { job, ...change } of rows) byJob.set(job, [...(byJob.get(job) ?? []), change])
  return new Map([...byJob].map(([job, changes]) => [job, new TickChanges(changes)]))
}
