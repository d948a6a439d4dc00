import type { JobDefinition } from '@carillon/contract'
import { jobIdOf } from '../../platform/ids.js'
import { type CalendarSet, parseSchedule, type Schedule } from '../../time/schedule.js'
import { spreadMs } from '../spread.js'
import type { Breather } from './breather.js'

/** A job as active-jobs.sql answers it. */
export interface ActiveJob {
  job: number
  uuid: string
  name: string
  one_off: boolean
  start_at: number
  definition: Omit<JobDefinition, 'payload' | 'target'>
}

export interface NamedJob {
  job_id: string
  name: string
}

/** Jobs with the same ticks. */
export interface Group {
  schedule: Schedule
  definition: ActiveJob['definition']
  jobs: number
  /** How many of them start how many seconds after each tick. */
  offsets: Map<number, number>
  /** Jobs that start at the very tick, and could be spread. */
  unspread: number
  samples: (NamedJob & { offset: number })[]
}

/** Jobs of one period, by the second at which they first start in the window. */
type Phases = Map<number, { jobs: number; samples: NamedJob[] }>

const mostSamples = 3
/** Additions to the count of a second, for one forecast: about a second of computing. Beyond that, groups are sampled. */
export const mostEffort = 20_000_000
const mostOffsets = 600
const breatheEvery = 2_000

/** How many ticks start in each second of a window. Equal schedules are computed once, whatever the number of jobs. */
export class Demand {
  readonly seconds: Float64Array
  readonly groups = new Map<string, Group>()
  sampled = false
  jobs = 0
  private readonly periods = new Map<number, Phases>()
  private readonly once = new Map<number, NamedJob[]>()
  private readonly fromSecond: number

  constructor(
    readonly from: number,
    readonly lengthSeconds: number,
    private readonly weight = 1,
    private readonly effort = mostEffort,
  ) {
    this.fromSecond = Math.floor(from / 1000)
    this.seconds = new Float64Array(lengthSeconds)
    this.sampled = weight > 1
  }

  /** Takes a job in. One that cannot be read fires nothing. */
  add(job: ActiveJob, calendars: CalendarSet): void {
    this.jobs += 1
    if (job.one_off) this.addOnce(job)
    else {
      try {
        this.addRepeating(job, calendars)
      } catch {
        // The scheduler tells of it where it would fire.
      }
    }
  }

  /** Counts what all that was taken in comes to. */
  async count(breather: Breather): Promise<void> {
    await this.countPeriods(breather)
    const bySize = [...this.groups.values()].sort((a, b) => b.jobs - a.jobs)
    const efforts: number[] = []
    for (const group of bySize) {
      efforts.push(this.effortOf(group))
      await breather.breathe()
    }
    // The large groups make the peaks: they are never left out for others.
    let spent = 0
    const exact = efforts.findIndex((effort) => (spent += effort) > this.effort * exactShare)
    const certain = exact < 0 ? bySize : bySize.slice(0, Math.max(1, exact))
    const rest = bySize.slice(certain.length)
    const left = efforts.slice(certain.length).reduce((sum, effort) => sum + effort, 0)
    const every = Math.max(1, Math.ceil(left / (this.effort * (1 - exactShare))))
    if (every > 1) this.sampled = true
    for (const group of certain) await this.countGroup(group, 1, breather)
    for (let at = 0; at < rest.length; at += every)
      await this.countGroup(rest[at] as Group, Math.min(every, rest.length - at), breather)
  }

  /** Some jobs that start in a second. */
  async samplesAt(second: number, breather: Breather): Promise<NamedJob[]> {
    const found: NamedJob[] = [...(this.once.get(second) ?? [])]
    for (const [period, phases] of this.periods) found.push(...(phases.get(second % period)?.samples ?? []))
    for (const group of [...this.groups.values()].sort((a, b) => b.jobs - a.jobs)) {
      if (found.length >= mostSamples) break
      found.push(
        ...group.samples
          .filter(({ offset }) => this.ticksIn(group, second - offset))
          .map(({ job_id, name }) => ({ job_id, name })),
      )
      await breather.breathe()
    }
    return found.slice(0, mostSamples)
  }

  ticksIn({ schedule }: Group, second: number): boolean {
    const begin = (this.fromSecond + second) * 1000
    return (schedule.prev(begin + 999) ?? -1) >= begin
  }

  /** Each tick of a group that can start in the window, as a second of it; it may lie before its beginning. */
  *ticksOf({ schedule, offsets }: Group): Generator<number> {
    const longest = Math.max(0, ...offsets.keys())
    const end = (this.fromSecond + this.lengthSeconds) * 1000
    let tick = schedule.next((this.fromSecond - longest) * 1000 - 1)
    for (; tick !== null && tick < end; tick = schedule.next(tick))
      yield Math.floor(tick / 1000) - this.fromSecond
  }

