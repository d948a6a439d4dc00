import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/database-clock.js'
import { isAboutARow } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf } from '../../platform/ids.js'
import type { Metrics } from '../../platform/metrics.js'
import type { CalendarSet } from '../../time/schedule.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { type DueTimer, type PlannedTick, planTick } from './plan.js'

const scanStatement = statement<
  { partitions: number[]; passed: number[]; ahead_ms: number; most_per_partition: number; most: number },
  DueTimer
>(new URL('./scan-due.sql', import.meta.url))

interface FireParams {
  owner: number
  partitions: number[]
  epochs: number[]
  jobs: number[]
  job_partitions: number[]
  dues: number[]
  revs: number[]
  run_dues: (number | null)[]
  available_ats: number[]
  next_dues: (number | null)[]
  next_starts: (number | null)[]
  versions: number[]
  routes: number[]
  places: (number | null)[]
  max_attempts: number[]
  catch_ups: boolean[]
  skip_froms: (number | null)[]
  skip_tos: (number | null)[]
  skip_counts: (number | null)[]
  max_runs: (number | null)[]
  gap_jobs: number[]
  gap_ats: number[]
  gap_counts: number[]
}

/**
 * fired: in the queue. skipped: missed ticks passed over. overlap: its place was taken at its instant.
 * early: its place is taken, and its instant is still ahead. behind: its place is taken by a run that was itself late.
 * refused: the partition has a newer epoch. changed: the timer moved on since it was seen, or somebody holds it.
 */
type Decision = 'fired' | 'skipped' | 'overlap' | 'early' | 'behind' | 'refused' | 'changed'

const fireStatement = statement<FireParams, { job: number; due: number; now: number; decision: Decision }>(
  new URL('./fire.sql', import.meta.url),
)

export interface FiringOptions {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  log: Logger
  metrics: Metrics
  stageAheadMs: number
  lateToleranceMs: number
  self: () => number
  owned: () => { partition: number; epoch: number }[]
  disown: (partitions: readonly number[]) => void
  /** Told after ticks entered the queue, with the instant of the earliest. */
  onFired: () => void
  /** Asks for another pass. */
  wake: () => void
}

/** A pass is bounded, and so is each partition's part of it: what is left over is taken by the next, which follows at once. */
const mostPerPass = 5_000
const mostPerPartition = 500
const mostPerStatement = 1_000
/** Ticks are computed in slices: a long computation must hold up no heartbeat and no start of a run. */
const sliceMs = 20
const repeatTellMs = 60_000

/** Decisions after which the cursor stands at a later tick. */
const moving: ReadonlySet<Decision> = new Set<Decision>(['fired', 'skipped', 'overlap'])

/**
 * Turns due ticks of the owned partitions into runs. The database decides: this loop only proposes, from what it saw,
 * and a proposal that is no longer true is refused by epoch, due or rev.
 */
export class Firing {
  private callOff: (() => void) | null = null
  private wakesAt = Number.POSITIVE_INFINITY
  private readonly toldAt = new Map<number, number>()
  /** By partition: timers that wait (for their place, for a repair). They must not keep the page from the others. */
  private passed: ReadonlyMap<number, number> = new Map()

  constructor(private readonly options: FiringOptions) {}

