import type { JobDefinition } from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import { codeOf, isUniqueViolation } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf, type RunIdentity } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import { TenantAccounts } from './tenant-accounts.js'
import { type LaneSeen, type Look, Watermarks } from './watermarks.js'

interface LeasedRow extends RunIdentity {
  tenant: number
  version: number
  epoch: number
  attempt: number
  max_attempts: number
  round: number
  available_at: number
  fired_at: number
  token: number
  holder: number
  catch_up: boolean
  payload: string | null
  /** The tenant whose share it is, what the tenant had had before it, and the tenant's weight. */
  payer: number
  cost_from: number
  weight: number
}
/** At least one row, also where nothing was leased; the first has the lanes. */
type LeaseRow = { now: number; lanes: LaneSeen[] | null } & (LeasedRow | { token: null })

interface LeaseParams {
  holder: number
  tenant: number | null
  tasks: string[]
  commands: boolean
  ahead_ms: number
  step_ms: number
  most: number
  from: number
  routes: number[]
  ready_froms: number[]
  waiting_froms: number[]
  freed: number[]
  tenants: number[]
  accounts: number[]
  virtual: number
}

export type HeldRun = RunIdentity & { token: number }
export type RevokedRun = HeldRun & { replaced: boolean; stop_requested: boolean }

const leaseStatement = statement<LeaseParams, LeaseRow>(new URL('./lease.sql', import.meta.url))
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

/** So long a wait makes up for one step of priority. */
const priorityStepMs = 60_000

export interface LeasingOptions {
  clock: Clock
  database: Database
  databaseClock: DatabaseClock
  tasks: readonly string[]
  /** Whether runs of commands are leased too. */
  commands?: boolean
  aheadMs: number
}

/** A worker over HTTP: whose tasks it serves, and from where on each of their lanes has runs. */
export interface RemoteScope {
  tenant: number
  tasks: readonly string[]
  look: Look
}

/** What a worker does with the queue: take runs, give them back, ask which were revoked, read their definitions. */
export class Leasing {
  private readonly watermarks: Watermarks
  private readonly accounts = new TenantAccounts()

  constructor(private readonly options: LeasingOptions) {
    this.watermarks = new Watermarks(options.clock)
  }

  /** Every other pass begins where runs were found last; this one is to look everywhere, for runs that came back. */
  lookFully(): void {
    this.watermarks.lookFully()
  }

  /** A run of this job ended: one that waits for its place may go. */
  freed(job: number): void {
    this.watermarks.freed(job)
  }

  /** `remote`: on behalf of a worker over HTTP, instead of for this process. */
  async lease(holder: number, most: number, remote?: RemoteScope): Promise<LeasedRun[]> {
    const { clock, database, databaseClock } = this.options
    const look = remote?.look ?? this.watermarks.next(holder)
    const sentAt = clock.monotonic()
    const sample = databaseClock.begin()
    const rows: LeaseRow[] = await database
      .run(leaseStatement, this.params(holder, most, look, remote))
      .catch((error: unknown) => {
        this.watermarks.lookFully()
        if (lostRaceForPlace(error)) return []
        throw error
      })
    const seen = rows.find(({ lanes }) => lanes !== null)
    if (seen !== undefined && remote === undefined)
      this.watermarks.found(look, seen.lanes ?? [], seen.now, sentAt)
    const leased = rows.filter(isLeased)
    const [first] = leased
    if (first !== undefined) sample(first.now)
    this.accounts.charge(
      leased.map((row) => ({ tenant: row.payer, costFrom: row.cost_from, weight: row.weight })),
    )
    return leased.map(leasedRun).sort((a, b) => a.availableAt - b.availableAt)
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

  private params(holder: number, most: number, look: Look, remote?: RemoteScope): LeaseParams {
    const { tasks, commands = false, aheadMs } = this.options
    return {
      holder,
      tenant: remote?.tenant ?? null,
      tasks: [...(remote?.tasks ?? tasks)],
      commands,
      ahead_ms: aheadMs,
      step_ms: priorityStepMs,
      most,
      from: look.from,
      routes: look.routes,
      ready_froms: look.readyFroms,
      waiting_froms: look.waitingFroms,
      freed: look.freed,
      ...this.accounts.all(),
      virtual: this.accounts.virtual,
    }
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

function isLeased(row: LeaseRow): row is LeaseRow & LeasedRow {
  return row.token !== null
}

function leasedRun(row: LeasedRow): LeasedRun {
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
    round: row.round,
    availableAt: row.available_at,
    firedAt: row.fired_at,
    token: row.token,
    holder: row.holder,
    catchUp: row.catch_up,
    ...(row.payload !== null && { payload: JSON.parse(row.payload) as unknown }),
  }
}
