import type { JobInput } from '@carillon/contract'
import type { Delivered } from '../../src/pipeline/execute/worker.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { succeeded, type TestNode } from './test-house.js'
import type { House } from './use-house.js'

/** A job that calls a host. */
export function jobAt(node: TestNode, host: string, input: Partial<JobInput> = {}) {
  return node.register({ target: { type: 'http', url: `http://${host}/hook` }, ...input })
}

export const unreachable: Delivered = {
  outcome: 'failed',
  retryable: true,
  retryAfterMs: null,
  reason: 'connection',
  error: 'connect ECONNREFUSED',
  result: undefined,
}

export function answered(status: number, retryAfterMs: number | null = null): Delivered {
  const ok = status < 400
  return {
    outcome: ok ? 'success' : 'failed',
    retryable: !ok,
    retryAfterMs,
    reason: ok ? null : 'http_status',
    error: ok ? null : `answered ${status}`,
    result: { status, body: '' },
  }
}

export interface TargetRow {
  tenant: number
  host: string
  tokens: number
  in_use: number
  state: string
  since: number
  retry_at: number | null
  openings: number
  attempts: number
  failures: number
  failures_in_row: number
  watched_at: number | null
  probe_token: number | null
}

export async function targetRow(house: House, host: string): Promise<TargetRow | undefined> {
  const [row] = await house.query<TargetRow>('SELECT * FROM carillon.targets WHERE host = $1', [host])
  return row
}

/** Runs at a host that workers hold. */
export async function heldAt(house: House, host: string): Promise<number> {
  const [row] = await house.query<{ held: number }>(
    `SELECT count(*)::int AS held FROM carillon.queue q JOIN carillon.routes r USING (route)
     WHERE r.name = $1 AND q.holder IS NOT NULL`,
    [host],
  )
  return row?.held ?? -1
}

export function lease(node: TestNode, most = 100): Promise<LeasedRun[]> {
  return node.leasing.lease(node.membership.incarnation, most)
}

/** Closes runs without letting time pass. */
export async function close(
  house: House,
  node: TestNode,
  runs: readonly LeasedRun[],
  delivered: Delivered = succeeded,
): Promise<void> {
  if (runs.length === 0) return
  const [known] = (await node.leasing.definitions(runs)).values()
  const closing = Promise.all(
    runs.map((run) =>
      node.closer.close({
        run,
        definition: known?.definition ?? null,
        startedAt: run.availableAt,
        finishedAt: run.availableAt,
        ...delivered,
      }),
    ),
  )
  await house.during(closing, 0)
}

/** What a worker would say of calls to a host. */
export function say(node: TestNode, host: string, outcomes: string, error = 'connect ECONNREFUSED'): void {
  for (const outcome of outcomes)
    node.hosts.note({
      tenant: 1,
      host,
      ok: outcome === '+' || outcome === 'P',
      probe: outcome === 'P' || outcome === 'p',
      error: outcome === '+' || outcome === 'P' ? null : error,
      retryAfterMs: null,
    })
}
