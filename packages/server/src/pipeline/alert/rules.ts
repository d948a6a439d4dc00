import {
  type AlertKind,
  alertKindNames,
  type AlertKindEntry,
  alertKinds,
  alertParams,
  type AlertRule,
  type AlertRuleInput,
  type AlertRuleList,
  type AlertRulePatch,
  alertRunbook,
  type AlertSeverity,
  CarillonError,
  type FieldProblem,
  limits,
} from '@carillon/contract'
import type { Logger } from 'pino'
import { isUniqueViolation } from '../../db/errors.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { channelIdOf, jobIdOf, newUuid, ruleIdOf, uuidOfChannel, uuidOfRule } from '../../platform/ids.js'
import { audit } from '../audit.js'
import { reroute } from './reroute.js'
import { fleetTenant } from './rule-book.js'

interface RuleRow {
  rule: string
  kind: AlertKind
  tag: string | null
  params: Record<string, number | null>
  severity: AlertSeverity | null
  enabled: boolean
  channels: string[] | null
  job_uuid: string | null
  job_name: string | null
}

interface RuleFields {
  params: string
  severity: AlertSeverity | null
  enabled: boolean
  channels: string[] | null
}

const listStatement = statement<{ tenant: number; rule: string | null }, RuleRow>(
  new URL('./list-rules.sql', import.meta.url),
)
const createStatement = statement<
  RuleFields & {
    rule: string
    tenant: number
    kind: string
    job: number | null
    tag: string | null
    most: number
  },
  { rule: string }
>(new URL('./create-rule.sql', import.meta.url))
const changeStatement = statement<
  RuleFields & { tenant: number; rule: string; fields: string[] },
  { rule: string }
>(new URL('./change-rule.sql', import.meta.url))
const deleteStatement = statement<{ tenant: number; rule: string }, { rule: string }>(
  new URL('./delete-rule.sql', import.meta.url),
)

export interface RulesOptions {
  database: Database
  fleet: Database
  log: Logger
  jobOf: (tenant: number, jobId: string) => Promise<number>
  channelsOf: (runner: Runner, tenant: number) => Promise<readonly string[]>
}

/** What a tenant has in place of the defaults: what is raised, how much it matters, who is told. */
export class Rules {
  constructor(private readonly options: RulesOptions) {}

  /** The defaults that no rule for all stands in place of, and the rules. */
  async list(tenant: number): Promise<AlertRuleList> {
    const rows = await this.options.database.run(listStatement, { tenant, rule: null })
    const replaced = new Set(
      rows.filter(({ job_uuid: job, tag }) => job === null && tag === null).map(({ kind }) => kind),
    )
    const offered = alertKindNames.filter(
      (kind) => !replaced.has(kind) && (alertKinds[kind].scope !== 'fleet' || tenant === fleetTenant),
    )
    return { data: [...offered.map(defaultRule), ...rows.map(view)], next_cursor: null }
  }

  async create(tenant: number, input: AlertRuleInput): Promise<AlertRule> {
    const { database, jobOf } = this.options
    const { kind, tag = null, severity = null, enabled = true } = input
    check(tenant, input)
    const job = input.job_id == null ? null : await jobOf(tenant, input.job_id)
    const rule = newUuid()
    await database.transaction(async (runner) => {
      const channels = await this.channelsOf(runner, tenant, input.channels)
      const params = JSON.stringify(withoutNulls(input.params ?? {}))
      const [made] = await runner
        .run(createStatement, {
          ...{ rule, tenant, kind, job, tag, params, severity, enabled, channels, most: limits.alertRules },
        })
        .catch((error: unknown) => {
          if (isUniqueViolation(error)) throw new CarillonError('alert_rule_taken', { cause: error })
          throw error
        })
      if (made === undefined)
        throw new CarillonError('alert_limit_reached', {
          detail: `A tenant has at most ${limits.alertRules} rules.`,
        })
      await audit(runner, { tenant, subject: ruleIdOf(rule), detail: { ...input } })
    })
    await reroute(this.options, tenant)
    return this.read(tenant, rule)
  }

  async change(tenant: number, ruleId: string, patch: AlertRulePatch): Promise<AlertRule> {
    const rule = uuidOfRule(ruleId)
    if (rule === null) throw new CarillonError('alert_rule_not_found')
    const { kind } = await this.row(tenant, rule)
    checkParams(alertKinds[kind], patch.params ?? {})
    await this.options.database.transaction(async (runner) => {
      const [changed] = await runner.run(changeStatement, {
        ...{ tenant, rule, fields: Object.keys(patch) },
        params: JSON.stringify(withoutNulls(patch.params ?? {})),
        severity: patch.severity ?? null,
        enabled: patch.enabled ?? true,
        channels: await this.channelsOf(runner, tenant, patch.channels),
      })
      if (changed === undefined) throw new CarillonError('alert_rule_not_found')
      await audit(runner, { tenant, subject: ruleId, detail: { ...patch } })
    })
    await reroute(this.options, tenant)
    return this.read(tenant, rule)
  }

