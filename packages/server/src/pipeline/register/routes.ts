import type { Target } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

const ensureRouteStatement = statement<{ tenant: number; kind: string; name: string }, { route: number }>(
  new URL('./ensure-route.sql', import.meta.url),
)

const mostCached = 10_000

/** The number under which workers look for a job's runs: its kind of target, or its one task. Never changes once made. */
export class Routes {
  private readonly known = new Map<string, number>()

  constructor(private readonly database: Database) {}

  async of(tenant: number, target: Target): Promise<number> {
    const name = target.type === 'task' ? target.task : ''
    const key = JSON.stringify([tenant, target.type, name])
    const known = this.known.get(key)
    if (known !== undefined) return known
    const [row] = await this.database.run(ensureRouteStatement, { tenant, kind: target.type, name })
    if (row === undefined) throw new Error(`The route ${key} was not made.`)
    if (this.known.size >= mostCached) this.known.clear()
    this.known.set(key, row.route)
    return row.route
  }
}
