import {
  type Backfill,
  type BackfillInput,
  type BackfillList,
  type BackfillPlan,
  CarillonError,
} from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { backfillIdOf, replayOfBackfill, uuidOf } from '../../platform/ids.js'
import { readInstant } from '../../time/instant.js'
import { type CalendarSet, parseSchedule } from '../../time/schedule.js'
import { timelineOf } from '../../time/timeline.js'
import { backfillOrigin } from '../backfill-seq.js'
import { type BackfillRow, backfillView } from './backfill-view.js'
import { checkSize, chooseTicks } from './backfill-ticks.js'
import { audit } from '../audit.js'
import { changing, type JobName, notFound, type Situation, type Transactional } from './change.js'
import { allInside } from './creating.js'
import { utcText } from '../../time/iso-text.js'

const takenStatement = statement<
  { job: number; from: number; to: number; backfill_origin: number },
  { from_ms: number; to_ms: number }
>(new URL('./backfill-taken.sql', import.meta.url))
const startStatement = statement<
  {
    job: number
    now: number
    from: number
    to: number
    ticks: number[]
    per_minute: number
    only_missing: boolean
    reason: string
  },
  { replay: number }
>(new URL('./start-backfill.sql', import.meta.url))
const showStatement = statement<
  { tenant: number; job: number | null; before: number; most: number; backfill_origin: number },
  BackfillRow
>(new URL('./show-backfills.sql', import.meta.url))
const cancelStatement = statement<{ tenant: number; replay: number }, { replay: number }>(
  new URL('./cancel-backfill.sql', import.meta.url),
)

export interface BackfillsOptions {
  database: Database
  /** Most ticks that one backfill may run. */
  mostTicks: number
  /** The key of a job that lives or ever lived. */
  jobOf: (tenant: number, jobId: string) => Promise<number>
}

const defaultPerMinute = 60

/** Runs ticks that have passed, on request: chosen once, made one by one by the owner of the job's partition. */
export class Backfills {
  constructor(private readonly options: BackfillsOptions) {}

  /** `inside`: in the caller's transaction. */
  plan(tenant: number, jobId: string, input: BackfillInput, inside?: Runner): Promise<BackfillPlan> {
    return changing(this.place(inside), nameOf(tenant, jobId), async (situation, calendars, runner) => {
      const { ticks, excluded } = await this.choose(runner, situation, calendars, input)
      const perMinute = input.per_minute ?? defaultPerMinute
      return {
        ticks: ticks.length,
        first: isoOrNull(ticks[0]),
        last: isoOrNull(ticks.at(-1)),
        excluded_done: excluded,
        estimated_seconds: Math.ceil((ticks.length * 60) / perMinute),
      }
    })
  }

  /** `inside`: in the caller's transaction. */
  async start(tenant: number, jobId: string, input: BackfillInput, inside?: Runner): Promise<Backfill> {
    const replay = await changing(
      this.place(inside),
      nameOf(tenant, jobId),
      async (situation, calendars, runner) => {
        const { range, ticks } = await this.choose(runner, situation, calendars, input)
        const [made] = await runner.run(startStatement, {
          job: situation.job,
          now: situation.now,
          from: range.from,
          to: range.to,
          ticks,
          per_minute: input.per_minute ?? defaultPerMinute,
          only_missing: input.only_missing ?? true,
          reason: input.reason ?? '',
        })
        if (made === undefined) throw new Error(`The backfill of job ${situation.job} was not made.`)
        const { from, to, reason = null } = input
        const subject = backfillIdOf(made.replay)
        await audit(runner, {
          tenant,
          subject,
          detail: { job_id: jobId, from, to, ticks: ticks.length, reason },
        })
        return made.replay
      },
    )
    return this.show(tenant, replay, inside)
  }