  private addOnce({ uuid, name, start_at: startAt }: ActiveJob): void {
    const second = Math.floor(startAt / 1000) - this.fromSecond
    if (second < 0 || second >= this.lengthSeconds) return
    this.seconds[second] = (this.seconds[second] ?? 0) + this.weight
    const samples = this.once.get(second) ?? []
    if (samples.length < mostSamples) samples.push({ job_id: jobIdOf(uuid), name })
    this.once.set(second, samples)
  }

  private addRepeating({ uuid, name, definition }: ActiveJob, calendars: CalendarSet): void {
    const schedule = parseSchedule({ ...definition, calendars })
    const jobId = jobIdOf(uuid)
    const spread = spreadMs(jobId, definition)
    const bounded =
      definition.exclude.length > 0 || definition.starts_at !== null || definition.ends_at !== null
    if (schedule.kind === 'interval' && !bounded) {
      this.addPeriod(schedule, spread, { job_id: jobId, name })
      return
    }
    const key = keyOf(definition)
    const group: Group = this.groups.get(key) ?? {
      schedule,
      definition,
      jobs: 0,
      offsets: new Map(),
      unspread: 0,
      samples: [],
    }
    this.groups.set(key, group)
    const offset = Math.floor(spread / 1000)
    group.jobs += 1
    group.offsets.set(offset, (group.offsets.get(offset) ?? 0) + 1)
    if (definition.jitter_seconds === 0 && definition.fire_window_seconds === 0) group.unspread += 1
    if (group.samples.length < mostSamples) group.samples.push({ job_id: jobId, name, offset })
  }

  /** An interval repeats by arithmetic: one tick of it says all. */
  private addPeriod(schedule: Schedule, spread: number, job: NamedJob): void {
    const first = schedule.next(this.from - 1)
    const second = first === null ? null : schedule.next(first)
    if (first === null || second === null) return
    const period = Math.round((second - first) / 1000)
    const phase = (Math.floor((first + spread) / 1000) - this.fromSecond) % period
    const phases: Phases = this.periods.get(period) ?? (new Map() as Phases)
    this.periods.set(period, phases)
    const at = phases.get(phase) ?? { jobs: 0, samples: [] }
    phases.set(phase, at)
    at.jobs += 1
    if (at.samples.length < mostSamples) at.samples.push(job)
  }

  private async countPeriods(breather: Breather): Promise<void> {
    for (const [period, phases] of this.periods) {
      for (const [phase, { jobs }] of phases) {
        for (let second = phase; second < this.lengthSeconds; second += period)
          this.seconds[second] = (this.seconds[second] ?? 0) + jobs * this.weight
        await breather.breathe()
      }
    }
  }

  private effortOf({ schedule, offsets }: Group): number {
    const to = (this.fromSecond + this.lengthSeconds) * 1000
    return schedule.count(this.from, to) * (ticksCost + Math.min(offsets.size, mostOffsets))
  }

  private async countGroup(group: Group, times: number, breather: Breather): Promise<void> {
    const offsets = this.offsetsOf(group)
    let counted = 0
    for (const tick of this.ticksOf(group)) {
      for (const [offset, jobs] of offsets) {
        const second = tick + offset
        if (second >= 0 && second < this.lengthSeconds)
          this.seconds[second] = (this.seconds[second] ?? 0) + jobs * this.weight * times
      }
      if (++counted % Math.max(1, Math.floor(breatheEvery / offsets.length)) === 0) await breather.breathe()
    }
  }

  /** Of very many offsets, neighbours are put together. */
  private offsetsOf({ offsets }: Group): [number, number][] {
    const all = [...offsets].sort(([a], [b]) => a - b)
    if (all.length <= mostOffsets) return all
    this.sampled = true
    const each = Math.ceil(all.length / mostOffsets)
    const merged: [number, number][] = []
    for (let at = 0; at < all.length; at += each) {
      const some = all.slice(at, at + each)
      merged.push([some[0]?.[0] ?? 0, some.reduce((sum, [, jobs]) => sum + jobs, 0)])
    }
    return merged
  }
}

/** A tick costs as much as so many additions. */
const ticksCost = 10
const exactShare = 0.8

/** What jobs must have in common to have the same ticks. Rules of elapsed time begin with the job. */
function keyOf(definition: ActiveJob['definition']): string {
  const { schedule, timezone, dst_gap, dst_overlap, exclude, on_excluded, starts_at, ends_at } = definition
  const cron = typeof schedule === 'string' && /^[\d*]/.test(schedule)
  const anchor = cron ? null : definition.anchor
  return JSON.stringify([
    ...[schedule, timezone, dst_gap, dst_overlap, exclude, on_excluded, starts_at, ends_at, anchor],
  ])
}
