import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.js'
import { newIncarnation as randomIncarnation } from '../../platform/ids.js'
import type { Coordination, Introduction, Lease } from '../coordination.js'
import { PostgresLife } from './life.js'
import type { PeerTimes } from './peers.js'

const joinStatement = statement<
  {
    incarnation: number
    host: string
    pid: number
    roles: string[]
    tasks: string[]
    commands: boolean
    code_version: string
  },
  { now: number }
>(new URL('./join.sql', import.meta.url))
const takeStatement = statement<{ incarnation: number; wanted: number[]; ttl_ms: number }, Lease>(
  new URL('./take-partitions.sql', import.meta.url),
)
const renewStatement = statement<
  { incarnation: number; partitions: number[]; epochs: number[]; ttl_ms: number },
  Lease
>(new URL('./renew-partitions.sql', import.meta.url))
const releaseStatement = statement<
  { incarnation: number; partitions: number[]; epochs: number[] },
  { partition: number }
>(new URL('./release-partitions.sql', import.meta.url))

export interface PostgresCoordinationOptions extends PeerTimes {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  log: Logger
  /** An id that was never used before. */
  newIncarnation?: () => number
}

/** Election and fence in one place: the leases are the rows that every fire locks. */
export class PostgresCoordination implements Coordination {
  constructor(private readonly options: PostgresCoordinationOptions) {}

  async join({
    host,
    pid,
    roles,
    tasks,
    commands = false,
    codeVersion,
  }: Introduction): Promise<PostgresLife> {
    const { database, databaseClock, newIncarnation = randomIncarnation } = this.options
    const incarnation = newIncarnation()
    const sample = databaseClock.begin()
    const [row] = await database.run(joinStatement, {
      incarnation,
      host,
      pid,
      roles: [...roles],
      tasks: [...tasks],
      commands,
      code_version: codeVersion,
    })
    if (row !== undefined) sample(row.now)
    const life = new PostgresLife(incarnation, this.options)
    await life.begin()
    return life
  }

  take(incarnation: number, wanted: readonly number[], ttlMs: number): Promise<Lease[]> {
    return this.options.database.run(takeStatement, { incarnation, wanted: [...wanted], ttl_ms: ttlMs })
  }

  renew(incarnation: number, held: readonly Lease[], ttlMs: number): Promise<Lease[]> {
    return this.options.database.run(renewStatement, { incarnation, ...columnsOf(held), ttl_ms: ttlMs })
  }

  async release(incarnation: number, held: readonly Lease[]): Promise<void> {
    await this.options.database.run(releaseStatement, { incarnation, ...columnsOf(held) })
  }
}

function columnsOf(held: readonly Lease[]): { partitions: number[]; epochs: number[] } {
  return {
    partitions: held.map(({ partition }) => partition),
    epochs: held.map(({ epoch }) => epoch),
  }
}
