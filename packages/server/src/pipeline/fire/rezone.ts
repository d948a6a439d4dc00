import type { JobDefinition } from '@carillon/contract'
import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf } from '../../platform/ids.js'
import { type CalendarSet, parseSchedule, type Schedule } from '../../time/schedule.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { parkedUntil } from '../parked.js'
import { spreadMs } from '../spread.js'
import { readTickChanges, type TickChanges } from '../tick-changes.js'

interface OwnedPartition {
  partition: number
  epoch: number
}

interface TimerOnPage {
  job: number
  partition: number
  tenant: number
  due: number
  start_at: number
  rev: number
  uuid: string
  ticks_changed_until: number | null
  definition: Omit<JobDefinition, 'payload' | 'target'> | null
  staged_from: number | null
  staged_count: number
  accounted: number
}

interface MovedTimer {
  timer: TimerOnPage
  nextDue: number | null
  nextStart: number | null
  calendars: CalendarSet | null
}

const staleStatement = statement<{ partitions: number[]; zone_data: string }, { partition: number }>(
  new URL('./rezone-stale.sql', import.meta.url),
)
const pageStatement = statement<
  {
    partitions: number[]
    after_starts: number[]
    after_jobs: number[]
    most_per_partition: number
    zone_data: string
    parked_until: number
    most_shift_ms: number
  },
  TimerOnPage
>(new URL('./rezone-page.sql', import.meta.url))
const rezoneStatement = statement<
  {
    owner: number
    partitions: number[]
    epochs: number[]
    jobs: number[]
    job_partitions: number[]
    dues: number[]
    revs: number[]
    accounted: number[]
    next_dues: (number | null)[]
    next_starts: (number | null)[]
    staged_froms: (number | null)[]
    staged_counts: number[]
    calendars: (string | null)[]
    zone_data: string
  },
  { job: number }
>(new URL('./rezone.sql', import.meta.url))
const doneStatement = statement<
  { owner: number; partitions: number[]; epochs: number[]; zone_data: string },
  OwnedPartition
>(new URL('./rezone-done.sql', import.meta.url))

export interface RezoneOptions {
  database: Database
  log: Logger
  self: () => number
  owned: () => readonly OwnedPartition[]
  /** The release of the zone data that ticks are computed with here. */
  zoneData?: string
}

/** A pass is bounded: so many partitions, and of each so many timers. What is left over follows at once. */
const mostPartitions = 16
const mostPerPartition = 100
/** Some zones have changed sides of the date line: a whole day, and no more. */
const mostShiftMs = 26 * 3_600_000
const beginning = { start: -1, job: 0 }

/**
 * Zone data changes with the Node that ticks are computed by. The owner of a partition whose cursors were computed with
 * other data walks its timers, the next to start first, and sets those right that the new data puts elsewhere. Ticks that
 * were fired stay as they are. A walk that is cut short, by a restart or a change of owner, begins anew and finds less.
 */
export class Rezone {
  private readonly zoneData: string
  /** Partitions known to be right, under the epoch of which it is known: another owner may have had other data. */
  private readonly right = new Map<number, number>()
  private readonly positions = new Map<number, { epoch: number; start: number; job: number }>()
  /** Partitions in which the last pass could not set all right: they come after the others. */
  private left: ReadonlySet<number> = new Set()

  constructor(private readonly options: RezoneOptions) {
    this.zoneData = options.zoneData ?? process.versions.tz ?? 'unknown'
  }

  /** One pass. Answers true while there is more to walk. Costs nothing once all that is owned is right. */
  async runOnce(): Promise<boolean> {
    const open = this.options.owned().filter(({ partition, epoch }) => this.right.get(partition) !== epoch)
    if (open.length === 0) return false
    const stale = await this.stale(open)
    const inTheWay = this.left
    const walked = stale
      .sort((a, b) => Number(inTheWay.has(a.partition)) - Number(inTheWay.has(b.partition)))
      .slice(0, mostPartitions)
    if (walked.length === 0) return false
    const timers = await this.page(walked)
    const left = await this.apply(walked, await this.differing(timers))
    this.left = left
    await this.turnPages(walked, timers, left)
    // Where nothing could be set right, somebody is in the way or owns it by now: there is no hurry.
    return left.size < walked.length
  }

  private async stale(open: readonly OwnedPartition[]): Promise<OwnedPartition[]> {
    const rows = await this.options.database.run(staleStatement, {
      partitions: open.map(({ partition }) => partition),
      zone_data: this.zoneData,
    })
    const stale = new Set(rows.map(({ partition }) => partition))
    for (const { partition, epoch } of open) if (!stale.has(partition)) this.right.set(partition, epoch)
    return open.filter(({ partition }) => stale.has(partition))
  }

  private page(walked: readonly OwnedPartition[]): Promise<TimerOnPage[]> {
    const positions = walked.map((owned) => this.positionOf(owned))
    return this.options.database.run(pageStatement, {
      partitions: walked.map(({ partition }) => partition),
      after_starts: positions.map(({ start }) => start),
      after_jobs: positions.map(({ job }) => job),
      most_per_partition: mostPerPartition,
      zone_data: this.zoneData,
      parked_until: parkedUntil,
      most_shift_ms: mostShiftMs,
    })
  }

