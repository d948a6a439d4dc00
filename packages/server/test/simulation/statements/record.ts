import { type LedgerRow, type QueueRow, runKey } from '../rows.js'
import type { Execution, Steps } from '../store.js'
import { type HeldParams, namedRuns, shareJobs } from './queue.js'

/** The statements of pipeline/record that close. */

interface ResultParams extends HeldParams {
  started_ats: (number | null)[]
  finished_ats: (number | null)[]
  errors: (string | null)[]
  results: (string | null)[]
}

interface CloseParams extends ResultParams {
  outcomes: ('success' | 'failed' | 'dead' | 'cancelled')[]
  retry_ats: (number | null)[]
  reasons: (string | null)[]
}

/** What of a run stands in each of its rows of the ledger. */
export function attemptOf(row: QueueRow) {
  const { tenant, job, due, origin, seq, round, attempt, max_attempts, version, epoch, next_due } = row
  return {
    ...{ tenant, job, due, origin, seq, round, attempt, max_attempts, version, epoch, next_due },
    ...{ token: row.token, available_at: row.available_at, fired_at: row.fired_at, leased_at: row.leased_at },
    ...{ partition: row.partition, worker: row.holder },
  }
}

export function* close(run: Execution, params: CloseParams): Steps {
  const mine = (row: QueueRow | null | undefined, token: number): row is QueueRow =>
    row != null && (run.has('token unchecked') || (row.token === token && row.holder === params.holder))
  const ended: { row: QueueRow; at: number; final: boolean; token: number }[] = []
  const seen = new Set<number>()
  for (const { at, key, token } of namedRuns(params)) {
    if (seen.has(token) || !mine(run.table('queue').get(key), token)) continue
    seen.add(token)
    const row = yield* run.lock('queue', key, 'update')
    if (mine(row, token)) ended.push({ row, at, final: params.retry_ats[at] == null, token })
  }
  yield* shareJobs(
    run,
    ended.flatMap(({ row, final }) => (final ? [] : [row])),
  )
  for (const { row, at, final } of ended) {
    const [outcome, error] = [params.outcomes[at] as LedgerRow['outcome'], params.errors[at] ?? null]
    const reason = params.reasons[at] ?? null
    run.freePlace(row)
    run.write('queue', runKey(row), row, final ? null : again(row, params.retry_ats[at] as number, error))
    if (final && outcome === 'dead') writeLetter(run, row, reason ?? 'failed', error)
    run.note({
      ...{ ...attemptOf(row), worker: params.holder, outcome, final, reason, error },
      ...{ started_at: params.started_ats[at] ?? null, finished_at: params.finished_ats[at] ?? null },
      result: params.results[at] ?? null,
    })
  }
  return ended.map(({ token, final }) => ({ token, answer: final ? 'closed' : 'retrying' }))
}

/** It waits for its retry without a place, so that it never holds up the next tick. */
function again(row: QueueRow, retryAt: number, error: string | null): QueueRow {
  return {
    ...{ ...row, attempt: row.attempt + 1, slot: null, available_at: retryAt, last_error: error },
    ...{ holder: null, token: null, leased_at: null },
  }
}

export function writeLetter(run: Execution, row: QueueRow, reason: string, error: string | null): void {
  const { due, job, attempt: attempts, max_attempts, round } = row
  run.write('letters', runKey(row), null, {
    ...{ due, job, attempts, max_attempts, round, reason, error, dead_at: run.now },
  })
}

interface PlainParams {
  holder: number
  places: string[]
  tokens: number[]
  started_ats: (number | null)[]
  finished_ats: number[]
  results: (string | null)[]
}

export function* closePlain(run: Execution, params: PlainParams): Steps {
  const tokens: number[] = []
  for (const seen of [...run.table('queue').values()]) {
    const at = run.has('token unchecked')
      ? params.places.indexOf(seen.place)
      : params.tokens.indexOf(seen.token ?? 0)
    if (at < 0 || !params.places.includes(seen.place)) continue
    if (seen.holder !== params.holder && !run.has('token unchecked')) continue
    const row = yield* run.lock('queue', runKey(seen), 'update')
    // Another version lies elsewhere: the long way finds it.
    if (row?.place !== seen.place) continue
    run.freePlace(row)
    run.write('queue', runKey(row), row, null)
    run.note({
      ...{ ...attemptOf(row), worker: params.holder, outcome: 'success', final: true },
      ...{ started_at: params.started_ats[at] ?? null, finished_at: params.finished_ats[at] ?? null },
      result: params.results[at] ?? null,
    })
    tokens.push(params.tokens[at] as number)
  }
  return [{ tokens }]
}

interface StaleParams extends ResultParams {
  partitions: number[]
  tenants: number[]
  versions: number[]
  epochs: number[]
  rounds: number[]
  attempts: number[]
}

export function* noteStale(run: Execution, params: StaleParams): Steps {
  const answers = new Map<number, 'already' | 'stale'>()
  for (const { at, due, job, origin, seq, token } of namedRuns(params)) {
    if (answers.has(token)) continue
    const already = run
      .ledger()
      .some((row) => row.job === job && row.due === due && row.token === token && row.finished_at !== null)
    answers.set(token, already ? 'already' : 'stale')
    if (already) continue
    run.note({
      ...{ tenant: params.tenants[at] as number, job, due, origin, seq, outcome: 'stale', final: false },
      ...{ round: params.rounds[at] as number, attempt: params.attempts[at] as number },
      ...{ version: params.versions[at] as number, epoch: params.epochs[at] as number, token },
      ...{ worker: params.holder, started_at: params.started_ats[at] ?? null, reason: 'lease_lost' },
      ...{ finished_at: params.finished_ats[at] ?? null, error: params.errors[at] ?? null },
      ...{ result: params.results[at] ?? null, partition: params.partitions[at] as number },
    })
  }
  return [...answers].map(([token, answer]) => ({ token, answer }))
}
