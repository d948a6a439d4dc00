import type { JobDefinition } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { hostOf } from '../host.js'

const ensureRouteStatement = statement<
  { tenant: number; kind: string; name: string; priority: number },
  { route: number }
>(new URL('./ensure-route.sql', import.meta.url))

const mostCached = 10_000

/**
 * The number under which workers look for a job's runs: the host that it calls, or its one task, at its
 * priority. Never changes once made.
 */
export class Routes {
  private readonly known = new Map<string, number>()

  constructor(private readonly database: Database) {}

  /** Within a transaction only what was known before is remembered: it may still be rolled back. */
  async of(
    tenant: number,
    { target, priority }: Pick<JobDefinition, 'target' | 'priority'>,
    runner: Runner = this.database,
  ): Promise<number> {
    const name = target.type === 'task' ? target.task : (hostOf(target) ?? '')
    const key = JSON.stringify([tenant, target.type, name, priority])
    const known = this.known.get(key)
    if (known !== undefined) return known
    const [row] = await runner.run(ensureRouteStatement, { tenant, kind: target.type, name, priority })
    if (row === undefined) throw new Error(`The route ${key} was not made.`)
    if (runner !== this.database) return row.route
    if (this.known.size >= mostCached) this.known.clear()
    this.known.set(key, row.route)
    return row.route
  }
}
