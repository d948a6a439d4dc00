import type { Events } from '../pipeline/alert/events.js'
import { Outbox } from '../pipeline/outbox/outbox.js'
import { Registry } from '../pipeline/register/registry.js'
import type { Service } from '../platform/service.js'
import { checkTarget } from '../targets/check.js'
import { type Context, type Hints, loop } from './context.js'
import { registeringTerms } from './registering-terms.js'
import { addressGuardOf } from './worker.js'

/** How long a request waits at most, once its transaction has committed. */
const lookMs = 250
const forgetMs = 3_600_000

/** Registers what callers enqueued inside their own transactions. Every scheduler does it; each request is done once. */
export function composeOutbox(
  context: Context,
  events: Events,
  hints: Pick<Hints, 'jobChanged' | 'runFired'>,
) {
  const { config, database, databaseClock, log } = context
  const guard = addressGuardOf(config)
  const registry = new Registry({
    database,
    databaseClock,
    ...registeringTerms(config),
    checkTarget: (target) => checkTarget(target, guard),
    onChanged: hints.jobChanged,
    onTriggered: hints.runFired,
  })
  const outbox = new Outbox({
    database,
    log,
    ports: {
      create: (tenant, uuid, input) => registry.createAs(tenant, uuid, input),
      trigger: async (tenant, uuid, within) => void (await registry.triggerWith(tenant, uuid, within)),
    },
    raise: (event) => events.raise(event),
  })
  const services: Service[] = [
    loop(context, 'outbox', lookMs, () => outbox.runOnce()),
    loop(context, 'outbox-upkeep', forgetMs, () => outbox.forgetOnce()),
  ]
  return services
}
