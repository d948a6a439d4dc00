import {
  type AttemptReport,
  CarillonError,
  type CloseAnswer as Answer,
  type CloseInput,
  type CloseStatus,
  type FieldProblem,
} from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type Clock, pause } from '../../platform/clock.js'
import { incarnationName, incarnationOf, type RunIdentity, runIdentityOf } from '../../platform/ids.js'
import { DefinitionCache } from '../definition-cache.js'
import type { CloseAnswer } from '../run.js'
import { type RemoteLeases, type RemotePorts, unknownWorker } from './leases.js'
import { type Circumstances, resultOf } from './report.js'
import { leasedRunOf } from '../leased-run.js'
import type { HeldRow } from './rows.js'

interface FoundRow extends HeldRow {
  asked_token: number
  cancel_requested: boolean
  held: boolean
}

interface IdentityParams {
  tenant: number
  dues: number[]
  jobs: number[]
  origins: number[]
  seqs: number[]
  partitions: number[]
  tokens: number[]
}

const findRunsStatement = statement<IdentityParams & { holder: number }, FoundRow>(
  new URL('./find-runs.sql', import.meta.url),
)
const findEndedStatement = statement<IdentityParams, FoundRow & { exact: boolean }>(
  new URL('./find-ended.sql', import.meta.url),
)

export interface RemoteClosingOptions {
  ports: Pick<RemotePorts, 'sign' | 'leave' | 'handBack' | 'definitions' | 'close'>
  toStop: RemoteLeases['toStop']
  database: Database
  clock: Clock
  /** Told when runs went back to the queue. */
  onReleased: () => void
}

interface Item {
  report: AttemptReport
  identity: RunIdentity
  found: FoundRow
}

/** While the database takes nothing, results wait. A caller is told so before it gives up by itself, and sends them again. */
const patienceMs = 10_000
/** The largest int of the database: an id that names more was not given by this server. */
const mostSeq = 2 ** 31 - 1

/** Results of workers over HTTP. Those of one that is dead are taken too, and kept as stale. */
export class RemoteClosing {
  private readonly definitions: DefinitionCache

  constructor(private readonly options: RemoteClosingOptions) {
    this.definitions = new DefinitionCache((wanted) => options.ports.definitions(wanted))
  }

  async close(tenant: number, input: CloseInput): Promise<Answer> {
    const { ports } = this.options
    const worker = incarnationOf(input.worker_id)
    const state = worker === null ? null : await ports.sign(tenant, worker, null)
    if (worker === null || state === null) throw unknownWorker(input.worker_id)
    const items = await this.find(tenant, worker, input.results)
    const statuses = await this.closeAll(worker, items)
    const leaves = input.leave === true && state === 'alive'
    if (leaves) await ports.leave(worker)
    return {
      worker_id: incarnationName(worker),
      alive: state === 'alive' && !leaves,
      data: items.map(({ report: { run_id, fencing_token } }, at) => ({
        run_id,
        fencing_token,
        status: statuses[at] ?? 'stale',
      })),
    }
  }

  /** All that is known of the runs, before anything is done: one that does not exist refuses the whole call. */
  private async find(tenant: number, worker: number, reports: readonly AttemptReport[]): Promise<Item[]> {
    const { database } = this.options
    const asked = reports.map((report, at) => ({ report, identity: readIdentity(report, at) }))
    if (asked.length === 0) return []
    const inFlight = await database.run(findRunsStatement, { holder: worker, ...paramsOf(tenant, asked) })
    const found = new Map(inFlight.map((row) => [rowKey(row, row.asked_token), row]))
    const unheld = asked.filter(
      ({ report, identity }) => found.get(rowKey(identity, report.fencing_token))?.held !== true,
    )
    if (unheld.length > 0) {
      for (const row of await database.run(findEndedStatement, paramsOf(tenant, unheld))) {
        // Where the attempt itself is on record, a later one in flight says nothing of it.
        const key = rowKey(row, row.asked_token)
        if (row.exact || !found.has(key)) found.set(key, row)
      }
    }
    return asked.map(({ report, identity }, at) => {
      const row = found.get(rowKey(identity, report.fencing_token))
      if (row === undefined) throw unknownRun(report.run_id, at)
      return { report, identity, found: row }
    })
  }

