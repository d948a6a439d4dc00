import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import { parkedUntil } from '../parked.js'

/** The fleet at one moment, in numbers. */
export interface FleetSample {
  running: number
  /** Any worker with room could take them. */
  ready: number
  /** Due, and they wait for a place of their job, or for a host that is not called at present. */
  waiting: number
  ahead: number
  parked: number
  /** How long the oldest of those that are ready has waited. */
  oldest_ready_ms: number
  /** Partitions that no live scheduler owns. */
  unowned: number
  /** How many schedulers own partitions. */
  owners: number
  /** How long the oldest tick that is due and not fired has waited. */
  oldest_due_ms: number
  dead_letters: number
  /** Workers over HTTP that are alive. */
  remote_workers: number
}

interface SampleRow {
  /** Empty before the first. */
  sample: Partial<FleetSample>
  taken_at: number
  age_ms: number
  due: boolean
}

const readStatement = statement<{ every_ms: number; factor: number }, SampleRow>(
  new URL('./read-sample.sql', import.meta.url),
)
const claimStatement = statement<{ taken_at: number }, { taken_at: number }>(
  new URL('./claim-sample.sql', import.meta.url),
)
const countStatement = statement<{ parked_until: number; most_letters: number }, FleetSample>(
  new URL('./count-fleet.sql', import.meta.url),
)
const keepStatement = statement<{ took_ms: number; sample: string }, { taken_at: number }>(
  new URL('./keep-sample.sql', import.meta.url),
)

const everyMs = 5_000
/** Counting takes no more than this part of somebody's time, however long the queue is. */
const keptFactor = 20
const mostLetters = 1_000_000

export interface FleetSamplesOptions {
  database: Database
  clock: Clock
  metrics: Metrics
}

/**
 * What the whole fleet has to do, known to every process from memory. Whoever finds the kept sample old takes another; the others read
 * it. Nobody counts because somebody asks: a scrape costs the database nothing.
 */
export class FleetSamples {
  private known: { sample: FleetSample; takenAt: number } | null = null

  constructor(private readonly options: FleetSamplesOptions) {
    options.metrics.onRender(() => this.tell())
  }

  /** The latest sample, and how old it is by now. */
  latest(): { sample: FleetSample; ageMs: number } | null {
    if (this.known === null) return null
    return { sample: this.known.sample, ageMs: this.options.clock.monotonic() - this.known.takenAt }
  }

  async runOnce(): Promise<undefined> {
    const { database } = this.options
    const [row] = await database.run(readStatement, { every_ms: everyMs, factor: keptFactor })
    if (row === undefined) return
    if (!row.due || !(await this.take(row.taken_at))) this.learn(row.sample, row.age_ms)
  }

  /** False where somebody else takes it at this moment. */
  private take(last: number): Promise<boolean> {
    return this.options.database.transaction(async (runner) => {
      const claimed = await runner.run(claimStatement, { taken_at: last })
      if (claimed.length === 0) return false
      this.learn(await this.count(runner), 0)
      return true
    })
  }

  private async count(runner: Runner): Promise<FleetSample> {
    const { clock } = this.options
    const begun = clock.monotonic()
    const [sample] = await runner.run(countStatement, {
      parked_until: parkedUntil,
      most_letters: mostLetters,
    })
    if (sample === undefined) throw new Error('Counting the fleet gave no answer.')
    const tookMs = Math.ceil(clock.monotonic() - begun)
    await runner.run(keepStatement, { took_ms: tookMs, sample: JSON.stringify(sample) })
    return sample
  }

  private learn(sample: SampleRow['sample'], ageMs: number): void {
    if (sample.waiting === undefined) return
    this.known = { sample: sample as FleetSample, takenAt: this.options.clock.monotonic() - ageMs }
  }

  private tell(): void {
    const { metrics } = this.options
    const latest = this.latest()
    if (latest === null) return
    const { sample, ageMs } = latest
    for (const state of ['running', 'ready', 'waiting', 'ahead', 'parked'] as const)
      metrics.queueRuns.set({ state }, sample[state])
    metrics.queueOldestDue.set(sample.oldest_ready_ms / 1000)
    metrics.ticksOldestDue.set(sample.oldest_due_ms / 1000)
    metrics.partitionsUnowned.set(sample.unowned)
    metrics.deadLetters.set(sample.dead_letters)
    metrics.sampleAge.set(ageMs / 1000)
  }
}
