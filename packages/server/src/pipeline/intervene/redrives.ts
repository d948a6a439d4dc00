import { CarillonError, type Redrive, type RedriveFilter } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf, type RunIdentity, runIdOf } from '../../platform/ids.js'
import { audit } from '../audit.js'
import { filterOf } from './filter.js'
import { utcText } from '../../time/iso-text.js'

interface RedriveRow {
  redrive: number
  job: number | null
  uuid: string | null
  fingerprint: string | null
  after_ms: number
  before_ms: number
  per_second: number
  canary: number
  current_version: boolean
  total: number
  moved: number
  canaries: RunIdentity[]
  state: Redrive['state']
  reason: string | null
  created_at: number
  ended_at: number | null
}

const startStatement = statement<
  {
    tenant: number
    job: number | null
    fingerprint: string | null
    after: number
    before: number
    per_second: number
    canary: number
    current: boolean
  },
  { redrive: number }
>(new URL('./start-redrive.sql', import.meta.url))
const showStatement = statement<{ tenant: number; redrive: number | null; most: number }, RedriveRow>(
  new URL('./show-redrives.sql', import.meta.url),
)
const cancelStatement = statement<{ tenant: number; redrive: number }, { redrive: number }>(
  new URL('./cancel-redrive.sql', import.meta.url),
)

const defaultPerSecond = 10
const mostListed = 100

/** Re-drives of many dead letters: asked for here, carried out by the schedulers' loop. */
export class Redrives {
  constructor(private readonly database: Database) {}

  /** `job`: the key of the filter's job, where it names one. */
  async start(tenant: number, filter: RedriveFilter, job: number | null): Promise<Redrive> {
    const { per_second: perSecond = defaultPerSecond, canary = 0, version = 'recorded' } = filter
    const bounds = filterOf(filter, job, '/')
    const row = await this.database.transaction(async (runner) => {
      const [made] = await runner.run(startStatement, {
        tenant,
        ...bounds,
        per_second: perSecond,
        canary,
        current: version === 'current',
      })
      if (made !== undefined)
        await audit(runner, { tenant, subject: subjectOf(made.redrive), detail: { ...filter } })
      return made
    })
    if (row === undefined) throw new Error('A re-drive was asked for and not stored.')
    return this.get(tenant, row.redrive)
  }

  async list(tenant: number): Promise<{ data: Redrive[] }> {
    const rows = await this.database.run(showStatement, { tenant, redrive: null, most: mostListed })
    return { data: rows.map(view) }
  }

  async get(tenant: number, redrive: number): Promise<Redrive> {
    const [row] = await this.database.run(showStatement, { tenant, redrive, most: 1 })
    if (row === undefined)
      throw new CarillonError('redrive_not_found', { detail: `There is no re-drive ${redrive}.` })
    return view(row)
  }

  /** What it has moved stays moved. */
  async cancel(tenant: number, redrive: number): Promise<Redrive> {
    const cancelled = await this.database.transaction(async (runner) => {
      const [row] = await runner.run(cancelStatement, { tenant, redrive })
      if (row !== undefined) await audit(runner, { tenant, subject: subjectOf(redrive) })
      return row
    })
    const now = await this.get(tenant, redrive)
    if (cancelled === undefined)
      throw new CarillonError('redrive_ended', {
        detail: `The re-drive ${redrive} has ended already: it is ${now.state}.`,
      })
    return now
  }
}

function subjectOf(redrive: number): string {
  return `redrive ${redrive}`
}

function view(row: RedriveRow): Redrive {
  return {
    redrive: row.redrive,
    state: row.state,
    reason: row.reason,
    job_id: row.uuid === null ? null : jobIdOf(row.uuid),
    fingerprint: row.fingerprint,
    after: row.after_ms === 0 ? null : utcText(row.after_ms),
    before: utcText(row.before_ms),
    per_second: row.per_second,
    canary: row.canary,
    version: row.current_version ? 'current' : 'recorded',
    canaries: row.canaries.map(runIdOf),
    total: row.total,
    moved: row.moved,
    created_at: utcText(row.created_at),
    ended_at: row.ended_at === null ? null : utcText(row.ended_at),
  }
}
