import { type JobRow, type QueueRow, runKey } from '../rows.js'
import { type Execution, type Steps, StoreError } from '../store.js'
import { receives } from './fire.js'

/** The statements of pipeline/queue. There is one route, of one task of one tenant without a cap. */

export const route = 1
/** Of the only tenant. */
const weight = 100

interface LanesParams {
  tasks: string[]
  ahead_ms: number
  from: number
  routes: number[]
  ready_froms: number[]
  waiting_froms: number[]
  freed: number[]
}

const isReady = ({ holder, places, slot }: QueueRow) =>
  holder === null && (places === null || (slot !== null && slot >= 0))
const isWaiting = ({ holder, places, slot }: QueueRow) =>
  holder === null && places !== null && (slot === null || slot < 0)

function earliest(rows: QueueRow[]): number | null {
  return rows.length === 0 ? null : Math.min(...rows.map((row) => row.available_at))
}

export function* lanes(run: Execution, params: LanesParams): Steps {
  const known = params.routes.indexOf(route)
  const readyFrom = known < 0 ? params.from : (params.ready_froms[known] as number)
  const waitingFrom = known < 0 ? params.from : (params.waiting_froms[known] as number)
  const queue = params.tasks.includes('task') ? [...run.table('queue').values()] : []
  const until = run.now + params.ahead_ms
  const ready = earliest(
    queue.filter((row) => isReady(row) && row.available_at >= readyFrom && row.available_at <= until),
  )
  const waiting = earliest(
    queue.filter(
      (row) =>
        isWaiting(row) &&
        row.available_at <= run.now &&
        (row.available_at >= waitingFrom || params.freed.includes(row.job)),
    ),
  )
  if (ready === null && waiting === null)
    return [{ now: run.now, route: null, tenant: null, priority: null, ready, waiting, blocked: null }]
  return [{ now: run.now, route, tenant: 1, priority: 5, ready, waiting, blocked: false }]
}

interface LeaseParams extends Omit<LanesParams, 'tasks' | 'from'> {
  holder: number
  most: number
  depth: number
  accounts: number[]
  tenants: number[]
  virtual: number
}

export function* lease(run: Execution, params: LeaseParams): Steps {
  const { holder, most } = params
  const nothing = [{ now: run.now, token: null, lanes: [] }]
  if (!(yield* receives(run, { holder, tasks: ['task'] })) || !params.routes.includes(route)) return nothing
  const { ready, waiting } = looked(run, params)
  // What is due comes first, then the oldest.
  const early = ({ available_at }: QueueRow) => Number(available_at > run.now)
  const share = [...ready, ...waiting]
    .sort((a, b) => early(a) - early(b) || a.available_at - b.available_at || byKey(a, b))
    .slice(0, most)
  const chosen: { row: QueueRow; slot: number | null }[] = []
  const lot = share.filter(isReady)
  const firstAt = earliest(lot)
  const until = run.now + params.ahead_ms
  for (const seen of [...run.table('queue').values()].filter(isReady).sort(byTime)) {
    if (firstAt === null || chosen.length === lot.length) break
    if (seen.available_at < firstAt || seen.available_at > until) continue
    const row = run.lockOrSkip('queue', runKey(seen), 'update')
    if (row?.place === seen.place) chosen.push({ row, slot: null })
  }
  const wanting = share.filter(isWaiting).sort(byKey)
  chosen.push(
    ...placed(
      run,
      wanting.flatMap((seen) => lockUnchanged(run, seen)),
    ),
  )
  const account = params.tenants.indexOf(1)
  const spent = Math.max(account < 0 ? 0 : (params.accounts[account] as number), params.virtual)
  const rows: object[] = []
  for (const { row, slot } of chosen.sort((a, b) => early(a.row) - early(b.row) || byTime(a.row, b.row))) {
    const leased = yield* leaseOne(run, row, slot, holder)
    rows.push({
      ...rowOf(leased),
      now: run.now,
      payer: 1,
      cost_from: spent + rows.length / weight,
      weight,
      lanes: null,
    })
  }
  const seen = {
    route,
    ready: earliest(ready),
    waiting: earliest(waiting),
    runs: Math.max(ready.length, waiting.length),
  }
  const lanesSeen = ready.length + waiting.length === 0 ? [] : [seen]
  if (rows.length === 0) return [{ now: run.now, token: null, lanes: lanesSeen }]
  return rows.map((row, at) => (at === 0 ? { ...row, lanes: lanesSeen } : row))
}

function looked(run: Execution, params: LeaseParams): { ready: QueueRow[]; waiting: QueueRow[] } {
  const at = params.routes.indexOf(route)
  const [readyFrom, waitingFrom] = [params.ready_froms[at] as number, params.waiting_froms[at] as number]
  const until = run.now + params.ahead_ms
  const queue = [...run.table('queue').values()].sort(byTime)
  const held = (row: QueueRow) =>
    queue.filter(({ job, slot }) => job === row.job && slot !== null && slot >= 0 && slot < (row.places ?? 0))
      .length
  return {
    ready: queue
      .filter((row) => isReady(row) && row.available_at >= readyFrom && row.available_at <= until)
      .slice(0, params.depth),
    waiting: queue
      .filter((row) => isWaiting(row) && row.available_at <= run.now && held(row) < (row.places ?? 0))
      .filter((row) => row.available_at >= waitingFrom || params.freed.includes(row.job))
      .slice(0, params.depth),
  }
}

