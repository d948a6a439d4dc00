import { hostname } from 'node:os'
import { codeOf } from '../db/errors.js'
import type { Database } from '../db/pool.js'
import { viewCluster } from '../pipeline/account/cluster-view.js'

/** Whose port it is, where that can be known: most often the same server was started twice. */
export async function explainTakenPort(error: unknown, database: Database): Promise<unknown> {
  if (!(error instanceof Error) || codeOf(error.cause) !== 'EADDRINUSE') return error
  const nodes = await viewCluster(database, null).then(
    (view) => view.nodes,
    () => [],
  )
  const pids = nodes
    .filter(({ host, state, roles }) => state === 'alive' && host === hostname() && roles.includes('api'))
    .map(({ pid }) => pid)
  if (pids.length === 0) return error
  const who = `a Carillon with this very database runs on this machine already (pid ${pids.join(', ')})`
  return new Error(`${error.message}; ${who}`, { cause: error.cause })
}
