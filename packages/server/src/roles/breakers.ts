import type { Events } from '../pipeline/alert/events.js'
import { Breakers } from '../pipeline/protect/breakers.js'
import type { Service } from '../platform/service.js'
import { type Context, loop } from './context.js'

const breakersMs = 1_000

/** Closes breakers whose backlog has drained, and keeps events of those that are not closed. */
export function composeBreakers(context: Context, events: Events): Service {
  const { database, metrics } = context
  const breakers = new Breakers({
    database,
    metrics,
    raise: (event) => events.raise(event),
    resolve: (fingerprint, tenant) => events.resolve(fingerprint, tenant),
  })
  return loop(context, 'breakers', breakersMs, () => breakers.runOnce())
}