  private async closeAll(worker: number, items: readonly Item[]): Promise<CloseStatus[]> {
    const { toStop, clock } = this.options
    const stops = await toStop(
      worker,
      items.map(({ found }) => found),
    )
    const reasons = new Map(stops.map(({ fencing_token: token, reason }) => [token, reason]))
    const given = await Promise.all(items.map((item) => this.givesBack(worker, item, items, reasons)))
    const back = items.filter((_, at) => given[at])
    const released = await this.release(worker, back)
    const closing = Promise.all(
      items.map(
        async (item): Promise<CloseStatus> =>
          back.includes(item)
            ? (released.get(item.report.fencing_token) ?? 'stale')
            : await this.closeOne(worker, item, reasons.get(item.report.fencing_token) ?? null, items),
      ),
    )
    const enough = new AbortController()
    const late = pause(clock, patienceMs, enough.signal).then(() => null)
    const statuses = await Promise.race([closing, late]).finally(() => enough.abort())
    if (statuses !== null) return statuses
    closing.catch(() => undefined)
    throw new CarillonError('database_unavailable', {
      detail:
        'The results are not written yet. Send them again: those that are by then answer already_closed.',
    })
  }

  private async closeOne(
    worker: number,
    { report, found }: Item,
    stop: Circumstances['stop'],
    items: readonly Item[],
  ): Promise<CloseStatus> {
    const run = leasedRunOf(found, worker, report.fencing_token)
    const batch = items.map((item) => leasedRunOf(item.found, worker, item.report.fencing_token))
    const definition = await this.definitions.get(run, batch)
    const { leased_at: leasedAt, now } = found
    return statusOf(
      await this.options.ports.close(resultOf(report, { run, definition, leasedAt, now, stop })),
    )
  }

  /**
   * Whether a run goes back to the queue: one that was not begun; or one that was cut short by its worker's shutdown, unless
   * its job must never run twice, or it was told to stop anyway.
   */
  private async givesBack(
    worker: number,
    { report, found }: Item,
    items: readonly Item[],
    stops: ReadonlyMap<number, unknown>,
  ): Promise<boolean> {
    if (report.outcome !== 'interrupted') return report.outcome === 'released'
    if (stops.has(report.fencing_token)) return false
    const batch = items.map((item) => leasedRunOf(item.found, worker, item.report.fencing_token))
    const run = leasedRunOf(found, worker, report.fencing_token)
    const definition = await this.definitions.get(run, batch)
    return definition?.definition.on_lost !== 'fail'
  }

  /** What is no longer this worker's is not its to hand back. */
  private async release(worker: number, items: readonly Item[]): Promise<Map<number, CloseStatus>> {
    const wanted = items.filter(({ found }) => found.held)
    if (wanted.length === 0) return new Map()
    const runs = wanted.map(({ identity, report }) => ({ ...identity, token: report.fencing_token }))
    await this.options.ports.handBack(worker, runs)
    this.options.onReleased()
    return new Map(runs.map(({ token }) => [token, 'released']))
  }
}

function statusOf(answer: CloseAnswer): CloseStatus {
  if (answer === 'already') return 'already_closed'
  return answer === 'stale' ? 'stale' : 'closed'
}

function readIdentity(report: AttemptReport, at: number): RunIdentity {
  const identity = runIdentityOf(report.run_id)
  if (identity === null || identity.seq > mostSeq) throw unknownRun(report.run_id, at)
  const { started_at: startedAt } = report
  if (startedAt !== undefined && Number.isNaN(Date.parse(startedAt))) {
    const message = 'is no instant: give ISO-8601 with an offset, e.g. 2026-12-01T09:00:00Z'
    throw refused('validation_failed', { pointer: `/results/${at}/started_at`, message })
  }
  return identity
}

function unknownRun(runId: string, at: number): CarillonError {
  return refused('run_not_found', {
    pointer: `/results/${at}/run_id`,
    message: `there is no run ${JSON.stringify(runId)}`,
    hint: 'Nothing of this call was done: send it again without this entry.',
  })
}

function refused(code: 'run_not_found' | 'validation_failed', problem: FieldProblem): CarillonError {
  return new CarillonError(code, { detail: `${problem.pointer} ${problem.message}`, errors: [problem] })
}

function rowKey({ due, job, origin, seq, partition }: RunIdentity, token: number): string {
  return [due, job, origin, seq, partition, token].join()
}

function paramsOf(
  tenant: number,
  asked: readonly { report: AttemptReport; identity: RunIdentity }[],
): IdentityParams {
  return {
    tenant,
    dues: asked.map(({ identity }) => identity.due),
    jobs: asked.map(({ identity }) => identity.job),
    origins: asked.map(({ identity }) => identity.origin),
    seqs: asked.map(({ identity }) => identity.seq),
    partitions: asked.map(({ identity }) => identity.partition),
    tokens: asked.map(({ report }) => report.fencing_token),
  }
}
