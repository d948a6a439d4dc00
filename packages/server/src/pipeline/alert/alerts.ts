import {
  type Alert,
  type AlertList,
  type AlertState,
  alertKindOf,
  alertRunbook,
  type AlertSeverity,
  CarillonError,
} from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { currentCaller } from '../../platform/caller.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { alertIdOf, channelIdOf, jobIdOf, numberOfAlert, silenceIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'
import { audit } from '../audit.js'
import { fleetTenant } from './rule-book.js'

interface AlertRow {
  alert: number
  tenant: number | null
  kind: string
  severity: AlertSeverity
  subject: string
  detail: unknown
  raised_at: number
  last_seen_at: number
  resolved_at: number | null
  resolved_by: string | null
  count: number
  silenced_by: string | null
  job_uuid: string | null
  job_name: string | null
}

interface NotificationRow {
  channel: string
  name: string
  event: 'firing' | 'resolved'
  delivered_at: number | null
  given_up_at: number | null
  next_at: number | null
  tries: number
  error: string | null
}

interface ListParams {
  tenant: number
  of_tenant: boolean
  of_fleet: boolean
  before: number
  least: number
  state: string | null
  kind: string | null
  job: number | null
  most: number
}

const listStatement = statement<ListParams, AlertRow>(new URL('./list-alerts.sql', import.meta.url))
const sentStatement = statement<{ tenant: number; alert: number }, NotificationRow>(
  new URL('./notifications-of.sql', import.meta.url),
)
const resolveStatement = statement<
  { tenant: number; alert: number; fleet: boolean; by: string },
  { alert: number; kind: string }
>(new URL('./resolve-by-hand.sql', import.meta.url))

const noCursor = Number.MAX_SAFE_INTEGER

export interface AlertsOptions {
  /** Confined to the tenant of the caller. */
  database: Database
  /** For what concerns the fleet, which the tenant `default` may close. */
  fleet: Database
  jobOf: (tenant: number, jobId: string) => Promise<number>
}

/** Alerts as people see them. */
export class Alerts {
  constructor(private readonly options: AlertsOptions) {}

  async list(
    tenant: number,
    query: { limit: number; cursor: string | null; state?: AlertState; kind?: string; job_id?: string },
  ): Promise<AlertList> {
    const { limit, cursor, state = null, kind = null, job_id: jobId } = query
    const [before = noCursor] = cursor === null ? [] : decodeCursor(cursor)
    const job = jobId === undefined ? null : await this.options.jobOf(tenant, jobId)
    const rows = await this.options.database.run(listStatement, {
      ...{ tenant, ...scopesOf(kind), before, least: 0, state, kind, job, most: limit + 1 },
    })
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const more = rows.length > limit && last !== undefined
    return { data: page.map(view), next_cursor: more ? encodeCursor([last.alert]) : null }
  }

  async get(tenant: number, alertId: string): Promise<Alert> {
    const { database } = this.options
    const alert = numberOfAlert(alertId)
    if (alert === null) throw new CarillonError('alert_not_found')
    const [row] = await database.run(listStatement, {
      ...{
        tenant,
        ...scopesOf(null),
        before: alert + 1,
        least: alert,
        state: null,
        kind: null,
        job: null,
        most: 1,
      },
    })
    if (row === undefined) throw new CarillonError('alert_not_found')
    const sent = await database.run(sentStatement, { tenant, alert })
    return { ...view(row), notifications: sent.map(sentView) }
  }

  /** By hand. One that is over already stays as it is. */
  async resolve(tenant: number, alertId: string): Promise<Alert> {
    const found = await this.get(tenant, alertId)
    const alert = numberOfAlert(alertId)
    const forFleet = found.scope === 'fleet'
    if (forFleet && tenant !== fleetTenant) {
      throw new CarillonError('forbidden', {
        detail: 'This alert is of the whole fleet: keys of the tenant "default" resolve it.',
      })
    }
    if (found.state === 'resolved' || alert === null) return found
    const by = currentCaller()?.actor ?? 'local'
    const database = forFleet ? this.options.fleet : this.options.database
    await database.transaction(async (runner) => {
      const [row] = await runner.run(resolveStatement, { tenant, alert, fleet: forFleet, by })
      if (row !== undefined) await audit(runner, { tenant, subject: alertId, detail: { kind: row.kind } })
    })
    return this.get(tenant, alertId)
  }
}

/** Whose alerts of this kind can be: one that nobody knows may be of a release that did. */
function scopesOf(kind: string | null): Pick<ListParams, 'of_tenant' | 'of_fleet'> {
  const scope = kind === null ? undefined : alertKindOf(kind)?.scope
  return { of_tenant: scope !== 'fleet', of_fleet: scope === undefined || scope === 'fleet' }
}

function view(row: AlertRow): Alert {
  return {
    alert_id: alertIdOf(row.alert),
    kind: row.kind,
    severity: row.severity,
    state: stateOf(row),
    scope: row.tenant === null ? 'fleet' : 'tenant',
    job_id: row.job_uuid === null ? null : jobIdOf(row.job_uuid),
    job_name: row.job_name,
    subject: row.subject,
    summary: alertKindOf(row.kind)?.raised ?? row.kind,
    detail: row.detail,
    starts_at: utcText(row.raised_at),
    last_seen_at: utcText(row.last_seen_at),
    ends_at: isoOrNull(row.resolved_at),
    resolved_by: row.resolved_by,
    count: row.count,
    silenced_by: row.silenced_by === null ? null : silenceIdOf(row.silenced_by),
    runbook: alertRunbook(row.kind),
  }
}

function stateOf({ resolved_at: at, silenced_by: by }: AlertRow): AlertState {
  if (at !== null) return 'resolved'
  return by === null ? 'firing' : 'silenced'
}

function sentView(row: NotificationRow): NonNullable<Alert['notifications']>[number] {
  return {
    channel_id: channelIdOf(row.channel),
    channel: row.name,
    event: row.event,
    delivered_at: isoOrNull(row.delivered_at),
    given_up_at: isoOrNull(row.given_up_at),
    next_try_at: isoOrNull(row.next_at),
    tries: row.tries,
    error: row.error,
  }
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : utcText(ms)
}
