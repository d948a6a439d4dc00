import type { ApiPorts } from '../http/api.js'
import { History } from '../pipeline/record/history.js'
import { Registry } from '../pipeline/register/registry.js'
import { checkTarget } from '../targets/check.js'
import type { Context, Hints } from './context.js'
import { addressGuardOf } from './worker.js'

/** What the HTTP room calls: registering and showing jobs, reading what became of their ticks. */
export function composeApi(context: Context, hints: Pick<Hints, 'jobChanged'>): ApiPorts {
  const { config, database, databaseClock } = context
  const guard = addressGuardOf(config)
  const registry = new Registry({
    database,
    databaseClock,
    minIntervalMs: config.minIntervalSeconds * 1000,
    checkTarget: (target) => checkTarget(target, guard),
    onChanged: hints.jobChanged,
  })
  const history = new History(database)
  return {
    jobs: registry,
    runs: {
      async listByJob(tenant, jobId, query) {
        return history.ofJob(await registry.find(tenant, jobId), jobId, query)
      },
    },
  }
}
