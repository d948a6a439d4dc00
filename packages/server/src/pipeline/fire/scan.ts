import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { Seldom } from '../../platform/seldom.js'
import type { Horizon, Whereabouts } from './horizon.js'

interface SeenTimer {
  job: number
  partition: number
  start_at: number
}

/** Columns, not rows: of a crowd there are tens of thousands, and a row is taken apart field by field. */
interface SeenTimers {
  jobs: number[]
  partitions: number[]
  start_ats: number[]
  now: number
}

const scanStatement = statement<
  {
    partitions: number[]
    from_starts: number[]
    from_jobs: number[]
    ahead_ms: number
    most_per_partition: number
  },
  SeenTimers
>(new URL('./scan-due.sql', import.meta.url))

export interface ScanOptions {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  horizon: Horizon
  owned: () => readonly { partition: number }[]
  aheadMs: number
  intervalMs: number
}

const mostPerPartition = 500
/** Fewer are looked through each time. */
const many = 200
/** Timers come up to so late behind their start and are found by the next scan. */
const slackMs = 30_000
/** What lies further back is found by a scan from the bottom, at most so long after. */
const mostBetweenFullMs = 2_000

/** Whether the job is fired beside a look, or will be, as it was seen there: then it is no finding. */
export type Overtaken = (job: number, startAt: number) => boolean

/**
 * Looks in the table itself for timers that start soon, at its own interval. The wheel's feed may miss a change that was
 * committed late; nothing is missed here.
 *
 * At the bottom of the index lie the entries of ticks that are over, for as long as any old transaction is open: a scan
 * from there reads them all. It is made as often as its own cost allows, and at once for partitions that are new.
 */
export class Scan {
  /** A partition had more than a page. */
  private cutShort = false
  private scannedAt = Number.NEGATIVE_INFINITY
  /** By partition whose page was full: the last timer of it, after which the next scan goes on. */
  private readonly ends = new Map<number, SeenTimer>()
  private readonly fromTheBottom: Seldom
  /** While many are seen and all of them are known already, looking takes no more than its share of the time. */
  private readonly ofTheKnown: Seldom
  /** What the pages of the sweep under way have shown. */
  private sweep: { begun: number; seen: number; foundSome: boolean } | null = null
  /** The partitions that were scanned from the bottom last. */
  private known: ReadonlySet<number> = new Set()

  constructor(private readonly options: ScanOptions) {
    this.fromTheBottom = new Seldom(options.clock, mostBetweenFullMs)
    this.ofTheKnown = new Seldom(options.clock, mostBetweenFullMs, 100)
  }

  /** There is another page to look at: the next pass should follow at once. */
  get goesOn(): boolean {
    return this.cutShort && this.ofTheKnown.isDue()
  }

  /** Something changed that the wheel has not heard of yet: the next pass looks whatever the interval. */
  soon(): void {
    this.scannedAt = Number.NEGATIVE_INFINITY
    this.ofTheKnown.demand()
  }

  /**
   * Timers that start soon and that the wheel does not know as that; none when it is not yet time to look. Asked of each at
   * the end: those that were fired meanwhile it may have seen as they were before.
   */
  async runOnce(isOvertaken: Overtaken = nobody): Promise<Map<number, Whereabouts>> {
    const { database, databaseClock, clock, horizon, owned, aheadMs, intervalMs } = this.options
    const found = new Map<number, Whereabouts>()
    const begun = clock.monotonic()
    if (!this.goesOn && begun - this.scannedAt < intervalMs) return found
    if (!this.ofTheKnown.isDue()) return found
    this.scannedAt = begun
    const partitions = owned().map(({ partition }) => partition)
    const full = this.fromTheBottom.isDue() || partitions.some((partition) => !this.known.has(partition))
    const from = full ? 0 : databaseClock.atLeast() - slackMs
    const sample = databaseClock.begin()
    const [seen] = await database.run(scanStatement, {
      partitions,
      from_starts: partitions.map((partition) => this.ends.get(partition)?.start_at ?? from),
      from_jobs: partitions.map((partition) => this.ends.get(partition)?.job ?? 0),
      ahead_ms: aheadMs,
      most_per_partition: mostPerPartition,
    })
    if (full) this.scannedFromTheBottom(partitions, begun)
    if (seen !== undefined) sample(seen.now)
    const jobs = seen?.jobs ?? []
    jobs.forEach((job, at) => {
      const startAt = seen?.start_ats[at] as number
      if (!horizon.knows(job, startAt) && !isOvertaken(job, startAt))
        found.set(job, { partition: seen?.partitions[at] as number, startAt })
    })
    if (seen !== undefined) this.turnPages(seen)
    this.paceAfter(jobs.length, found.size > 0, begun)
    return found
  }

  /** From the first of several pages to the last it goes on at once; and so it does where something changed meanwhile. */
  private paceAfter(seen: number, foundSome: boolean, begun: number): void {
    this.sweep ??= { begun, seen: 0, foundSome: false }
    this.sweep.seen += seen
    this.sweep.foundSome ||= foundSome
    if (this.cutShort) return
    const { sweep } = this
    this.sweep = null
    if (sweep.seen >= many && !sweep.foundSome && this.scannedAt === begun) this.ofTheKnown.done(sweep.begun)
  }

  private scannedFromTheBottom(partitions: readonly number[], begun: number): void {
    this.known = new Set(partitions)
    this.fromTheBottom.done(begun)
  }

  /** Timers that wait, or that cannot be read, must not keep the page from those behind them. */
  private turnPages({ jobs, partitions, start_ats }: SeenTimers): void {
    const pages = new Map<number, { rows: number; last: number }>()
    partitions.forEach((partition, at) => {
      const page = pages.get(partition)
      if (page === undefined) pages.set(partition, { rows: 1, last: at })
      else {
        page.rows += 1
        page.last = at
      }
    })
    this.ends.clear()
    for (const [partition, { rows, last }] of pages)
      if (rows >= mostPerPartition)
        this.ends.set(partition, {
          partition,
          job: jobs[last] as number,
          start_at: start_ats[last] as number,
        })
    this.cutShort = this.ends.size > 0
  }
}

const nobody: Overtaken = () => false
