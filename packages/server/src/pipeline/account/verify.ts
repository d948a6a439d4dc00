import { CarillonError, type Verification } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { auditJob } from './audit.js'
import { countTicks, type Life, type Lives, type LifeRow, readLives } from './life.js'
import { noRecords, readRecords } from './records.js'
import { Tally } from './tally.js'
import { utcText } from '../../time/iso-text.js'

const horizonStatement = statement<Record<string, never>, { now: number; ledger_from: number | null }>(
  new URL('./horizon.sql', import.meta.url),
)

export interface VerifyOptions {
  database: Database
  clock: Clock
  lateToleranceMs: number
  /** The release of the zone data of this process. */
  zoneData: string
}

export interface VerifyQuery {
  /** Null: of all tenants. */
  tenant: number | null
  from: number
  /** Null: now. */
  to: number | null
  /** Only this one. */
  job: number | null
  cursor: string | null
  /** Stops after this time with a cursor for the rest. Null: goes on to the end. */
  budgetMs: number | null
  onProgress?: (progress: Progress) => void
}

export interface Progress {
  jobs: number
  expected: number
  /** How far it is with the jobs under way. */
  through: number
}

/** Where a verification stands: in the jobs after < job <= last, the ticks before `at` are done. */
interface Position {
  after: number
  last: number
  at: number
}

const jobsAtOnce = 500
/** What is kept in memory at once: so many ticks, and their records. */
const ticksAtOnce = 20_000
const dayMs = 86_400_000
const allJobs = Number.MAX_SAFE_INTEGER

/**
 * Compares what the schedules say with what is on record. Jobs come in chunks by key, and time in slices: each slice of
 * a chunk is read in one snapshot, in which a run is always in exactly one place.
 */
export class Verifier {
  constructor(private readonly options: VerifyOptions) {}

