import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { fleetTenant } from './rule-book.js'

const rerouteStatement = statement<{ tenant: number; fleet: boolean }, { alert: number }>(
  new URL('./reroute.sql', import.meta.url),
)

/** What is open is decided about anew. For alerts of the fleet, which callers may only read, over the fleet's connections. */
export async function reroute(
  { database, fleet }: { database: Database; fleet: Database },
  tenant: number,
): Promise<void> {
  const forFleet = tenant === fleetTenant
  await (forFleet ? fleet : database).run(rerouteStatement, { tenant, fleet: forFleet })
}
