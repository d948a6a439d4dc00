import type { ClusterView } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { incarnationName } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import { showBrake } from './brake.js'
import { listEvents } from './events.js'
import { iso, isoOrNull } from './words.js'

interface NodeRow {
  incarnation: number
  host: string
  pid: number
  roles: string[]
  tasks: string[]
  state: 'alive' | 'left' | 'dead'
  code_version: string
  started_at: number
  ended_at: number | null
  report: Record<string, unknown>
  beat_age_ms: number
  partitions: number
}

interface PartitionRow {
  partition: number
  epoch: number
  owner: number | null
  expires_in_ms: number | null
  oldest_due: number | null
}

interface LoadRow {
  now: number
  total: number
  running: number
  ready: number
  waiting: number
  ahead: number
  parked: number
  oldest_ready: number | null
  replays_running: number
  replays_paused: number
  ticks_left: number
}

const nodesStatement = statement<{ ended_within_ms: number }, NodeRow>(
  new URL('./cluster-nodes.sql', import.meta.url),
)
interface WorkerRow {
  incarnation: number
  name: string
  tasks: string[]
  started_at: number
  beat_age_ms: number
  runs: number
  alive: number
}

const workersStatement = statement<{ tenant: number | null; most: number }, WorkerRow>(
  new URL('./cluster-workers.sql', import.meta.url),
)
const partitionsStatement = statement<Record<string, never>, PartitionRow>(
  new URL('./cluster-partitions.sql', import.meta.url),
)
const loadStatement = statement<{ parked_until: number }, LoadRow>(
  new URL('./cluster-load.sql', import.meta.url),
)

const endedWithinMs = 600_000
const mostEvents = 100
const mostWorkers = 100

/** The fleet at one moment, as the tables say. */
export function viewCluster(database: Database, tenant: number | null): Promise<ClusterView> {
  return database.snapshot(async (runner) => {
    const nodes = await runner.run(nodesStatement, { ended_within_ms: endedWithinMs })
    const workers = await runner.run(workersStatement, { tenant, most: mostWorkers })
    const partitions = await runner.run(partitionsStatement, {})
    const [load] = await runner.run(loadStatement, { parked_until: parkedUntil })
    if (load === undefined) throw new Error('Postgres answered the question about the queue with no row.')
    const overdue = partitions.flatMap(({ oldest_due: due }) => (due === null ? [] : [load.now - due]))
    return {
      now: iso(load.now),
      nodes: nodes.map(({ incarnation, started_at, ended_at, ...node }) => ({
        node: incarnationName(incarnation),
        ...node,
        started_at: iso(started_at),
        ended_at: isoOrNull(ended_at),
      })),
      workers: {
        alive: workers[0]?.alive ?? 0,
        data: workers.map(({ incarnation, started_at, alive: _all, ...worker }) => ({
          worker_id: incarnationName(incarnation),
          ...worker,
          started_at: iso(started_at),
        })),
      },
      partitions: partitions.map(({ partition, epoch, owner, expires_in_ms }) => ({
        partition,
        owner: owner === null ? null : incarnationName(owner),
        epoch,
        expires_in_ms,
      })),
      unowned: partitions.filter(({ owner }) => owner === null).length,
      lag_ms: Math.max(0, ...overdue),
      timers_due: overdue.length,
      queue: {
        total: load.total,
        running: load.running,
        ready: load.ready,
        waiting: load.waiting,
        ahead: load.ahead,
        parked: load.parked,
        oldest_ready_ms: load.oldest_ready === null ? 0 : load.now - load.oldest_ready,
      },
      replays: { running: load.replays_running, paused: load.replays_paused, ticks_left: load.ticks_left },
      brake: await showBrake(runner),
      events: await listEvents(runner, { tenant, openOnly: true, limit: mostEvents }),
    }
  })
}
