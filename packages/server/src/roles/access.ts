import type { AccessPort } from '../http/api.js'
import { defaultTenant } from '../http/tenant.js'
import { type Config, loopbackOnly } from '../config.js'
import type { Database } from '../db/pool.js'
import { KeyRing, watchEveryMs } from '../pipeline/access/key-ring.js'
import { Keys } from '../pipeline/access/keys.js'
import type { Service } from '../platform/service.js'
import { type Context, loop } from './context.js'

export interface AccessRole {
  port: AccessPort
  watching: Service
}

/** Whether a call without a key is refused: always where others than this machine can call. */
export function keysRequired(config: Pick<Config, 'host' | 'requireKeys'>): boolean {
  return config.requireKeys || !loopbackOnly(config)
}

/** In words, for the line at the start. */
export function describeAccess(config: Pick<Config, 'host' | 'requireKeys'>): string {
  if (!keysRequired(config))
    return 'no key needed: only this machine can call, everybody is admin of the tenant default'
  const why = loopbackOnly(config) ? 'CARILLON_REQUIRE_KEYS is set' : `it listens on ${config.host}`
  return `every call needs a key, because ${why}`
}

export function composeAccess(context: Context): AccessRole {
  const { config, database, clock } = context
  const ring = new KeyRing({ database, clock })
  return {
    port: {
      required: keysRequired(config),
      identify: (key) => ring.identify(key),
      watch: (key) => ring.watch(key),
    },
    watching: loop(context, 'key-watch', watchEveryMs, () => ring.runOnce()),
  }
}

/** A server that needs keys and has none could be used by nobody: it does not start, and says how to make one. */
export async function requireAdminKey(
  config: Pick<Config, 'host' | 'requireKeys'>,
  database: Database,
): Promise<void> {
  if (!keysRequired(config) || (await new Keys(database).hasAdmin(defaultTenant))) return
  const why = loopbackOnly(config) ? 'CARILLON_REQUIRE_KEYS is set' : `${config.host} is not loopback`
  throw new Error(
    `Every call needs a key here, because ${why}, and the tenant "default" has no admin key yet. Make one with ` +
      '`carillon keys first NAME`, on this database (DATABASE_URL or CARILLON_DATA_DIR), and ' +
      'start again.',
  )
}