  async list(
    tenant: number,
    query: { limit: number; cursor: string | null; jobId?: string },
  ): Promise<BackfillList> {
    const { database, jobOf } = this.options
    const [before, ...rest] = query.cursor === null ? [Number.MAX_SAFE_INTEGER] : decodeCursor(query.cursor)
    if (before === undefined || rest.length > 0) throw new CarillonError('invalid_cursor')
    const rows = await database.run(showStatement, {
      tenant,
      job: query.jobId === undefined ? null : await jobOf(tenant, query.jobId),
      before,
      most: query.limit + 1,
      backfill_origin: backfillOrigin,
    })
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    const more = rows.length > query.limit && last !== undefined
    return { data: page.map(backfillView), next_cursor: more ? encodeCursor([last.replay]) : null }
  }

  get(tenant: number, backfillId: string): Promise<Backfill> {
    return this.show(tenant, replayOf(backfillId))
  }

  async cancel(tenant: number, backfillId: string): Promise<Backfill> {
    const replay = replayOf(backfillId)
    const [cancelled] = await this.options.database.transaction(async (runner) => {
      const rows = await runner.run(cancelStatement, { tenant, replay })
      if (rows.length > 0) await audit(runner, { tenant, subject: backfillIdOf(replay) })
      return rows
    })
    const backfill = await this.show(tenant, replay)
    if (cancelled !== undefined) return backfill
    throw new CarillonError('backfill_ended', { detail: `The backfill ${backfillId} is ${backfill.state}.` })
  }

  private place(inside: Runner | undefined): Transactional {
    return inside === undefined ? this.options.database : allInside(inside)
  }

  private async show(
    tenant: number,
    replay: number,
    runner: Runner = this.options.database,
  ): Promise<Backfill> {
    const [row] = await runner.run(showStatement, {
      tenant,
      job: null,
      before: replay + 1,
      most: 1,
      backfill_origin: backfillOrigin,
    })
    if (row?.replay === replay) return backfillView(row)
    throw new CarillonError('backfill_not_found', { detail: `There is no backfill ${backfillIdOf(replay)}.` })
  }

  private async choose(
    runner: Runner,
    situation: Situation,
    calendars: CalendarSet,
    input: BackfillInput,
  ): Promise<{ range: { from: number; to: number }; ticks: number[]; excluded: number }> {
    const { mostTicks } = this.options
    const { definition, job, accounted_through: accounted } = situation
    const range = rangeOf(input, situation)
    const schedule = parseSchedule({ ...definition, calendars })
    checkSize(schedule, { ...range, accounted }, mostTicks)
    const onlyMissing = input.only_missing ?? true
    const taken = onlyMissing
      ? await runner.run(takenStatement, { job, ...range, backfill_origin: backfillOrigin })
      : []
    return { range, ...chooseTicks(schedule, { ...range, accounted }, taken, mostTicks) }
  }
}

function rangeOf(input: BackfillInput, { definition, now }: Situation): { from: number; to: number } {
  const from = read(input.from, '/from', definition.timezone)
  const to = read(input.to, '/to', definition.timezone)
  if (from >= to)
    throw badRange(`It ends at ${utcText(to)}, which is not after ${utcText(from)}.`, 'must be after from')
  if (to > now)
    throw badRange(
      `It ends at ${utcText(to)}; it is ${utcText(now)}. What is ahead runs by itself.`,
      'must have passed',
    )
  return { from, to }
}

function badRange(why: string, message: string): CarillonError {
  return new CarillonError('validation_failed', {
    detail: `The range cannot be run. ${why}`,
    errors: [{ pointer: '/to', message }],
  })
}

function read(text: string, pointer: string, timezone: string): number {
  try {
    return readInstant(text, pointer, timelineOf(timezone))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    throw new CarillonError('validation_failed', { detail: error.message, errors: [...error.errors] })
  }
}

function nameOf(tenant: number, jobId: string): JobName {
  const uuid = uuidOf(jobId)
  if (uuid === null) throw notFound(jobId)
  return { tenant, uuid }
}

function replayOf(backfillId: string): number {
  const replay = replayOfBackfill(backfillId)
  if (replay !== null) return replay
  throw new CarillonError('backfill_not_found', {
    detail: `There is no backfill ${JSON.stringify(backfillId.slice(0, 64))}.`,
  })
}

function isoOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : utcText(ms)
}
