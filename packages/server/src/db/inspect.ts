import { incarnationName } from '../platform/ids.js'
import { type MigrationStatus, migrationStatus } from './migrate.js'
import type { Database } from './pool.js'
import { statement } from './statement.js'

/** What a Postgres says about itself. */
export interface ServerFacts {
  version: string
  /** As in server_version_num: 180004 is 18.4. */
  version_number: number
  fsync: string
  synchronous_commit: string
  full_page_writes: string
  /** A standby takes no writes. */
  standby: boolean
  /** The database's clock, in milliseconds. */
  now: number
}

/** Who takes part in the cluster, as the tables say. */
export interface ClusterFacts {
  processes: {
    node: string
    host: string
    pid: number
    roles: string[]
    tasks: string[]
    code_version: string
    started_at: number
    /** How long ago its last heartbeat was, by the database's clock. */
    silent_ms: number
    partitions: number
  }[]
  /** The partitions that no live process holds. */
  unowned: number[]
}

type ProcessRow = Omit<ClusterFacts['processes'][number], 'node'> & { incarnation: number }

const serverStatement = statement<Record<string, never>, ServerFacts>(
  new URL('./inspect-server.sql', import.meta.url),
)
const processesStatement = statement<Record<string, never>, ProcessRow>(
  new URL('./inspect-processes.sql', import.meta.url),
)
const unownedStatement = statement<Record<string, never>, { partition: number }>(
  new URL('./inspect-unowned.sql', import.meta.url),
)

export async function inspectServer(database: Database): Promise<ServerFacts> {
  const [facts] = await database.run(serverStatement, {})
  if (facts === undefined) throw new Error('Postgres answered the question about itself with no row.')
  return facts
}

/** Changes nothing, also where there is no schema yet. */
export async function inspectSchema(database: Database): Promise<MigrationStatus> {
  const client = database.dedicated('carillon inspect')
  // A connection that breaks fails the query under way; without a listener it would end the process as well.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await migrationStatus(client)
  } finally {
    await client.end()
  }
}

/** Needs a schema that is up to date. */
export async function inspectCluster(database: Database): Promise<ClusterFacts> {
  const processes = await database.run(processesStatement, {})
  const unowned = await database.run(unownedStatement, {})
  return {
    processes: processes.map(({ incarnation, ...row }) => ({ node: incarnationName(incarnation), ...row })),
    unowned: unowned.map((row) => row.partition),
  }
}