/** A row that somebody holds, or has changed since the snapshot, waits for the next pass. */
function lockUnchanged(run: Execution, seen: QueueRow): QueueRow[] {
  const row = run.lockOrSkip('queue', runKey(seen), 'update')
  return row?.place === seen.place ? [row] : []
}

/** The oldest of a job takes the lowest of the places that are free by the snapshot. */
function placed(run: Execution, waiting: QueueRow[]): { row: QueueRow; slot: number }[] {
  const queue = [...run.table('queue').values()]
  const taken = new Set(queue.map(({ job, slot }) => `${job}/${slot}`))
  return waiting.sort(byTime).flatMap((row) => {
    for (let slot = 0; slot < (row.places ?? 0); slot++) {
      if (taken.has(`${row.job}/${slot}`)) continue
      taken.add(`${row.job}/${slot}`)
      return [{ row, slot }]
    }
    return []
  })
}

function* leaseOne(
  run: Execution,
  row: QueueRow,
  slot: number | null,
  holder: number,
): Generator<undefined, QueueRow> {
  if (slot !== null && !(yield* run.claimPlace(row.job, slot)))
    throw new StoreError('23505', 'the place is taken', 'queue_slot')
  const token = run.store.nextToken()
  const leased = { ...row, holder, token, leased_at: run.now, slot: slot ?? row.slot }
  return run.write('queue', runKey(row), row, leased) as QueueRow
}

function rowOf(row: QueueRow): object {
  const { due, job, origin, seq, partition, tenant, version, epoch, attempt, max_attempts, round } = row
  return {
    ...{
      lies: row.place,
      due,
      job,
      origin,
      seq,
      partition,
      tenant,
      version,
      epoch,
      attempt,
      max_attempts,
      round,
    },
    ...{ available_at: row.available_at, fired_at: row.fired_at, token: row.token, holder: row.holder },
    ...{ catch_up: row.catch_up, payload: null, timeout_seconds: null, probe: false, guarded: null },
  }
}

export function* held(run: Execution, { holder }: { holder: number }): Steps {
  return [...run.table('queue').values()]
    .filter((row) => row.holder === holder)
    .map(({ due, job, origin, seq, partition, token }) => ({ due, job, origin, seq, partition, token }))
}

/** Nobody asks to cancel anything here. */
export function* revoked(run: Execution, { holder }: { holder: number }): Steps {
  return run.table('incarnations').get(holder)?.state === 'alive' ? [{ token: null }] : []
}

export interface HeldParams {
  holder: number
  dues: number[]
  jobs: number[]
  origins: number[]
  seqs: number[]
  tokens: number[]
}

export function* stillHeld(run: Execution, params: HeldParams): Steps {
  return namedRuns(params).flatMap(({ key, token }) => {
    const row = run.table('queue').get(key)
    return row?.token === token && row.holder === params.holder ? [{ token }] : []
  })
}

export function namedRuns({ dues, jobs, origins, seqs, tokens }: Omit<HeldParams, 'holder'>) {
  return dues
    .map((due, at) => ({
      ...{ at, due, job: jobs[at] as number, token: tokens[at] as number },
      ...{ origin: origins[at] as number, seq: seqs[at] as number },
    }))
    .sort((a, b) => a.due - b.due || a.job - b.job || a.origin - b.origin || a.seq - b.seq)
    .map((run) => ({ ...run, key: runKey(run) }))
}

export function* handBack(run: Execution, params: HeldParams): Steps {
  const mine = (row: QueueRow | null | undefined, token: number): row is QueueRow =>
    row != null && (run.has('token unchecked') || (row.token === token && row.holder === params.holder))
  const given: QueueRow[] = []
  for (const { key, token } of namedRuns(params)) {
    if (!mine(run.table('queue').get(key), token)) continue
    const row = yield* run.lock('queue', key, 'update')
    if (mine(row, token)) given.push(row)
  }
  yield* shareJobs(run, given)
  for (const row of given)
    run.write('queue', runKey(row), row, { ...row, holder: null, token: null, leased_at: null })
  return given.map(({ job }) => ({ job }))
}

/** The jobs of runs that go back are read FOR SHARE. None is paused here. */
export function* shareJobs(run: Execution, rows: readonly QueueRow[]): Generator<undefined, void> {
  for (const job of [...new Set(rows.map((row) => row.job))].sort((a, b) => a - b))
    yield* run.lock('jobs', job, 'share')
}

export function* definitions(
  run: Execution,
  { jobs, versions }: { jobs: number[]; versions: number[] },
): Steps {
  return jobs.flatMap((wanted, at) => {
    const job: JobRow | undefined = run.table('jobs').get(wanted)
    if (job === undefined) return []
    const definition = job.version === versions[at] ? job.definition : null
    return [{ job: wanted, version: versions[at], uuid: job.uuid, definition }]
  })
}

function byTime(a: QueueRow, b: QueueRow): number {
  return a.available_at - b.available_at || byKey(a, b)
}

function byKey(a: QueueRow, b: QueueRow): number {
  return a.due - b.due || a.job - b.job || a.origin - b.origin || a.seq - b.seq
}
