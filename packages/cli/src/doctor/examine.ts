import type { LoadedConfig } from '@carillon/server/config'
import { type Check, fail, ok, reasonOf, skip } from './check.js'
import {
  judgeClock,
  judgeDurability,
  judgePartitions,
  judgeProcesses,
  judgeSchema,
  judgeVersion,
} from './database.js'
import { checkDisk, checkNode, checkTasks } from './machine.js'
import { checkPort, checkServer } from './port.js'
import { findPostgres, unreachable } from './postgres.js'

/** Looks at everything, in the order in which one thing depends on another. Changes nothing. */
export async function examine(readSettings: () => LoadedConfig): Promise<Check[]> {
  const node = checkNode(process.versions.node)
  let config: LoadedConfig
  try {
    config = readSettings()
  } catch (error) {
    const todo = 'Correct them; until then nothing else can be looked at.'
    return [node, fail('settings', reasonOf(error), todo)]
  }
  return [
    node,
    ok('settings', 'valid; carillon config shows them'),
    ...(await examinePostgres(config)),
    await guarded('port', () => checkPort(config)),
    await guarded('server', () => checkServer(config)),
    await guarded('tasks', () => checkTasks(config)),
    await guarded('disk', () => checkDisk(config)),
  ]
}

async function examinePostgres(config: LoadedConfig): Promise<Check[]> {
  const { url, checks } = await findPostgres(config)
  if (url === null) return [...checks, ...inside.map((name) => skip(name, 'needs a Postgres that runs'))]
  return [...checks, ...(await lookInside(config, url))]
}

/** What can only be seen in a database that answers. */
const inside = ['durability', 'clock', 'schema', 'processes', 'partitions'] as const

async function lookInside(config: LoadedConfig, url: string): Promise<Check[]> {
  const { createLog, inspectCluster, inspectSchema, inspectServer, openDatabase } = await import(
    '@carillon/server'
  )
  const database = openDatabase(config, url, createLog({ level: 'silent', format: 'json' }))
  try {
    const facts = await inspectServer(database)
    const ahead = await clockDifference(() => inspectServer(database))
    const first = [judgeVersion(facts), judgeDurability(facts), judgeClock(ahead)]
    const schema = await inspectSchema(database)
    const schemaCheck = judgeSchema(schema)
    if (schemaCheck.status !== 'ok') {
      const rest = inside.slice(3).map((name) => skip(name, 'needs an up-to-date schema'))
      return [...first, schemaCheck, ...rest]
    }
    const cluster = await inspectCluster(database)
    const ttlMs = config.leaseTtlSeconds * 1000
    return [...first, schemaCheck, judgeProcesses(cluster, ttlMs), judgePartitions(cluster, ttlMs)]
  } catch (error) {
    return [unreachable(config, error), ...inside.map((name) => skip(name, 'needs a Postgres that answers'))]
  } finally {
    await database.close()
  }
}

/**
 * The database's clock minus ours, in milliseconds. The answer was given somewhere between sending and receiving: the
 * fastest of a few tries says it best.
 */
async function clockDifference(ask: () => Promise<{ now: number }>): Promise<number> {
  let best = { took: Number.POSITIVE_INFINITY, ahead: 0 }
  for (let tries = 0; tries < 3; tries++) {
    const before = Date.now()
    const { now } = await ask()
    const after = Date.now()
    if (after - before < best.took) best = { took: after - before, ahead: now - (before + after) / 2 }
  }
  return best.ahead
}

async function guarded(name: string, check: () => Promise<Check>): Promise<Check> {
  try {
    return await check()
  } catch (error) {
    return fail(
      name,
      `could not be looked at: ${reasonOf(error)}`,
      'Make sure that this user may look there.',
    )
  }
}