  async run(query: VerifyQuery): Promise<Verification> {
    const { database, clock } = this.options
    const begun = clock.monotonic()
    const [horizon] = await database.run(horizonStatement, {})
    if (horizon === undefined) throw new Error('Postgres answered the question about the ledger with no row.')
    const { from, to, notes } = clamp(query, horizon)
    const tally = new Tally()
    let position = query.cursor === null ? startOf(query, from) : positionOf(query.cursor)
    let next: Position | null = from < to ? position : null
    while (next !== null) {
      position = next
      if (query.budgetMs !== null && clock.monotonic() - begun > query.budgetMs) break
      next = await this.slice(query, { from, to }, position, tally)
      const { jobs, expected } = tally.counts
      query.onProgress?.({ jobs, expected, through: next?.at ?? to })
      // Ticks are computed here: a long verification must hold up no heartbeat of the process it runs in.
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (tally.counts.not_verifiable > 0) notes.push(leftOut(tally.counts.not_verifiable))
    return tally.result({
      from: utcText(from),
      to: utcText(to),
      notes,
      next_cursor: next === null ? null : encodeCursor([position.after, position.last, position.at]),
    })
  }

  /** One slice of time of one chunk of jobs. Answers where to go on, or null at the end. */
  private async slice(
    query: VerifyQuery,
    range: { from: number; to: number },
    position: Position,
    tally: Tally,
  ): Promise<Position | null> {
    const first = position.at === range.from
    const { lives, to, records } = await this.options.database.snapshot((runner) =>
      readSlice(runner, query, range, position),
    )
    if (first) this.begin(lives, range, tally)
    for (const life of lives.lives) {
      const { lateToleranceMs, zoneData } = this.options
      const slice = { from: position.at, to, first, lateToleranceMs, zoneData }
      auditJob(life, records.get(life.row.job) ?? noRecords(), slice, tally)
    }
    const full = lives.rows.length === jobsAtOnce
    const last = lives.rows.at(-1)?.job ?? position.last
    if (to < range.to) return { after: position.after, last: full ? last : position.last, at: to }
    return query.job !== null || (!full && position.last === allJobs)
      ? null
      : { after: full ? last : position.last, last: allJobs, at: range.from }
  }

  /** Counts the jobs of a chunk, once. */
  private begin({ lives, unreadable }: Lives, range: { from: number; to: number }, tally: Tally): void {
    for (const { stretches, end } of lives) {
      if ((stretches[0]?.from ?? 0) < range.to - 1 && end >= range.from) tally.counts.jobs++
    }
    for (const life of unreadable) {
      if (life.row.created_at >= range.to) continue
      tally.counts.not_verifiable++
      if (!isCollected(life.row))
        tally.find(life, null, 'unreadable', `Its schedule cannot be read: ${life.problem}`)
    }
  }
}

async function readSlice(
  runner: Runner,
  query: VerifyQuery,
  range: { from: number; to: number },
  { after, last, at }: Position,
) {
  const lives = await readLives(runner, {
    tenant: query.tenant,
    after,
    last,
    ended_from: range.from - dayMs,
    most: jobsAtOnce,
  })
  const to = sliceEnd(lives.lives, at, range.to)
  const records = await readRecords(runner, {
    jobs: lives.lives.map(({ row }) => row.job),
    from: at,
    to,
    // One job's whole history is soon read: nothing is left out on the word of a clock.
    recorded_from: query.job === null ? at - dayMs - earliestMove(lives.lives, at, to) : 0,
  })
  return { lives, to, records }
}

/** How long before its own instant a tick of the slice was moved at most: its record may be as old. */
function earliestMove(lives: readonly Life[], from: number, to: number): number {
  return lives.reduce((most, { changes }) => {
    const early = changes.all
      .filter(({ due }) => from <= due && due < to)
      .map(({ due, start_at: startAt }) => due - (startAt ?? due))
    return Math.max(most, ...early)
  }, 0)
}

/** As far as so many ticks go. One tick of each job fits in any case, so that every slice gets on. */
function sliceEnd(lives: readonly Life[], from: number, to: number): number {
  const count = (end: number) => lives.reduce((sum, life) => sum + countTicks(life, from, end - 1), 0)
  let end = to
  while (end - from > 1 && count(end) > ticksAtOnce) end = from + Math.ceil((end - from) / 2)
  return end
}

function isCollected(row: LifeRow): boolean {
  return row.state === 'collected'
}

function clamp(
  { from, to: wanted }: VerifyQuery,
  { now, ledger_from: ledgerFrom }: { now: number; ledger_from: number | null },
): { from: number; to: number; notes: string[] } {
  const notes: string[] = []
  const end = Math.min(wanted ?? now, now)
  let first = from
  if (wanted !== null && wanted > now) {
    notes.push(`The range ends in the future: looked at up to now, ${utcText(now)}.`)
  }
  if (ledgerFrom !== null && from < ledgerFrom) {
    first = Math.min(ledgerFrom, end)
    notes.push(`The ledger begins at ${utcText(ledgerFrom)}; what became of earlier ticks is no longer kept.`)
  }
  return { from: Math.min(first, end), to: end, notes }
}

function leftOut(jobs: number): string {
  return `${jobs} ${jobs === 1 ? 'job was' : 'jobs were'} left out: collected after the end, or unreadable.`
}

function startOf({ job }: VerifyQuery, from: number): Position {
  return job === null ? { after: 0, last: allJobs, at: from } : { after: job - 1, last: job, at: from }
}

/** Beyond it there are no instants. */
const latest = 8.64e15

function positionOf(cursor: string): Position {
  const [after, last, at, ...rest] = decodeCursor(cursor)
  if (after === undefined || last === undefined || at === undefined || at > latest || rest.length > 0) {
    throw new CarillonError('invalid_cursor', {
      errors: [{ pointer: 'query:cursor', message: 'is no cursor of a verification' }],
    })
  }
  return { after, last, at }
}
