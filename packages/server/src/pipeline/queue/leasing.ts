import type { JobDefinition } from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import { codeOf, isUniqueViolation } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf, type RunIdentity } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import { leasedRunOf, type RunRow } from '../leased-run.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import { depthFor, type Lane, lanesToAsk } from './lanes.js'
import { TenantAccounts } from './tenant-accounts.js'
import { type LaneSeen, type Look, Watermarks } from './watermarks.js'

interface LeasedRow extends RunRow {
  token: number
  /** The place of its row. */
  lies: string
  holder: number
  payload: string | null
  /** The tenant whose share it is, what the tenant had had before it, and the tenant's weight. */
  payer: number
  cost_from: number
  weight: number
  /** Its host's limit for one attempt, and whether it is the one run by which an open breaker finds out. */
  timeout_seconds: number | null
  probe: boolean
}
/** At least one row, also where nothing was leased; the first has the lanes. */
type LeaseRow = { now: number; lanes: LaneSeen[] | null } & (LeasedRow | { token: null })

/** At least one row, also where no lane has anything. */
type LaneRow = { now: number } & (Lane | { route: null })

interface LanesParams {
  tasks: string[]
  commands: boolean
  ahead_ms: number
  many: number
  from: number
  routes: number[]
  ready_froms: number[]
  waiting_froms: number[]
  freed: number[]
}

interface LeaseParams {
  holder: number
  remote: boolean
  ahead_ms: number
  step_ms: number
  most: number
  depth: number
  routes: number[]
  ready_froms: number[]
  waiting_froms: number[]
  freed: number[]
  tenants: number[]
  accounts: number[]
  virtual: number
}

/** Who leases: a process of the fleet, or a worker over HTTP, over whose attempts the database watches. */
interface Holder {
  holder: number
  remote: boolean
}
type AskedLane = Pick<Lane, 'route' | 'ready'>

export type HeldRun = RunIdentity & { token: number }
export type RevokedRun = HeldRun & { replaced: boolean; stop_requested: boolean }

const lanesStatement = statement<LanesParams, LaneRow>(new URL('./lanes.sql', import.meta.url))
const leaseStatement = statement<LeaseParams, LeaseRow>(new URL('./lease.sql', import.meta.url))
const heldStatement = statement<{ holder: number }, HeldRun>(new URL('./held.sql', import.meta.url))
const revokedStatement = statement<{ holder: number }, RevokedRun | { token: null }>(
  new URL('./revoked.sql', import.meta.url),
)
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
/** Its locks are held no longer than others can wait. */
const mostPerHandBack = 1_000
/** More lanes than this are not looked into one by one. */
const manyLanes = 100

export interface LeasingOptions {
  clock: Clock
  database: Database
  databaseClock: DatabaseClock
  tasks: readonly string[]
  /** Whether runs of commands are leased too. */
  commands?: boolean
  aheadMs: number
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

  /** On behalf of a worker over HTTP, from the lanes that a look found for it. */
  async leaseFor(holder: number, most: number, look: Look): Promise<LeasedRun[]> {
    const lanes = look.routes.map((route, at) => ({ route, ready: look.readyFroms[at] ?? null }))
    try {
      const { leased } = await this.leaseFrom({ holder, remote: true }, most, lanes, look)
      return leased.map(leasedRun).sort((a, b) => a.availableAt - b.availableAt)
    } catch (error) {
      if (lostRaceForPlace(error)) return []
      throw error
    }
  }

  async lease(holder: number, most: number): Promise<LeasedRun[]> {
    const look = this.watermarks.next(holder)
    const sentAt = this.options.clock.monotonic()
    try {
      const { now, lanes } = await this.lanes(look)
      const spentBy = (tenant: number) => this.accounts.of(tenant)
      const asked = lanesToAsk(lanes, { most, now, stepMs: priorityStepMs, spentBy })
      const { leased, seen } = await this.leaseFrom({ holder, remote: false }, most, asked, look)
      const askedRoutes = new Set(asked.map(({ route }) => route))
      // What was not asked for keeps its place.
      const left = lanes.filter(({ route }) => !askedRoutes.has(route))
      this.watermarks.found(look, [...seen, ...left], now, sentAt)
      return leased.map(leasedRun).sort((a, b) => a.availableAt - b.availableAt)
    } catch (error) {
      this.watermarks.lookFully()
      if (lostRaceForPlace(error)) return []
      throw error
    }
  }

