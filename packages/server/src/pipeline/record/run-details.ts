import { CarillonError, type RunAttempt, type RunDetail } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { incarnationName, jobIdOf, type RunIdentity, runIdentityOf } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import { type RunRow, runView, took } from './history.js'
import { utcText } from '../../time/iso-text.js'

interface AttemptRow {
  attempt: number
  round: number
  outcome: string
  final: boolean
  reason: string | null
  error: string | null
  result: unknown
  version: number
  token: number | null
  worker: number | null
  available_at: number | null
  leased_at: number | null
  started_at: number | null
  finished_at: number | null
  recorded_at: number
}

const runStatement = statement<
  { tenant: number; parked_until: number } & RunIdentity,
  RunRow & { round: number; uuid: string }
>(new URL('./one-run.sql', import.meta.url))
const attemptsStatement = statement<{ tenant: number } & Omit<RunIdentity, 'partition'>, AttemptRow>(
  new URL('./run-attempts.sql', import.meta.url),
)

/** The largest int of the database: an id that names more was not given by this server. */
const mostSeq = 2 ** 31 - 1

/** Single runs, with everything that was tried. */
export class RunDetails {
  constructor(private readonly database: Database) {}

  async get(tenant: number, runId: string): Promise<RunDetail> {
    const identity = runIdentityOf(runId)
    const found =
      identity === null || identity.seq > mostSeq
        ? null
        : await this.database.snapshot((runner) => this.read(runner, tenant, identity))
    if (found === null)
      throw new CarillonError('run_not_found', { detail: `There is no run ${JSON.stringify(runId)}.` })
    return found
  }

  /** Every attempt that ended, of every round, in order. None for an id that names no run. */
  async attempts(tenant: number, runId: string): Promise<RunAttempt[]> {
    const identity = runIdentityOf(runId)
    return identity === null ? [] : readAttempts(this.database, tenant, identity)
  }

  private async read(runner: Runner, tenant: number, identity: RunIdentity): Promise<RunDetail | null> {
    const [row] = await runner.run(runStatement, { tenant, ...identity, parked_until: parkedUntil })
    if (row === undefined) return null
    return {
      ...runView(row, identity.job, jobIdOf(row.uuid)),
      round: row.round + 1,
      attempts: await readAttempts(runner, tenant, identity),
    }
  }
}

async function readAttempts(
  runner: Runner,
  tenant: number,
  { due, job, origin, seq }: RunIdentity,
): Promise<RunAttempt[]> {
  const rows = await runner.run(attemptsStatement, { tenant, due, job, origin, seq })
  return rows.map((row) => ({
    attempt: row.attempt,
    round: row.round + 1,
    outcome: row.outcome,
    final: row.final,
    reason: row.reason,
    error: row.error,
    result: row.result,
    version: row.version,
    fencing_token: row.token,
    worker: row.worker === null ? null : incarnationName(row.worker),
    available_at: isoOrNull(row.available_at),
    leased_at: isoOrNull(row.leased_at),
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    duration_ms: took(row.started_at, row.finished_at),
    recorded_at: utcText(row.recorded_at),
  }))
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : utcText(ms)
}
