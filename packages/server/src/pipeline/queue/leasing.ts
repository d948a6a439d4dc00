import type { JobDefinition } from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import { codeOf, isUniqueViolation } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf, type RunIdentity } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import type { LeasedRun, RunDefinition } from '../run.js'

interface LeaseRow extends RunIdentity {
  tenant: number
  version: number
  epoch: number
  attempt: number
  max_attempts: number
  available_at: number
  token: number
  holder: number
  catch_up: boolean
  now: number
}

export type HeldRun = RunIdentity & { token: number }
export type RevokedRun = HeldRun & { replaced: boolean }

const leaseStatement = statement<
  { holder: number; tasks: string[]; commands: boolean; ahead_ms: number; most: number },
  LeaseRow
>(new URL('./lease.sql', import.meta.url))
const heldStatement = statement<{ holder: number }, HeldRun>(new URL('./held.sql', import.meta.url))
const revokedStatement = statement<{ holder: number }, RevokedRun>(new URL('./revoked.sql', import.meta.url))
interface HeldParams {
  holder: number
  dues: number[]
  jobs: number[]
  origins: number[]
  seqs: number[]
  partitions: number[]
  tokens: number[]
}
const handBackStatement = statement<HeldParams & { parked_until: number }, { job: number }>(
  new URL('./hand-back.sql', import.meta.url),
)
const stillHeldStatement = statement<HeldParams, { token: number }>(
  new URL('./still-held.sql', import.meta.url),
)
const definitionsStatement = statement<
  { jobs: number[]; versions: number[] },
  { job: number; version: number; uuid: string; definition: JobDefinition | null }
>(new URL('./definitions.sql', import.meta.url))

export interface LeasingOptions {
  database: Database
  databaseClock: DatabaseClock
  tasks: readonly string[]
  /** Whether runs of commands are leased too. */
  commands?: boolean
  aheadMs: number
}

/** What a worker does with the queue: take runs, give them back, ask which were revoked, read their definitions. */
export class Leasing {
  constructor(private readonly options: LeasingOptions) {}

  async lease(holder: number, most: number): Promise<LeasedRun[]> {
    const { database, databaseClock, tasks, commands = false, aheadMs } = this.options
    const sample = databaseClock.begin()
    const rows = await database
      .run(leaseStatement, { holder, tasks: [...tasks], commands, ahead_ms: aheadMs, most })
      .catch((error: unknown) => {
        if (lostRaceForPlace(error)) return []
        throw error
      })
    const [first] = rows
    if (first !== undefined) sample(first.now)
    return rows.map(leasedRun).sort((a, b) => a.availableAt - b.availableAt)
  }

  held(holder: number): Promise<HeldRun[]> {
    return this.options.database.run(heldStatement, { holder })
  }

  revoked(holder: number): Promise<RevokedRun[]> {
    return this.options.database.run(revokedStatement, { holder })
  }

  async handBack(holder: number, runs: readonly HeldRun[]): Promise<void> {
    if (runs.length === 0) return
    await this.options.database.run(handBackStatement, {
      ...heldParams(holder, runs),
      parked_until: parkedUntil,
    })
  }

  async stillHeld(holder: number, runs: readonly HeldRun[]): Promise<Set<number>> {
    const rows = await this.options.database.run(stillHeldStatement, heldParams(holder, runs))
    return new Set(rows.map(({ token }) => token))
  }

  async definitions(
    wanted: readonly { job: number; version: number }[],
  ): Promise<Map<string, RunDefinition>> {
    const rows = await this.options.database.run(definitionsStatement, {
      jobs: wanted.map(({ job }) => job),
      versions: wanted.map(({ version }) => version),
    })
    return new Map(
      rows.flatMap(({ job, version, uuid, definition }) =>
        definition === null ? [] : [[`${job}@${version}`, { jobId: jobIdOf(uuid), definition }] as const],
      ),
    )
  }
}

/**
 * A fire took the overlap place that a waiting run wanted, between look and write; or it holds one such place and waits
 * for another, which this lease has. Nothing was leased: the next pass sees the places taken.
 */
function lostRaceForPlace(error: unknown): boolean {
  const deadlock = '40P01'
  return isUniqueViolation(error, 'queue_slot') || codeOf(error) === deadlock
}

function heldParams(holder: number, runs: readonly HeldRun[]): HeldParams {
  return {
    holder,
    dues: runs.map((run) => run.due),
    jobs: runs.map((run) => run.job),
    origins: runs.map((run) => run.origin),
    seqs: runs.map((run) => run.seq),
    partitions: runs.map((run) => run.partition),
    tokens: runs.map((run) => run.token),
  }
}

function leasedRun(row: LeaseRow): LeasedRun {
  return {
    due: row.due,
    job: row.job,
    origin: row.origin,
    seq: row.seq,
    partition: row.partition,
    tenant: row.tenant,
    version: row.version,
    epoch: row.epoch,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    availableAt: row.available_at,
    token: row.token,
    holder: row.holder,
    catchUp: row.catch_up,
  }
}