  async delete(tenant: number, ruleId: string): Promise<void> {
    const rule = uuidOfRule(ruleId)
    const deleted = await this.options.database.transaction(async (runner) => {
      const [row] = rule === null ? [] : await runner.run(deleteStatement, { tenant, rule })
      if (row !== undefined) await audit(runner, { tenant, subject: ruleId })
      return row !== undefined
    })
    if (!deleted) throw new CarillonError('alert_rule_not_found')
    await reroute(this.options, tenant)
  }

  private async read(tenant: number, rule: string): Promise<AlertRule> {
    return view(await this.row(tenant, rule))
  }

  private async row(tenant: number, rule: string): Promise<RuleRow> {
    const [row] = await this.options.database.run(listStatement, { tenant, rule })
    if (row === undefined) throw new CarillonError('alert_rule_not_found')
    return row
  }

  private async channelsOf(
    runner: Runner,
    tenant: number,
    names: readonly string[] | null | undefined,
  ): Promise<string[] | null> {
    if (names == null) return null
    const known = new Set(await this.options.channelsOf(runner, tenant))
    return names.map((name, at) => {
      const channel = uuidOfChannel(name)
      if (channel !== null && known.has(channel)) return channel
      throw refused([{ pointer: `/channels/${at}`, message: 'is no channel of the tenant' }])
    })
  }
}

function check(tenant: number, { kind, job_id: job, tag, params }: AlertRuleInput): void {
  const entry: AlertKindEntry = alertKinds[kind]
  const problems: FieldProblem[] = []
  if (job != null && tag != null)
    problems.push({ pointer: '/tag', message: 'cannot be given together with job_id' })
  if (entry.scope !== 'job' && (job != null || tag != null)) {
    const pointer = job != null ? '/job_id' : '/tag'
    problems.push({ pointer, message: `has no meaning: ${kind} is not about a job` })
  }
  if (entry.scope === 'fleet' && tenant !== fleetTenant) {
    problems.push({
      pointer: '/kind',
      message: 'concerns the fleet: its rules are those of the tenant "default"',
    })
  }
  if (problems.length > 0) throw refused(problems)
  checkParams(entry, params ?? {})
}

function checkParams(entry: AlertKindEntry, params: Readonly<Record<string, number | null>>): void {
  const problems = Object.entries(params).flatMap(([name, value]) => {
    const bounds = Object.hasOwn(entry.params, name) ? entry.params[name] : undefined
    const pointer = `/params/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (bounds === undefined) {
      const known = Object.keys(entry.params).join(', ')
      return [
        {
          pointer,
          message: known === '' ? 'is unknown: this kind has none' : `is unknown: there is ${known}`,
        },
      ]
    }
    if (value === null || (value >= bounds.min && value <= bounds.max)) return []
    return [{ pointer, message: `has to be ${bounds.min} to ${bounds.max}` }]
  })
  if (problems.length > 0) throw refused(problems)
}

function refused(errors: FieldProblem[]): CarillonError {
  const [first] = errors
  return new CarillonError('validation_failed', {
    detail: `${first?.pointer.slice(1) ?? ''} ${first?.message ?? ''}.`,
    errors,
  })
}

function withoutNulls(params: Readonly<Record<string, number | null>>): Record<string, number | null> {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null))
}

function defaultRule(kind: AlertKind): AlertRule {
  return {
    ...{ rule_id: null, kind, job_id: null, job_name: null, tag: null, params: alertParams(kind) },
    ...{ severity: alertKinds[kind].severity, enabled: true, channels: null },
    ...{ summary: alertKinds[kind].raised, runbook: alertRunbook(kind) },
  }
}

function view(row: RuleRow): AlertRule {
  return {
    ...defaultRule(row.kind),
    rule_id: ruleIdOf(row.rule),
    job_id: row.job_uuid === null ? null : jobIdOf(row.job_uuid),
    job_name: row.job_name,
    tag: row.tag,
    params: alertParams(row.kind, row.params),
    ...(row.severity !== null && { severity: row.severity }),
    enabled: row.enabled,
    channels: row.channels?.map(channelIdOf) ?? null,
  }
}
