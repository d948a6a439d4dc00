import type { Logger } from 'pino'
import { despiteDeadlocks } from '../../db/deadlock.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { fleetTenant } from './rule-book.js'

const rerouteStatement = statement<{ tenant: number; fleet: boolean }, { alert: number }>(
  new URL('./reroute.sql', import.meta.url),
)

/**
 * What is open is decided about anew. For alerts of the fleet, which callers may only read, over the fleet's connections. Called after what
 * was asked for is committed: that did happen, so a failure here is logged and fails nobody's call.
 */
export async function reroute(
  { database, fleet, log }: { database: Database; fleet: Database; log: Logger },
  tenant: number,
): Promise<void> {
  const forFleet = tenant === fleetTenant
  const connections = forFleet ? fleet : database
  try {
    await despiteDeadlocks(() => connections.run(rerouteStatement, { tenant, fleet: forFleet }))
  } catch (error) {
    log.warn({ tenant, err: error }, 'open alerts could not be decided about anew')
  }
}
