import { loopbackOnly, readEnvironment } from '../config.js'
import { deliver, type Targets } from '../pipeline/execute/deliver.js'
import { Worker } from '../pipeline/execute/worker.js'
import { outcomeOf } from '../pipeline/protect/outcome.js'
import { HostReports } from '../pipeline/protect/reports.js'
import { Leasing } from '../pipeline/queue/leasing.js'
import { Closer } from '../pipeline/record/closer.js'
import { refreshMs, SecretCache } from '../pipeline/sign/secret-cache.js'
import { Secrets } from '../pipeline/sign/secrets.js'
import type { Service } from '../platform/service.js'
import { type AddressGuardOptions, createAddressGuard } from '../targets/address-guard.js'
import { createCommandTarget } from '../targets/command.js'
import { createHttpTarget } from '../targets/http.js'
import type { Attempt } from '../targets/target.js'
import { createTaskTarget } from '../targets/task.js'
import type { TaskRegistry } from '../targets/task-registry.js'
import { type Context, loop } from './context.js'

export interface WorkerRole {
  services: Service[]
  worker: Worker
  runFired(): void
  /** Runs came back into the queue: behind the place, perhaps, from which leasing looks. */
  runsCameBack(): void
  lost(): void
  /** Leases nothing more, gives back what has not started, finishes the rest within the time. */
  drain(withinMs: number): Promise<void>
  close(): Promise<void>
}

const commandGraceMs = 5_000

/** What a command gets between SIGTERM and SIGKILL. It is part of the drain time, which is what a deploy waits for. */
function graceOf(config: Context['config']): number {
  return Math.min(commandGraceMs, config.drainSeconds * 500)
}

const reconcileMs = 10_000
const reportMs = 300

/** Leases runs, starts each at its instant, delivers it and records what came of it. */
export function composeWorker(context: Context, tasks: TaskRegistry): WorkerRole {
  const { config, database, databaseClock, membership, clock, log, metrics } = context
  const stored = new Secrets(database)
  const secrets = new SecretCache({
    clock,
    now: () => databaseClock.atLeast(),
    keysOf: (tenants) => stored.keysOf(tenants),
  })
  const targets = composeTargets(context, tasks, (tenant) => secrets.secretsOf(tenant))
  const queue = new Leasing({
    clock,
    database,
    databaseClock,
    tasks: tasks.names(),
    commands: config.allowCommands,
    aheadMs: config.leaseAheadMs,
  })
  const record = new Closer({ database, clock, log, metrics, batchMs: config.closeBatchMs })
  const hosts = new HostReports({ database, clock, log })
  const worker: Worker = new Worker({
    ports: {
      lease: (holder, most) => queue.lease(holder, most),
      held: (holder) => queue.held(holder),
      revoked: (holder) => queue.revoked(holder),
      handBack: (holder, runs) => queue.handBack(holder, runs),
      stillHeld: (holder, runs) => queue.stillHeld(holder, runs),
      definitions: (wanted) => queue.definitions(wanted),
      deliver: async (run, definition, signal) => {
        const delivered = await deliver(targets, run, definition, signal)
        const said = outcomeOf(run, definition, delivered)
        if (said !== null) hosts.note(said)
        if (said?.probe === true) reporting.wake()
        return delivered
      },
      close: async (result) => {
        const answer = await record.close(result)
        queue.freed(result.run.job)
        return answer
      },
      drained: () => record.drained(),
    },
    clock,
    databaseClock,
    log,
    metrics,
    concurrency: config.workerConcurrency,
    stopAheadMs: ({ definition }) => (definition.target.type === 'command' ? graceOf(config) : 0),
    self: () => membership.incarnation,
    wake: () => leasing.wake(),
  })
  const leasing: Service = loop(context, 'lease', config.leasePollMs, () => worker.leaseOnce())
  const reconciling = loop(context, 'reconcile', reconcileMs, () => worker.reconcileOnce())
  const reporting = loop(context, 'host-reports', reportMs, () => hosts.runOnce())
  const refreshing = loop(context, 'signing-secrets', refreshMs, () => secrets.refreshOnce())
  const looking = loop(context, 'revocations', config.heartbeatMs, () => worker.lookOnce())

  return {
    services: [leasing, looking, reconciling, refreshing, reporting],
    worker,
    runFired: () => leasing.wake(),
    runsCameBack() {
      queue.lookFully()
      leasing.wake()
    },
    lost: () => worker.abandon(),
    async drain(withinMs) {
      await leasing.stop()
      // A database that is away takes nothing back: the others rescue it. The runs under way get their time all the same.
      await worker.handBack().catch((error: unknown) => log.warn({ err: error }, 'runs were not handed back'))
      const { aborted } = await worker.drain(withinMs)
      if (aborted > 0)
        log.warn({ runs: aborted }, 'the drain time is over: runs were stopped and handed back')
      record.giveUp()
    },
    close: async () =>
      void (await Promise.all([targets.http.close(), targets.task.close(), targets.command.close()])),
  }
}

/**
 * Loopback is open to targets only while the API itself listens on loopback: then nobody from outside can use it. A
 * process without the API does not know where the others listen: there CARILLON_ALLOWED_NETWORKS opens it.
 */
export function reachOf(config: Context['config']): AddressGuardOptions {
  const allowLoopback = config.roles.includes('api') && loopbackOnly(config)
  return { allowedNetworks: config.allowedNetworks, allowLoopback }
}

export function addressGuardOf(config: Context['config']) {
  return createAddressGuard(reachOf(config))
}

function composeTargets(
  { config, databaseClock, log }: Context,
  tasks: TaskRegistry,
  secretsOf: (tenant: number) => Promise<readonly Uint8Array[]>,
): Targets {
  const logFor = (attempt: Attempt) => {
    const line = log.child({ job: attempt.jobId, run: attempt.runId, attempt: attempt.attempt })
    return {
      info: (message: string, fields?: object) => line.info(fields ?? {}, message),
      warn: (message: string, fields?: object) => line.warn(fields ?? {}, message),
      error: (message: string, fields?: object) => line.error(fields ?? {}, message),
    }
  }
  return {
    http: createHttpTarget({
      guard: addressGuardOf(config),
      now: () => databaseClock.atLeast(),
      connectionsPerOrigin: config.workerConcurrency,
      secretsOf,
    }),
    task: createTaskTarget(tasks, { logFor }),
    command: createCommandTarget({
      allowed: config.allowCommands,
      inherited: readEnvironment(),
      graceMs: graceOf(config),
    }),
  }
}
