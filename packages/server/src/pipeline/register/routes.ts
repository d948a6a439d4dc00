import type { JobDefinition } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { hostOf } from '../host.js'

const ensureRoutesStatement = statement<
  { tenant: number; kinds: string[]; names: string[]; priorities: number[] },
  { route: number; kind: string; name: string; priority: number }
>(new URL('./ensure-routes.sql', import.meta.url))

const mostCached = 100_000

type Routed = Pick<JobDefinition, 'target' | 'priority'>

/**
 * The number under which workers look for a job's runs: the host that it calls, or its one task, at its
 * priority. Never changes once made.
 */
export class Routes {
  private readonly known = new Map<string, number>()

  constructor(private readonly database: Database) {}

  /** Within a transaction only what was known before is remembered: it may still be rolled back. */
  async of(tenant: number, definition: Routed, runner: Runner = this.database): Promise<number> {
    const [route] = await this.ofMany(tenant, [definition], runner)
    if (route === undefined) throw new Error('A route was asked for and not made.')
    return route
  }

  /** Outside of all transactions, so that they are remembered. */
  async make(tenant: number, definitions: readonly Routed[]): Promise<void> {
    await this.ofMany(tenant, definitions, this.database)
  }

  /** In the order of the definitions. Asks only for those that are new here, all at once. */
  async ofMany(tenant: number, definitions: readonly Routed[], runner: Runner): Promise<number[]> {
    const keys = keysOf(tenant, definitions)
    const unknown = new Map<string, Routed>()
    keys.forEach((key, at) => {
      if (!this.known.has(key)) unknown.set(key, definitions[at] as Routed)
    })
    const made = unknown.size === 0 ? this.known : await this.ensure(tenant, [...unknown.values()], runner)
    return keys.map((key) => {
      const route = this.known.get(key) ?? made.get(key)
      if (route === undefined) throw new Error(`The route ${key} was not made.`)
      return route
    })
  }

  private async ensure(tenant: number, wanted: Routed[], runner: Runner): Promise<Map<string, number>> {
    const rows = await runner.run(ensureRoutesStatement, {
      tenant,
      kinds: wanted.map(({ target }) => target.type),
      names: wanted.map(({ target }) => nameOf(target)),
      priorities: wanted.map(({ priority }) => priority),
    })
    const made = new Map(
      rows.map(({ route, kind, name, priority }) => [textOf(tenant, kind, name, priority), route]),
    )
    if (runner !== this.database) return made
    if (this.known.size + made.size > mostCached) this.known.clear()
    for (const [key, route] of made) this.known.set(key, route)
    return made
  }
}

/** Jobs of one kind have one definition here. */
function keysOf(tenant: number, definitions: readonly Routed[]): string[] {
  const known = new Map<Routed, string>()
  return definitions.map((definition) => {
    const key = known.get(definition) ?? keyOf(tenant, definition)
    known.set(definition, key)
    return key
  })
}

function keyOf(tenant: number, { target, priority }: Routed): string {
  return textOf(tenant, target.type, nameOf(target), priority)
}

function textOf(tenant: number, kind: string, name: string, priority: number): string {
  return `${tenant} ${kind} ${priority} ${name}`
}

function nameOf(target: Routed['target']): string {
  return target.type === 'task' ? target.task : (hostOf(target) ?? '')
}
