import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from './failure.js'
import { layoutBelow } from './layout.js'
import { connectionUrl } from './member.js'
import { inspectPostmaster } from './postmaster.js'

/**
 * What lies in a data dir, for those who only want to look.
 * - none: no Postgres was ever made there.
 * - stopped: there is data, and nothing serves it.
 * - not ready: its Postgres is starting, recovering or shutting down, or children of a killed one still leave.
 * - running: it can be connected to.
 */
export type EmbeddedState =
  | { readonly kind: 'none' }
  | { readonly kind: 'stopped'; readonly madeBy: string }
  | { readonly kind: 'not ready'; readonly pids: readonly number[] }
  | { readonly kind: 'running'; readonly url: string; readonly pid: number; readonly port: number }

/** Reads and changes nothing: makes no folder, takes no lock, starts no Postgres. */
export async function findRunningPostgres(dataDir: string): Promise<EmbeddedState> {
  const folder = resolve(dataDir)
  const layout = layoutBelow(folder, join(folder, 'postgres'))
  const state = await inspectPostmaster(layout)
  if (state.kind === 'orphaned') return { kind: 'not ready', pids: state.pids }
  if (state.kind === 'running') {
    if (!state.ready) return { kind: 'not ready', pids: [state.pid] }
    const { pid, port } = state
    return { kind: 'running', url: await connectionUrl(layout, port), pid, port }
  }
  const madeBy = await readFile(join(layout.pgdata, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  return madeBy === null ? { kind: 'none' } : { kind: 'stopped', madeBy: madeBy.trim() }
}