  private async lanes(look: Look): Promise<{ now: number; lanes: Lane[] }> {
    const { database, tasks, commands = false, aheadMs } = this.options
    const rows = await database.run(lanesStatement, {
      tasks: [...tasks],
      commands,
      ahead_ms: aheadMs,
      many: manyLanes,
      from: look.from,
      routes: look.routes,
      ready_froms: look.readyFroms,
      waiting_froms: look.waitingFroms,
      freed: look.freed,
    })
    return { now: rows[0]?.now ?? 0, lanes: rows.filter(isLane) }
  }

  /** A second time, deeper, where lanes had more and others had less than their share. */
  private async leaseFrom(
    holder: Holder,
    most: number,
    lanes: readonly AskedLane[],
    look: Look,
  ): Promise<{ leased: LeasedRow[]; seen: LaneSeen[] }> {
    if (lanes.length === 0) return { leased: [], seen: [] }
    const depth = depthFor(lanes.length, most)
    const first = await this.leaseOnce(this.params(holder, { most, depth }, lanes, look))
    const left = most - first.leased.length
    const deep = first.seen.some(({ runs = 0 }) => runs >= depth)
    if (depth >= most || left === 0 || !deep) return first
    // Whatever becomes of the second one: what the first leased is held by now, and must not be forgotten with it.
    const second = await this.leaseOnce(this.params(holder, { most: left, depth: most }, lanes, look)).catch(
      () => null,
    )
    if (second === null) return first
    return { leased: [...first.leased, ...second.leased], seen: second.seen }
  }

  private async leaseOnce(params: LeaseParams): Promise<{ leased: LeasedRow[]; seen: LaneSeen[] }> {
    const { database, databaseClock } = this.options
    const sample = databaseClock.begin()
    const rows: LeaseRow[] = await database.run(leaseStatement, params)
    const leased = rows.filter(isLeased)
    const [first] = leased
    if (first !== undefined) sample(first.now)
    this.accounts.charge(
      leased.map((row) => ({ tenant: row.payer, costFrom: row.cost_from, weight: row.weight })),
    )
    return { leased, seen: rows.find(({ lanes }) => lanes !== null)?.lanes ?? [] }
  }

  held(holder: number): Promise<HeldRun[]> {
    return this.options.database.run(heldStatement, { holder })
  }

  /** Null: the holder was declared dead. */
  async revoked(holder: number): Promise<RevokedRun[] | null> {
    const rows = await this.options.database.run(revokedStatement, { holder })
    return rows.length === 0 ? null : rows.filter((row): row is RevokedRun => row.token !== null)
  }

  async handBack(holder: number, runs: readonly HeldRun[]): Promise<void> {
    for (let at = 0; at < runs.length; at += mostPerHandBack) {
      await this.options.database.run(handBackStatement, {
        ...heldParams(holder, runs.slice(at, at + mostPerHandBack)),
        parked_until: parkedUntil,
      })
    }
  }

  async stillHeld(holder: number, runs: readonly HeldRun[]): Promise<Set<number>> {
    const rows = await this.options.database.run(stillHeldStatement, heldParams(holder, runs))
    return new Set(rows.map(({ token }) => token))
  }

  private params(
    holder: Holder,
    bounds: { most: number; depth: number },
    lanes: readonly AskedLane[],
    look: Look,
  ): LeaseParams {
    const waitingFroms = new Map(look.routes.map((route, at) => [route, look.waitingFroms[at]]))
    return {
      ...holder,
      ahead_ms: this.options.aheadMs,
      step_ms: priorityStepMs,
      ...bounds,
      routes: lanes.map(({ route }) => route),
      ready_froms: lanes.map(({ ready }) => ready ?? look.from),
      waiting_froms: lanes.map(({ route }) => waitingFroms.get(route) ?? look.from),
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

function isLane(row: LaneRow): row is LaneRow & Lane {
  return row.route !== null
}

function isLeased(row: LeaseRow): row is LeaseRow & LeasedRow {
  return row.token !== null
}

function leasedRun(row: LeasedRow): LeasedRun {
  return {
    ...leasedRunOf(row, row.holder, row.token),
    place: row.lies,
    ...(row.payload !== null && { payload: JSON.parse(row.payload) as unknown }),
    guard: {
      probe: row.probe,
      timeoutMs: row.timeout_seconds === null ? null : row.timeout_seconds * 1000,
    },
  }
}
