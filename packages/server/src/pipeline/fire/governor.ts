import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'

const loadStatement = statement<{ partitions: number[]; horizon_ms: number }, { ticks: number }>(
  new URL('./scheduled-load.sql', import.meta.url),
)

export interface GovernorOptions {
  database: Database
  clock: Clock
  owned: () => readonly { partition: number }[]
  horizonMs: number
  /** Catching up never goes slower than this, unless an operator says so. */
  floorPerSecond: number
  /** An operator's order: catch-up at this part of its pace. */
  catchUpFactor: () => number
}

/** Catching up goes at twice the pace at which ticks are scheduled anyway. */
const timesScheduled = 2
const measureEveryMs = 60_000
/** What was not used up is kept for so long: a burst after a quiet time is no more than this. */
const burstMs = 1_000

/** The pace of catching up: so many ticks a second, shared by everything that this node has to catch up. */
export class Governor {
  perSecond = 0
  private measuredAt = Number.NEGATIVE_INFINITY
  private scheduledPerSecond = 0
  private filledAt: number | null = null
  private allowance = 0

  constructor(private readonly options: GovernorOptions) {}

  /** How many ticks may be caught up now. */
  async allowed(): Promise<number> {
    const { clock, floorPerSecond, catchUpFactor } = this.options
    const now = clock.monotonic()
    if (now - this.measuredAt >= measureEveryMs) await this.measure(now)
    this.perSecond = Math.max(floorPerSecond, timesScheduled * this.scheduledPerSecond) * catchUpFactor()
    // The first look may begin at once.
    const elapsedMs = this.filledAt === null ? burstMs : now - this.filledAt
    this.filledAt = now
    const most = Math.max(1, (this.perSecond * burstMs) / 1000)
    this.allowance = Math.min(most, this.allowance + (this.perSecond * elapsedMs) / 1000)
    return this.perSecond === 0 ? 0 : Math.floor(this.allowance)
  }

  used(ticks: number): void {
    this.allowance -= ticks
  }

  private async measure(now: number): Promise<void> {
    const { database, owned, horizonMs } = this.options
    const partitions = owned().map(({ partition }) => partition)
    const [load] = await database.run(loadStatement, { partitions, horizon_ms: horizonMs })
    this.scheduledPerSecond = (load?.ticks ?? 0) / (horizonMs / 1000)
    this.measuredAt = now
  }
}
