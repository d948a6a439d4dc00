import type { AuditPort, KeysPort, TenantsPort } from './ports/access.js'
import type { AccountPort, StatsPort } from './ports/account.js'
import type { AlertChannelsPort, AlertRulesPort, AlertSilencesPort, AlertsPort } from './ports/alerts.js'
import type {
  BackfillsPort,
  CalendarsPort,
  JobsPort,
  LoadPort,
  OperationsPort,
  SchedulesPort,
  TicksPort,
} from './ports/jobs.js'
import type { IdempotencyPort } from './ports/repeatable.js'
import type { DeadLettersPort, LeasesPort, RunStreamPort, RunsPort } from './ports/runs.js'
import type { SigningSecretsPort, TargetsPort } from './ports/targets.js'

export type * from './ports/access.js'
export type * from './ports/account.js'
export type * from './ports/alerts.js'
export type * from './ports/jobs.js'
export type * from './ports/page.js'
export type * from './ports/repeatable.js'
export type * from './ports/runs.js'
export type * from './ports/targets.js'

/** What main.ts hands to the HTTP room. Rules and SQL live behind these; errors come out as CarillonError. */
export interface ApiPorts {
  jobs: JobsPort
  idempotency: IdempotencyPort
  ticks: TicksPort
  backfills: BackfillsPort
  load: LoadPort
  schedules: SchedulesPort
  calendars: CalendarsPort
  targets: TargetsPort
  runs: RunsPort
  runStreams: RunStreamPort
  operations: OperationsPort
  stats: StatsPort
  deadLetters: DeadLettersPort
  signingSecrets: SigningSecretsPort
  account: AccountPort
  alerts: AlertsPort
  alertSilences: AlertSilencesPort
  alertRules: AlertRulesPort
  alertChannels: AlertChannelsPort
  leases: LeasesPort
  keys: KeysPort
  tenants: TenantsPort
  audit: AuditPort
}
