import type { JobInput } from '@carillon/contract'
import type { Config } from '../config.js'
import { DatabaseClock } from '../db/database-clock.js'
import { inspectServer } from '../db/inspect.js'
import type { Database } from '../db/pool.js'
import { defaultTenant } from '../http/tenant.js'
import { Tenants } from '../pipeline/access/tenants.js'
import { farMs } from '../pipeline/register/create.js'
import { Creating } from '../pipeline/register/creating.js'
import { Routes } from '../pipeline/register/routes.js'
import { type Clock, systemClock } from '../platform/clock.js'
import { checkTarget } from '../targets/check.js'
import { registeringTerms } from './registering-terms.js'
import { addressGuardOf } from './worker.js'

/** What all jobs alike have in common, as registering one of them would store it. */
export interface JobTemplate {
  tenant: number
  /** JSON, as it is stored. */
  definition: string
  route: number
  zoneData: string
  /** A job that starts later than this from its registration is not told to the schedulers: its changed_at is 0. */
  farMs: number
}

/**
 * A job as the API would register it, checked and with its defaults, but not stored: for whoever stores very many that are
 * alike by other means. Its route is made. The schema must be up to date.
 */
export async function jobTemplate(
  config: Config,
  database: Database,
  { tenant: name, input }: { tenant: string; input: JobInput },
  clock: Clock = systemClock,
): Promise<JobTemplate> {
  const databaseClock = new DatabaseClock(clock, () => undefined)
  const sampled = databaseClock.begin()
  sampled((await inspectServer(database)).now)
  const furnish = () => Promise.resolve()
  const tenant = await new Tenants({ database, home: defaultTenant, furnish }).keyOf(name)
  const guard = addressGuardOf(config)
  const routes = new Routes(database)
  const creating = new Creating({
    databaseClock,
    routes,
    ...registeringTerms(config),
    checkTarget: (target) => checkTarget(target, guard),
  })
  // The tenant's own least interval is known from here on.
  await creating.minIntervalMs(database, tenant)
  const { kind, text } = creating.define(tenant, input)
  await creating.checkCommands(database, tenant, kind.definition)
  const route = await routes.of(tenant, kind.definition)
  return { tenant, definition: text, route, zoneData: process.versions.tz ?? 'unknown', farMs }
}
