import {
  CarillonError,
  type OperationFilter,
  type Operation,
  type OperationInput,
  type OperationList,
  type OperationPreview,
} from '@carillon/contract'
import type { Database, Runner } from '../../../db/pool.js'
import { statement } from '../../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../../platform/cursor.js'
import { jobIdOf, newUuid, operationIdOf, uuidOfOperation } from '../../../platform/ids.js'
import { audit } from '../../audit.js'
import { allInside, eachForItself } from '../creating.js'
import { countMatching, saysNothing } from './filter.js'
import { utcText } from '../../../time/iso-text.js'

interface OperationRow {
  operation: number
  uuid: string
  action: Operation['action']
  filter: OperationFilter
  state: Operation['state']
  total: number
  done: number
  failed: number
  errors: Operation['errors']
  created_at: number
  finished_at: number | null
}

const startStatement = statement<
  {
    uuid: string
    tenant: number
    action: string
    filter: string
    arguments: string
    total: number
    through_job: number
  },
  { operation: number }
>(new URL('./start-operation.sql', import.meta.url))
const latestStatement = statement<Record<string, never>, { job: number }>(
  new URL('./latest-job.sql', import.meta.url),
)
const showStatement = statement<
  { tenant: number; uuid: string | null; before: number; most: number },
  OperationRow
>(new URL('./show-operations.sql', import.meta.url))
const cancelStatement = statement<{ tenant: number; uuid: string }, { operation: number }>(
  new URL('./cancel-operation.sql', import.meta.url),
)

const sampled = 20

/** One action on many jobs: asked for here, carried out by the schedulers' loop. */
export class Operations {
  constructor(
    private readonly database: Database,
    private readonly onStarted: () => void = () => undefined,
  ) {}

  async preview(
    tenant: number,
    input: OperationInput,
    runner: Runner = this.database,
  ): Promise<OperationPreview> {
    check(input)
    const range = { through: Number.MAX_SAFE_INTEGER, most: sampled }
    const { matched, sample } = await countMatching(runner, tenant, input.filter ?? {}, range)
    return { matched, sample: sample.map(({ uuid, name }) => ({ job_id: jobIdOf(uuid), name })) }
  }

  /** `inside`: in the caller's transaction. The schedulers are told before it commits, and look again by themselves. */
  async start(tenant: number, input: OperationInput, inside?: Runner): Promise<Operation> {
    check(input)
    const { action, filter = {}, reason, until, tags } = input
    const uuid = newUuid()
    const place = inside === undefined ? eachForItself(this.database) : allInside(inside)
    const [latest] = await place.runner.run(latestStatement, {})
    const through = latest?.job ?? 0
    const { matched } = await countMatching(place.runner, tenant, filter, { through, most: 1 })
    await place.transaction(async (runner) => {
      await runner.run(startStatement, {
        uuid,
        tenant,
        action,
        filter: JSON.stringify(filter),
        arguments: JSON.stringify({ reason, until, tags }),
        total: matched,
        through_job: through,
      })
      const detail = { action, filter, jobs: matched, reason, until, tags }
      await audit(runner, { tenant, subject: operationIdOf(uuid), detail })
    })
    this.onStarted()
    return this.show(tenant, operationIdOf(uuid), place.runner)
  }

  async list(tenant: number, query: { limit: number; cursor: string | null }): Promise<OperationList> {
    const [before] = query.cursor === null ? [Number.MAX_SAFE_INTEGER] : decodeCursor(query.cursor)
    if (before === undefined) throw new CarillonError('invalid_cursor')
    const rows = await this.database.run(showStatement, { tenant, uuid: null, before, most: query.limit + 1 })
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    const more = rows.length > query.limit && last !== undefined
    return { data: page.map(view), next_cursor: more ? encodeCursor([last.operation]) : null }
  }

  get(tenant: number, operationId: string): Promise<Operation> {
    return this.show(tenant, operationId, this.database)
  }

  private async show(tenant: number, operationId: string, runner: Runner): Promise<Operation> {
    const uuid = uuidOfOperation(operationId)
    const before = Number.MAX_SAFE_INTEGER
    const [row] = uuid === null ? [] : await runner.run(showStatement, { tenant, uuid, before, most: 1 })
    if (row === undefined) throw notFound(operationId)
    return view(row)
  }

  /** What it has done stays done. */
  async cancel(tenant: number, operationId: string): Promise<Operation> {
    const uuid = uuidOfOperation(operationId)
    const [cancelled] = uuid === null ? [] : await this.cancelNow(tenant, uuid)
    const now = await this.get(tenant, operationId)
    if (cancelled !== undefined) return now
    throw new CarillonError('operation_ended', {
      detail: `The operation ${operationId} has ended already: it is ${now.state}.`,
    })
  }

  private cancelNow(tenant: number, uuid: string): Promise<{ operation: number }[]> {
    return this.database.transaction(async (runner) => {
      const rows = await runner.run(cancelStatement, { tenant, uuid })
      if (rows.length > 0) await audit(runner, { tenant, subject: operationIdOf(uuid) })
      return rows
    })
  }
}

/** What the schema cannot say. */
function check({ action, filter = {}, all = false, reason, until, tags }: OperationInput): void {
  const refused = (pointer: string, message: string) =>
    new CarillonError('validation_failed', {
      detail: `${pointer} ${message}.`,
      errors: [{ pointer, message }],
    })
  if (saysNothing(filter) && !all)
    throw refused('/filter', 'says nothing: name the jobs, or send "all": true to mean every one')
  const tagging = action === 'tag' || action === 'untag'
  if (tagging && (tags === undefined || tags.length === 0)) throw refused('/tags', `is needed for ${action}`)
  if (!tagging && tags !== undefined) throw refused('/tags', `is for tag and untag, not for ${action}`)
  if (action === 'pause') return
  if (reason !== undefined && action !== 'cancel')
    throw refused('/reason', `is for a pause or cancel, not for ${action}`)
  if (until !== undefined) throw refused('/until', `is for a pause, not for ${action}`)
}

function view(row: OperationRow): Operation {
  const { action, filter, state, total, done, failed, errors } = row
  return {
    operation_id: operationIdOf(row.uuid),
    ...{ action, filter, state, total, done, failed, errors },
    created_at: utcText(row.created_at),
    finished_at: row.finished_at === null ? null : utcText(row.finished_at),
  }
}

function notFound(operationId: string): CarillonError {
  return new CarillonError('operation_not_found', {
    detail: `There is no operation ${JSON.stringify(operationId.slice(0, 64))}.`,
  })
}