  /** Where the walk through a partition stands. One that was begun under another epoch counts for nothing. */
  private positionOf({ partition, epoch }: OwnedPartition): { start: number; job: number } {
    const position = this.positions.get(partition)
    return position?.epoch === epoch ? position : beginning
  }

  /** The timers whose next tick is another one by the data of now. */
  private async differing(timers: readonly TimerOnPage[]): Promise<MovedTimer[]> {
    const calendars = await readCalendars(
      this.options.database,
      timers.flatMap(({ tenant, definition }) =>
        definition !== null && namesCalendar(definition) ? [tenant] : [],
      ),
    )
    const changes = await readTickChanges(
      this.options.database,
      timers.flatMap(({ job, accounted, ticks_changed_until: until }) =>
        (until ?? 0) > accounted ? [{ job, after: accounted }] : [],
      ),
    )
    return timers.flatMap((timer) => this.compute(timer, calendars.get(timer.tenant), changes.get(timer.job)))
  }

  private compute(
    timer: TimerOnPage,
    calendars: CalendarSet | undefined,
    changes: TickChanges | undefined,
  ): MovedTimer[] {
    const { definition, uuid, accounted } = timer
    if (definition === null) return []
    try {
      const schedule = parseSchedule({ ...definition, calendars: calendars ?? {} })
      const nextDue = schedule.next(accounted)
      if (isRight(timer, schedule)) return []
      const nextStart =
        nextDue === null ? null : (changes?.movedTo(nextDue) ?? nextDue + spreadMs(jobIdOf(uuid), definition))
      const named = namesCalendar(definition) ? namedOf(definition.exclude, calendars ?? {}) : null
      return [{ timer, nextDue, nextStart, calendars: named }]
    } catch (error) {
      // Its cursor stays. The firing loop tells of it at its time, and again every minute.
      this.options.log.debug({ job: jobIdOf(uuid), err: error }, 'the schedule of a job cannot be evaluated')
      return []
    }
  }

  /** Answers the partitions in which something was fired, edited or leased meanwhile: they are looked at again. */
  private async apply(
    walked: readonly OwnedPartition[],
    moved: readonly MovedTimer[],
  ): Promise<ReadonlySet<number>> {
    if (moved.length === 0) return new Set()
    const { database, self, log } = this.options
    const timers = moved.map(({ timer }) => timer)
    const rows = await database.run(rezoneStatement, {
      owner: self(),
      partitions: walked.map(({ partition }) => partition),
      epochs: walked.map(({ epoch }) => epoch),
      jobs: timers.map(({ job }) => job),
      job_partitions: timers.map(({ partition }) => partition),
      dues: timers.map(({ due }) => due),
      revs: timers.map(({ rev }) => rev),
      accounted: timers.map(({ accounted }) => accounted),
      next_dues: moved.map(({ nextDue }) => nextDue),
      next_starts: moved.map(({ nextStart }) => nextStart),
      staged_froms: timers.map((timer) => timer.staged_from),
      staged_counts: timers.map((timer) => timer.staged_count),
      calendars: moved.map(({ calendars }) => (calendars === null ? null : JSON.stringify(calendars))),
      zone_data: this.zoneData,
    })
    const done = new Set(rows.map(({ job }) => job))
    if (done.size > 0)
      log.info({ jobs: done.size, zone_data: this.zoneData }, 'next ticks moved with the zone data')
    return new Set(timers.flatMap(({ job, partition }) => (done.has(job) ? [] : [partition])))
  }

  private async turnPages(
    walked: readonly OwnedPartition[],
    timers: readonly TimerOnPage[],
    left: ReadonlySet<number>,
  ): Promise<void> {
    const finished: OwnedPartition[] = []
    for (const owned of walked.filter(({ partition }) => !left.has(partition))) {
      const { partition, epoch } = owned
      const page = timers.filter((timer) => timer.partition === partition)
      const last = page.at(-1)
      if (last === undefined || page.length < mostPerPartition) finished.push(owned)
      else this.positions.set(partition, { epoch, start: last.start_at, job: last.job })
    }
    if (finished.length === 0) return
    await this.options.database.run(doneStatement, {
      owner: this.options.self(),
      partitions: finished.map(({ partition }) => partition),
      epochs: finished.map(({ epoch }) => epoch),
      zone_data: this.zoneData,
    })
    // Also those that were not marked: they have another owner, and this epoch never comes back.
    for (const { partition, epoch } of finished) {
      this.right.set(partition, epoch)
      this.positions.delete(partition)
    }
  }
}

/** Whether what was staged, and the cursor after it, are the next ticks. */
function isRight(
  { accounted, due, staged_from: stagedFrom, staged_count: staged }: TimerOnPage,
  schedule: Schedule,
) {
  let tick = schedule.next(accounted)
  if (stagedFrom !== null && tick !== stagedFrom) return false
  for (let at = 0; at < staged && tick !== null; at++) tick = schedule.next(tick)
  return tick === due
}

/** What the calendars that a job names hold now: its past is computed from this, whatever becomes of them. */
function namedOf(names: readonly string[], calendars: CalendarSet): CalendarSet {
  return Object.fromEntries(Object.entries(calendars).filter(([name]) => names.includes(name)))
}
