import { type AlertKind, alertKinds, alertParams, type AlertSeverity } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

export interface RuleRow {
  tenant: number
  kind: string
  job: number | null
  tag: string | null
  params: Record<string, number | null>
  severity: AlertSeverity | null
  enabled: boolean
  channels: string[] | null
}

export interface EffectiveRule {
  enabled: boolean
  severity: AlertSeverity
  params: Record<string, number | null>
  channels: string[] | null
}

const readStatement = statement<{ tenants: number[] }, RuleRow>(new URL('./read-rules.sql', import.meta.url))

/** Whose rules hold for what concerns the fleet. */
export const fleetTenant = 1

/** Which rule holds: of the job, else of one of its tags, else of the tenant, else the default of the kind. */
export class RuleBook {
  private readonly rules = new Map<string, RuleRow[]>()

  constructor(rows: readonly RuleRow[]) {
    for (const row of rows) {
      const key = `${row.tenant} ${row.kind}`
      const known = this.rules.get(key)
      if (known === undefined) this.rules.set(key, [row])
      else known.push(row)
    }
  }

  static async read(runner: Runner, tenants: Iterable<number | null>): Promise<RuleBook> {
    const wanted = new Set([...tenants].map((tenant) => tenant ?? fleetTenant))
    if (wanted.size === 0) return new RuleBook([])
    return new RuleBook(await runner.run(readStatement, { tenants: [...wanted] }))
  }

  find(
    tenant: number | null,
    kind: AlertKind,
    of: { job?: number | null; tags?: readonly string[] | null } = {},
  ): EffectiveRule {
    const rules = this.rules.get(`${tenant ?? fleetTenant} ${kind}`) ?? []
    const rule =
      rules.find(({ job }) => job !== null && job === of.job) ??
      rules.find(({ tag }) => tag !== null && of.tags?.includes(tag) === true) ??
      rules.find(({ job, tag }) => job === null && tag === null)
    return {
      enabled: rule?.enabled ?? true,
      severity: rule?.severity ?? alertKinds[kind].severity,
      params: alertParams(kind, rule?.params),
      channels: rule?.channels ?? null,
    }
  }
}
