import type { ApiPorts, LeasesPort } from '../http/api.js'
import { Account } from '../pipeline/account/account.js'
import { Targets } from '../pipeline/protect/targets.js'
import { History } from '../pipeline/record/history.js'
import { Calendars } from '../pipeline/register/calendars.js'
import { Registry } from '../pipeline/register/registry.js'
import { Schedules } from '../pipeline/register/schedules.js'
import { Secrets } from '../pipeline/sign/secrets.js'
import { checkTarget } from '../targets/check.js'
import type { Context, Hints } from './context.js'
import { composeInterventions } from './interventions.js'
import { addressGuardOf } from './worker.js'

/** Well below the time after which clients and proxies give up: the rest is asked for with a cursor. */
const verifyBudgetMs = 10_000

/** What the HTTP room calls: registering and showing jobs, reading what became of their ticks. */
export function composeApi(
  context: Context,
  hints: Pick<Hints, 'jobChanged'> & Partial<Pick<Hints, 'runFired'>>,
  leases: LeasesPort,
): ApiPorts {
  const { config, database, databaseClock } = context
  const guard = addressGuardOf(config)
  const lateToleranceMs = config.lateToleranceSeconds * 1000
  const registry = new Registry({
    database,
    databaseClock,
    minIntervalMs: config.minIntervalSeconds * 1000,
    lateToleranceMs,
    checkTarget: (target) => checkTarget(target, guard),
    onChanged: hints.jobChanged,
    ...(hints.runFired !== undefined && { onTriggered: hints.runFired }),
  })
  const calendars = new Calendars({ database, lateToleranceMs, onChanged: hints.jobChanged })
  const targets = new Targets({ database, clock: context.clock, onOpened: () => hints.runFired?.() })
  const history = new History(database)
  const interventions = composeInterventions(context, {
    jobOf: (tenant, jobId) => registry.find(tenant, jobId),
    ...(hints.runFired !== undefined && { onRedriven: hints.runFired }),
  })
  const account = new Account({
    database,
    clock: context.clock,
    lateToleranceMs: config.lateToleranceSeconds * 1000,
  })
  return {
    jobs: registry,
    schedules: new Schedules({ database, databaseClock }),
    leases,
    calendars,
    signingSecrets: new Secrets(database),
    targets,
    runs: {
      async listByJob(tenant, jobId, query) {
        return history.ofJob(await registry.find(tenant, jobId), jobId, query)
      },
      ...interventions.runs,
    },
    deadLetters: interventions.deadLetters,
    account: {
      why: (tenant, jobId, at) => account.why(tenant, jobId, at),
      verify: (tenant, query) => account.verify(tenant, { ...query, budgetMs: verifyBudgetMs }),
      cluster: (tenant) => account.cluster(tenant),
      events: (query) => account.events(query),
      brake: () => account.brake(),
      setBrake: (input) => account.setBrake(input),
      clearBrake: () => account.clearBrake(),
    },
  }
}
