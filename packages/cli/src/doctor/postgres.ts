import type { EmbeddedState } from '@carillon/server'
import type { LoadedConfig } from '@carillon/server/config'
import { type Check, fail, ok, reasonOf, skip, warn } from './check.js'

/** The Postgres to look into, if there is one that answers; and what was found on the way to it. */
export interface Found {
  readonly url: string | null
  readonly checks: readonly Check[]
}

/** Finds the Postgres of the settings. Starts none and makes none. */
export async function findPostgres(config: LoadedConfig): Promise<Found> {
  if (config.databaseUrl !== undefined) {
    return { url: config.databaseUrl, checks: [skip('binaries', 'not needed: DATABASE_URL is set')] }
  }
  const { findBinaryPackage, findRunningPostgres } = await import('@carillon/server')
  const binaries = await findBinaryPackage().catch((error: unknown) => reasonOf(error))
  const state = await findRunningPostgres(config.dataDir).catch((error: unknown) => reasonOf(error))
  const binariesCheck =
    typeof binaries === 'string'
      ? fail('binaries', binaries, 'Install with optional dependencies, or set DATABASE_URL.')
      : ok('binaries', `PostgreSQL ${binaries.version} of ${binaries.name}`)
  if (typeof state === 'object' && state.kind === 'running')
    return { url: state.url, checks: [binariesCheck] }
  const major = typeof binaries === 'string' ? null : binaries.major
  return { url: null, checks: [binariesCheck, judgeEmbedded(state, config.dataDir, major)] }
}

type Idle = Exclude<EmbeddedState, { kind: 'running' }>

export function judgeEmbedded(state: Idle | string, dataDir: string, major: string | null): Check {
  if (typeof state === 'string') {
    return fail(
      'postgres',
      `the data folder ${dataDir} cannot be looked into: ${state}`,
      'Run this as the user that runs Carillon, or name another --data-dir.',
    )
  }
  switch (state.kind) {
    case 'none':
      return skip(
        'postgres',
        `not running: ${dataDir} holds no Postgres yet`,
        'carillon up makes and starts one.',
      )
    case 'not ready':
      return warn(
        'postgres',
        `not ready: the embedded Postgres in ${dataDir} is starting, recovering or stopping (pid ${state.pids.join(', ')})`,
        'Wait a little and look again; its log is in postgres/log below that folder.',
      )
    case 'stopped':
      if (major !== null && state.madeBy !== major) {
        return fail(
          'postgres',
          `the data in ${dataDir} was made by PostgreSQL ${state.madeBy}, and this Carillon brings ${major}`,
          `Dump it with a PostgreSQL ${state.madeBy} (pg_dump) and load it here, or name another --data-dir.`,
        )
      }
      return skip(
        'postgres',
        `not running: the embedded Postgres in ${dataDir} is stopped`,
        'carillon up starts it.',
      )
  }
}

export function unreachable(config: LoadedConfig, error: unknown): Check {
  const where =
    config.databaseUrl === undefined ? `The embedded Postgres in ${config.dataDir}` : 'DATABASE_URL'
  return fail(
    'postgres',
    `${where} does not answer: ${reasonOf(error)}`,
    'Check that Postgres runs there and that host, port, user, password and database are right.',
  )
}
