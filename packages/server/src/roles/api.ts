import type { Database } from '../db/pool.js'
import type { AccountPort, ApiPorts, LeasesPort } from '../http/api.js'
import { defaultTenant } from '../http/tenant.js'
import { AuditLog } from '../pipeline/access/audit-log.js'
import { Keys } from '../pipeline/access/keys.js'
import { Tenants } from '../pipeline/access/tenants.js'
import { Account } from '../pipeline/account/account.js'
import { Idempotency } from '../pipeline/idempotency.js'
import { Forecasts } from '../pipeline/forecast/forecasts.js'
import { Stats } from '../pipeline/account/stats.js'
import { Targets } from '../pipeline/protect/targets.js'
import { RunsAcross } from '../pipeline/record/across.js'
import { History } from '../pipeline/record/history.js'
import { Backfills } from '../pipeline/register/backfills.js'
import { Calendars } from '../pipeline/register/calendars.js'
import { Operations } from '../pipeline/register/bulk/operations.js'
import { Registry } from '../pipeline/register/registry.js'
import { Ticks } from '../pipeline/register/ticks.js'
import { Schedules } from '../pipeline/register/schedules.js'
import { Secrets } from '../pipeline/sign/secrets.js'
import { currentTenant } from '../platform/caller.js'
import { checkTarget } from '../targets/check.js'
import { composeAlertPorts } from './alerts.js'
import type { Context, Hints } from './context.js'
import { composeInterventions } from './interventions.js'
import { traceJobs } from './registration-spans.js'
import type { RunStreams } from './run-streams.js'
import { registeringTerms } from './registering-terms.js'
import { addressGuardOf } from './worker.js'

/** Well below the time after which clients and proxies give up: the rest is asked for with a cursor. */
const verifyBudgetMs = 10_000

export interface ApiRole extends ApiPorts {
  close(): Promise<void>
}

/**
 * What the HTTP room calls: registering and showing jobs, reading what became of their ticks. What is
 * done for a request is done over connections that the database confines to the tenant of its caller; only what concerns
 * the whole fleet, which http/access.ts leaves to its own people, goes over the fleet's.
 */
export function composeApi(
  context: Context,
  hints: Pick<Hints, 'jobChanged'> & Partial<Pick<Hints, 'runFired' | 'operationStarted'>>,
  leases: LeasesPort,
  streams: RunStreams,
): ApiRole {
  const { config, database: fleet, databaseClock } = context
  const database = fleet.confined('carillon api', config.poolSize, currentTenant)
  const guard = addressGuardOf(config)
  const lateToleranceMs = config.lateToleranceSeconds * 1000
  const idempotency = new Idempotency(database)
  const registry = new Registry({
    // Searches have no index under row-level security; what they find is read as the tenant.
    finder: fleet,
    idempotency,
    ...registeringTerms(config),
    database,
    databaseClock,
    lateToleranceMs,
    checkTarget: (target) => checkTarget(target, guard),
    onChanged: hints.jobChanged,
    onBatch: (jobs) => context.metrics.batch('register', jobs),
    ...(hints.runFired !== undefined && { onTriggered: hints.runFired }),
  })
  const calendars = new Calendars({ database, lateToleranceMs, onChanged: hints.jobChanged })
  const targets = new Targets({ database, clock: context.clock, onOpened: () => hints.runFired?.() })
  const history = new History(database)
  const across = new RunsAcross({ database, clock: context.clock })
  const interventions = composeInterventions(
    { database },
    {
      jobOf: (tenant, jobId) => registry.find(tenant, jobId),
      ...(hints.runFired !== undefined && { onRedriven: hints.runFired }),
    },
  )
  const alerts = composeAlertPorts(context, database, (tenant, jobId) => registry.find(tenant, jobId))
  const { traces } = context
  return {
    jobs: traces === null ? registry : traceJobs(registry, traces.tracing, () => databaseClock.atLeast()),
    idempotency,
    ticks: new Ticks({ database, onChanged: hints.jobChanged }),
    backfills: new Backfills({
      database,
      mostTicks: config.maxBackfillTicks,
      jobOf: (tenant, jobId) => registry.find(tenant, jobId),
    }),
    load: new Forecasts({ database, clock: context.clock }),
    schedules: new Schedules({ database, databaseClock }),
    leases,
    calendars,
    targets,
    runs: {
      async listByJob(tenant, jobId, query) {
        return history.ofJob(await registry.find(tenant, jobId), jobId, query)
      },
      async list(tenant, { job_id: jobId, ...query }) {
        if (jobId === undefined) return across.list(tenant, query)
        const job = await registry.find(tenant, jobId)
        const { tags } = query
        if (tags !== undefined && !(await across.hasTags(tenant, job, tags)))
          return { data: [], next_cursor: null }
        const page = await history.ofJob(job, jobId, query)
        return { data: page.runs, next_cursor: page.next_cursor }
      },
      ...interventions.runs,
    },
    runStreams: streams.port((tenant, jobId) => registry.find(tenant, jobId)),
    stats: new Stats({ database, clock: context.clock }),
    operations: new Operations(database, hints.operationStarted),
    deadLetters: interventions.deadLetters,
    account: accountPort(context, { database, fleet }),
    ...alerts.ports,
    ...tenancyPorts({ database, fleet }),
    async close() {
      await alerts.close()
      await database.close()
    },
  }
}

/** Whose connections: the caller's, confined to its tenant, and the fleet's. */
interface Walls {
  database: Database
  fleet: Database
}

function accountPort({ clock, config }: Context, { database, fleet }: Walls): AccountPort {
  const over = (database: Database) =>
    new Account({ database, clock, lateToleranceMs: config.lateToleranceSeconds * 1000 })
  const account = over(database)
  const fleetAccount = over(fleet)
  return {
    why: (tenant, jobId, at) => account.why(tenant, jobId, at),
    verify: (tenant, query) => account.verify(tenant, { ...query, budgetMs: verifyBudgetMs }),
    cluster: (tenant) => fleetAccount.cluster(tenant),
    events: (query) => account.events(query),
    brake: () => account.brake(),
    setBrake: (input) => fleetAccount.setBrake(input),
    clearBrake: () => fleetAccount.clearBrake(),
  }
}

function tenancyPorts({
  database,
  fleet,
}: Walls): Pick<ApiPorts, 'keys' | 'tenants' | 'audit' | 'signingSecrets'> {
  const signingSecrets = new Secrets(database)
  const tenants = new Tenants({
    database: fleet,
    home: defaultTenant,
    furnish: (runner, tenant) => signingSecrets.ensure([tenant], runner),
  })
  const keys = new Keys(database)
  const keysOfAll = new Keys(fleet)
  return {
    signingSecrets,
    tenants,
    keys: {
      create: (tenant, input) => keys.create(tenant, input),
      createFor: async (name, input) => keysOfAll.create(await tenants.keyOf(name), input),
      list: (tenant, query) => keys.list(tenant, query),
      rotate: (tenant, keyId, input) => keys.rotate(tenant, keyId, input),
      revoke: (tenant, keyId) => keys.revoke(tenant, keyId),
    },
    audit: new AuditLog(database),
  }
}
