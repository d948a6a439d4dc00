import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { within } from '../../db/within.js'
import type { Clock } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import { type FleetCounts, countFleet } from './count-fleet.js'

/** The signs of life of the fleet at one moment: what is judged by bounds. */
export interface FleetSigns {
  /** How long the oldest run that any worker with room could take has waited. */
  oldest_ready_ms: number
  /** Partitions that no live scheduler owns. */
  unowned: number
  /** How many schedulers own partitions. */
  owners: number
  /** How long the oldest tick that is due and not fired has waited. */
  oldest_due_ms: number
  /** Workers over HTTP that are alive. */
  remote_workers: number
}

interface SampleRow {
  /** Empty before the first. */
  sample: Partial<FleetSigns>
  taken_at: number
  age_ms: number
  due: boolean
  counts: Partial<FleetCounts>
  counts_age_ms: number
}

const readStatement = statement<{ every_ms: number }, SampleRow>(
  new URL('./read-sample.sql', import.meta.url),
)
const claimStatement = statement<{ taken_at: number }, { taken_at: number }>(
  new URL('./claim-sample.sql', import.meta.url),
)
const signsStatement = statement<Record<string, never>, FleetSigns>(
  new URL('./vital-signs.sql', import.meta.url),
)
const keepStatement = statement<{ sample: string }, { taken_at: number }>(
  new URL('./keep-sample.sql', import.meta.url),
)

const everyMs = 5_000
/** A few hundred steps into indexes. A database that takes longer than this is not well, and is told of by the age of the signs. */
const signsWithinMs = 2_000

export interface FleetSamplesOptions {
  database: Database
  clock: Clock
  metrics: Metrics
  /** How long a count over the queue may take. */
  countWithinMs?: number
}

interface Known<Numbers> {
  numbers: Numbers
  at: number
}

/**
 * What the whole fleet has to do, known to every process from memory. Whoever finds the kept numbers old takes others; the rest read
 * them. Nobody counts because somebody asks: a scrape costs the database nothing. Signs and counts are two loops: a queue that is too
 * long to be counted does not keep from saying that it is late.
 */
export class FleetSamples {
  private signs: Known<FleetSigns> | null = null
  private counts: Known<FleetCounts> | null = null

  constructor(private readonly options: FleetSamplesOptions) {
    options.metrics.onRender(() => this.tell())
  }

  /** The latest signs, and how old they are by now. */
  latest(): { sample: FleetSigns; ageMs: number } | null {
    if (this.signs === null) return null
    return { sample: this.signs.numbers, ageMs: this.ageOf(this.signs) }
  }

  async runOnce(): Promise<undefined> {
    const [row] = await this.options.database.run(readStatement, { every_ms: everyMs })
    if (row === undefined) return
    if (row.counts.waiting !== undefined)
      this.counts = { numbers: row.counts as FleetCounts, at: this.before(row.counts_age_ms) }
    if (row.due && (await this.take(row.taken_at))) return
    if (row.sample.unowned !== undefined)
      this.signs = { numbers: row.sample as FleetSigns, at: this.before(row.age_ms) }
  }

  /** Counts, where it is time to and nobody else does. */
  async countOnce(): Promise<undefined> {
    const counted = await countFleet(this.options)
    if (counted !== null) this.counts = { numbers: counted, at: this.before(0) }
  }

  /** False where somebody else takes them at this moment. */
  private take(last: number): Promise<boolean> {
    return this.options.database.transaction(async (runner) => {
      const claimed = await runner.run(claimStatement, { taken_at: last })
      if (claimed.length === 0) return false
      const signs = await this.look(runner)
      await runner.run(keepStatement, { sample: JSON.stringify(signs) })
      this.signs = { numbers: signs, at: this.before(0) }
      return true
    })
  }

  private async look(runner: Runner): Promise<FleetSigns> {
    await within(runner, signsWithinMs)
    const [signs] = await runner.run(signsStatement, {})
    if (signs === undefined) throw new Error('The look at the fleet gave no answer.')
    return signs
  }

  private before(ageMs: number): number {
    return this.options.clock.monotonic() - ageMs
  }

  private ageOf({ at }: Known<unknown>): number {
    return this.options.clock.monotonic() - at
  }

  private tell(): void {
    const { metrics } = this.options
    const { signs, counts } = this
    if (counts !== null) {
      for (const state of ['running', 'ready', 'waiting', 'ahead', 'parked'] as const)
        metrics.queueRuns.set({ state }, counts.numbers[state])
      metrics.deadLetters.set(counts.numbers.dead_letters)
    }
    if (signs !== null) {
      metrics.queueOldestDue.set(signs.numbers.oldest_ready_ms / 1000)
      metrics.ticksOldestDue.set(signs.numbers.oldest_due_ms / 1000)
      metrics.partitionsUnowned.set(signs.numbers.unowned)
    }
    if (signs !== null && counts !== null)
      metrics.sampleAge.set(Math.max(this.ageOf(signs), this.ageOf(counts)) / 1000)
  }
}
