import type { TaskDefinition, TaskLog } from '@carillon/sdk'
import { afterEach } from 'vitest'
import { Database } from '../../src/db/pool.js'
import { GuestPool } from '../../src/db/guest-pool.js'
import { Effects } from '../../src/pipeline/effects/effects.js'
import { deliver, type Targets } from '../../src/pipeline/execute/deliver.js'
import { Closer, closeWithin } from '../../src/pipeline/record/closer.js'
import { systemClock } from '../../src/platform/clock.js'
import { createTaskTarget } from '../../src/targets/task.js'
import { createTaskRegistry } from '../../src/targets/task-registry.js'
import { keepResult } from '../../src/targets/task-result.js'
import { silentLog } from './test-database.js'
import type { NodeOptions, TestNode } from './test-house.js'
import type { House } from './use-house.js'

export interface TaskNodeOptions extends NodeOptions {
  places?: number
  /** Where the handlers' connections go; the database itself, unless told otherwise. */
  url?: string
  /** Where goes what is remembered. */
  effectsUrl?: string
  statementTimeoutMs?: number
  pauseMs?: number
}

export interface TaskNode {
  node: TestNode
  guests: GuestPool
  logged: string[]
  /** Leases what is due and waits until all of it has ended. */
  runAll: () => Promise<void>
}

/** Nodes whose worker runs a handler as in production: task target, effects, closers. Call it once, after useHouse. */
export function useTasks(house: () => House) {
  const open: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()))
  })
  return async (run: TaskDefinition['run'], options: TaskNodeOptions = {}): Promise<TaskNode> => {
    const logged: string[] = []
    const record = (message: string) => void logged.push(message)
    const log: TaskLog = { info: record, warn: record, error: record }
    const task = createTaskTarget(createTaskRegistry([{ id: 'task', run }]), { logFor: () => log })
    const targets = { task } as unknown as Targets
    const node: TestNode = await house().node({
      ...options,
      deliver: (leased, definition, signal, begun) =>
        deliver(targets, leased, definition, signal, begun, (attempt) => effects.of(attempt)),
    })
    const url = options.url ?? node.database.options.url
    const guests = new GuestPool({
      url,
      poolSize: options.places ?? 3,
      pauseMs: options.pauseMs ?? 30_000,
      statementTimeoutMs: options.statementTimeoutMs ?? 20_000,
      applicationName: 'carillon tasks',
      log: silentLog,
    })
    const { database, databaseClock, metrics } = node
    const doubtful = new Closer({ database, clock: systemClock, log: silentLog, metrics, batchMs: 0 })
    const effects = new Effects({
      database: new Database({
        ...database.options,
        url: options.effectsUrl ?? database.options.url,
        applicationName: 'carillon effects',
        poolSize: 2,
      }),
      guests,
      clock: systemClock,
      databaseClock,
      keepResult,
      ports: { closeWithin, close: (result) => doubtful.close(result), closed: () => undefined },
    })
    open.push(effects)
    const runAll = async () => {
      await node.worker.leaseOnce()
      await house().finished(node)
    }
    return { node, guests, logged, runAll }
  }
}