  /** One pass over the owned partitions. Answers true when a partition had more than fits. */
  async runOnce(): Promise<boolean> {
    const partitions = this.options.owned().map(({ partition }) => partition)
    if (partitions.length === 0) return false
    const timers = await this.scan(partitions)
    const calendars = await readCalendars(
      this.options.database,
      timers.flatMap(({ tenant, definition }) => (namesCalendar(definition) ? [tenant] : [])),
    )
    const moved = new Set<number>()
    for (let at = 0; at < timers.length; ) {
      const slice = this.planSlice(timers, at, calendars)
      at = slice.end
      // Ownership may have gone meanwhile: each statement names what is held now.
      for (const job of await this.fire(this.options.owned(), slice.ticks)) moved.add(job)
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.passed = beyondThisPage(this.passed, timers, moved)
    return this.passed.size > 0
  }

  stop(): void {
    this.callOff?.()
  }

  /** Plans from `from` on until a statement is full or the slice's time is over. */
  private planSlice(
    timers: DueTimer[],
    from: number,
    calendars: ReadonlyMap<number, CalendarSet>,
  ): { ticks: PlannedTick[]; end: number } {
    const { clock } = this.options
    const begun = clock.monotonic()
    const ticks: PlannedTick[] = []
    let end = from
    while (end < timers.length && ticks.length < mostPerStatement && clock.monotonic() - begun < sliceMs) {
      const timer = timers[end] as DueTimer
      ticks.push(...this.plan(timer, calendars.get(timer.tenant)))
      end += 1
    }
    return { ticks, end }
  }

  private async scan(partitions: number[]): Promise<DueTimer[]> {
    const { database, databaseClock, stageAheadMs } = this.options
    const sample = databaseClock.begin()
    const timers = await database.run(scanStatement, {
      partitions,
      passed: partitions.map((partition) => this.passed.get(partition) ?? 0),
      ahead_ms: stageAheadMs,
      most_per_partition: mostPerPartition,
      most: mostPerPass,
    })
    const [first] = timers
    if (first !== undefined) sample(first.now)
    return timers
  }

  /** A job whose rule cannot be evaluated must not stop the others. Its cursor stays, so nothing is lost. */
  private plan(timer: DueTimer, calendars: CalendarSet | undefined): PlannedTick[] {
    try {
      return [planTick(timer, this.options.lateToleranceMs, calendars)]
    } catch (error) {
      this.tellUnreadable(timer, error)
      return []
    }
  }

  /** Once when it is found, then once a minute: it is met again in every pass. */
  private tellUnreadable(timer: DueTimer, error: unknown): void {
    this.options.metrics.ticks.inc({ decision: 'unreadable' })
    const now = this.options.clock.monotonic()
    const told = this.toldAt.get(timer.job)
    if (told !== undefined && now - told < repeatTellMs) return
    if (this.toldAt.size >= mostPerPass) this.toldAt.clear()
    this.toldAt.set(timer.job, now)
    this.options.log.error(
      { job: jobIdOf(timer.uuid), err: error },
      'the schedule of a job cannot be evaluated',
    )
  }

  /** Answers the jobs whose cursor moved. */
  private async fire(owned: { partition: number; epoch: number }[], ticks: PlannedTick[]): Promise<number[]> {
    if (ticks.length === 0) return []
    const involved = new Set(ticks.map(({ timer }) => timer.partition))
    const partitions = owned.filter(({ partition }) => involved.has(partition))
    try {
      const answers = await this.options.database.run(
        fireStatement,
        parametersOf(this.options.self(), partitions, ticks),
      )
      this.report(ticks, answers)
      if (answers.some(({ decision }) => decision === 'fired')) this.options.onFired()
      return answers.flatMap(({ job, decision }) => (moving.has(decision) ? [job] : []))
    } catch (error) {
      if (!isAboutARow(error)) throw error
      return this.fireApart(owned, ticks, error)
    }
  }

  /** One row that the tables refuse fails the whole statement: it is found by halving, and the others are fired. */
  private async fireApart(
    owned: { partition: number; epoch: number }[],
    ticks: PlannedTick[],
    error: unknown,
  ): Promise<number[]> {
    const [first] = ticks
    if (first !== undefined && ticks.length === 1) {
      this.tellUnreadable(first.timer, error)
      return []
    }
    const middle = Math.ceil(ticks.length / 2)
    const before = await this.fire(owned, ticks.slice(0, middle))
    return [...before, ...(await this.fire(owned, ticks.slice(middle)))]
  }

  private report(ticks: PlannedTick[], answers: { job: number; now: number; decision: Decision }[]): void {
    const { metrics } = this.options
    const byJob = new Map(ticks.map((tick) => [tick.timer.job, tick]))
    const refused = new Set<number>()
    let nextInstant = Number.POSITIVE_INFINITY
    for (const { job, now, decision } of answers) {
      const tick = byJob.get(job)
      if (tick === undefined) continue
      metrics.ticks.inc({ decision })
      if (decision === 'fired') metrics.fireLateness.observe(Math.max(0, now - tick.availableAt) / 1000)
      if (decision === 'refused') refused.add(tick.timer.partition)
      if (decision === 'early') nextInstant = Math.min(nextInstant, tick.availableAt - now)
    }
    if (refused.size > 0) {
      metrics.refusedByEpoch.inc(refused.size)
      this.options.disown([...refused])
    }
    this.wakeIn(nextInstant + 1)
  }

  /** A tick whose place is taken is decided at its instant: be there, whatever the scan interval. The earliest counts. */
  private wakeIn(delayMs: number): void {
    const { clock, wake } = this.options
    const at = clock.monotonic() + delayMs
    if (at >= this.wakesAt) return
    this.callOff?.()
    this.wakesAt = at
    this.callOff = clock.after(delayMs, () => {
      this.wakesAt = Number.POSITIVE_INFINITY
      wake()
    })
  }
}

/** Of the partitions whose page was full: how many timers the next pass leaves out, because they did not move. */
function beyondThisPage(
  passed: ReadonlyMap<number, number>,
  timers: DueTimer[],
  moved: ReadonlySet<number>,
): Map<number, number> {
  const cutShort = timers.length >= mostPerPass
  const pages = new Map<number, { timers: number; waiting: number }>()
  for (const { job, partition } of timers) {
    const page = pages.get(partition) ?? { timers: 0, waiting: 0 }
    page.timers += 1
    if (!moved.has(job)) page.waiting += 1
    pages.set(partition, page)
  }
  return new Map(
    [...pages].flatMap(([partition, page]) =>
      !cutShort && page.timers < mostPerPartition
        ? []
        : [[partition, (passed.get(partition) ?? 0) + page.waiting] as const],
    ),
  )
}

function parametersOf(
  owner: number,
  partitions: { partition: number; epoch: number }[],
  ticks: PlannedTick[],
): FireParams {
  const gaps = ticks.flatMap(({ timer, gaps }) => gaps.map((gap) => ({ job: timer.job, ...gap })))
  return {
    owner,
    partitions: partitions.map(({ partition }) => partition),
    epochs: partitions.map(({ epoch }) => epoch),
    jobs: ticks.map(({ timer }) => timer.job),
    job_partitions: ticks.map(({ timer }) => timer.partition),
    dues: ticks.map(({ timer }) => timer.due),
    revs: ticks.map(({ timer }) => timer.rev),
    run_dues: ticks.map((tick) => tick.runDue),
    available_ats: ticks.map((tick) => tick.availableAt),
    next_dues: ticks.map((tick) => tick.nextDue),
    next_starts: ticks.map((tick) => tick.nextStart),
    versions: ticks.map(({ timer }) => timer.version),
    routes: ticks.map(({ timer }) => timer.route),
    places: ticks.map(() => placesOfSkip),
    max_attempts: ticks.map(({ timer }) => 1 + timer.definition.max_retries),
    catch_ups: ticks.map((tick) => tick.catchUp),
    skip_froms: ticks.map((tick) => tick.skip?.from ?? null),
    skip_tos: ticks.map((tick) => tick.skip?.to ?? null),
    skip_counts: ticks.map((tick) => tick.skip?.count ?? null),
    max_runs: ticks.map(({ timer }) => timer.definition.max_runs ?? null),
    gap_jobs: gaps.map(({ job }) => job),
    gap_ats: gaps.map(({ at }) => at),
    gap_counts: gaps.map(({ count }) => count),
  }
}

/** The overlap policy SKIP: one run of a job at a time. */
const placesOfSkip = 1
