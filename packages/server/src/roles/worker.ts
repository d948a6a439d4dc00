import { loopbackOnly, readEnvironment } from '../config.js'
import { GuestPool } from '../db/guest-pool.js'
import { Effects } from '../pipeline/effects/effects.js'
import type { RunAttempt } from '../pipeline/execute/attempt.js'
import { deliver, type Targets } from '../pipeline/execute/deliver.js'
import type { HandOver } from '../pipeline/fire/hand-over.js'
import { type Closed, type Delivered, isClosed } from '../pipeline/execute/delivered.js'
import { isWorthWaking } from '../pipeline/execute/telling.js'
import { Worker, type WorkerPorts } from '../pipeline/execute/worker.js'
import { outcomeOf } from '../pipeline/protect/outcome.js'
import { HostReports } from '../pipeline/protect/reports.js'
import { Leasing } from '../pipeline/queue/leasing.js'
import { Closer, closeWithin } from '../pipeline/record/closer.js'
import type { LeasedRun, RunDefinition } from '../pipeline/run.js'
import { refreshMs, SecretCache } from '../pipeline/sign/secret-cache.js'
import { Secrets } from '../pipeline/sign/secrets.js'
import { runIdOf } from '../platform/ids.js'
import type { Service } from '../platform/service.js'
import { type AddressGuardOptions, createAddressGuard } from '../targets/address-guard.js'
import { createCommandTarget } from '../targets/command.js'
import { createHttpTarget } from '../targets/http.js'
import type { Attempt } from '../targets/target.js'
import { createTaskTarget } from '../targets/task.js'
import type { TaskRegistry } from '../targets/task-registry.js'
import { keepResult } from '../targets/task-result.js'
import { type Context, loop, type Traces } from './context.js'

export interface WorkerRole {
  services: Service[]
  worker: Worker
  /** For the scheduler of the same process. */
  handOver: HandOver
  runFired(startsAt?: number): void
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
  const { config, database, databaseClock, membership, clock, log, metrics, jobSeries } = context
  const secrets = composeSecrets(context)
  const targets = composeTargets(context, tasks, (tenant) => secrets.secretsOf(tenant))
  const queue = new Leasing({
    clock,
    database,
    databaseClock,
    tasks: tasks.names(),
    commands: config.allowCommands,
    aheadMs: config.leaseAheadMs,
  })
  const freed = (run: LeasedRun) => queue.freed(run.job)
  const record = new Closer({ database, clock, log, metrics, batchMs: config.closeBatchMs, written: freed })
  const doubtful = new Closer({ database, clock, log, metrics, batchMs: 0 })
  const effects = composeEffects(context, doubtful, freed)
  const effectsOf = (attempt: RunAttempt) => effects.of(attempt)
  const hosts = new HostReports({ database, clock, log })
  const { traces } = context
  const tells = log.isLevelEnabled('debug')
  const worker: Worker = new Worker({
    ports: withSpans(traces, {
      lease: (holder, most) => queue.lease(holder, most),
      held: (holder) => queue.held(holder),
      revoked: (holder) => queue.revoked(holder),
      handBack: (holder, runs) => queue.handBack(holder, runs),
      stillHeld: (holder, runs) => queue.stillHeld(holder, runs),
      definitions: (wanted) => queue.definitions(wanted),
      deliver(run, definition, stop, begun) {
        const { type } = definition.definition.target
        jobSeries.meet(definition)
        const delivering = deliver(targets, run, definition, stop, begun, type === 'task' ? effectsOf : null)
        const told = tells ? delivering.then((it) => tellFailure(log, run, definition, it)) : delivering
        if (type !== 'http') return told
        return told.then((it) => noted(hosts, run, definition, it, () => reporting.wake()))
      },
      close: (result) => {
        const closing = record.close(result)
        return jobSeries.asks(result) ? jobSeries.told(result, closing) : closing
      },
      behind: () => record.behind(),
      drained: async () => void (await Promise.all([record.drained(), doubtful.drained()])),
    }),
    clock,
    databaseClock,
    log,
    metrics,
    concurrency: config.workerConcurrency,
    stopAheadMs: ({ definition }) => (definition.target.type === 'command' ? graceOf(config) : 0),
    self: () => membership.incarnation,
    wake: () => leasing.wake(),
  })
  metrics.onRender(() => metrics.inFlight.set(worker.inFlight))
  const leasing: Service = leaseLoop(context, worker)
  const reconciling = loop(context, 'reconcile', reconcileMs, () => worker.strays.lookOnce())
  const reporting = loop(context, 'host-reports', reportMs, () => hosts.runOnce())
  const refreshing = loop(context, 'signing-secrets', refreshMs, () => secrets.refreshOnce())
  const looking = loop(context, 'revocations', config.heartbeatMs, () => worker.lookOnce())

  return {
    services: [leasing, looking, reconciling, refreshing, reporting],
    worker,
    handOver: handOverTo(context, worker, tasks.names()),
    runFired: tellOf(context, worker, leasing),
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
      doubtful.giveUp()
    },
    close: () => closeAll([...Object.values(targets), effects]),
  }
}

/** After an outage it looks before the next ticks start, though nobody wakes it for them. */
function leaseLoop(context: Context, worker: Worker): Service {
  const { leasePollMs, leaseAheadMs: longestBackoffMs } = context.config
  return loop(context, 'lease', leasePollMs, () => worker.leaseOnce(), { longestBackoffMs })
}

function tellOf(
  { config, databaseClock }: Context,
  { room }: Worker,
  leasing: Service,
): WorkerRole['runFired'] {
  const times = { aheadMs: config.leaseAheadMs, pollMs: config.leasePollMs }
  return (startsAt = 0) => {
    if (isWorthWaking(startsAt, databaseClock.atLeast(), times, room)) leasing.wake()
  }
}

/** Attempts that fail are on record: in the log they are for those who look closely. */
function tellFailure(
  log: Context['log'],
  run: LeasedRun,
  { jobId }: RunDefinition,
  delivered: Delivered | Closed,
): Delivered | Closed {
  if (!isClosed(delivered) && delivered.outcome === 'failed') {
    const { reason, error } = delivered
    log.debug({ job: jobId, run: runIdOf(run), attempt: run.attempt, reason, error }, 'an attempt failed')
  }
  return delivered
}

/** Where nobody traces, the ports as they are. */
function withSpans(traces: Traces | null, ports: WorkerPorts): WorkerPorts {
  return traces === null ? ports : traces.runs.around(ports)
}

/** Notes what a call says of its host, and tells at once what decides about an open breaker. */
function noted(
  hosts: HostReports,
  run: LeasedRun,
  definition: RunDefinition,
  delivered: Delivered | Closed,
  tell: () => void,
): Delivered | Closed {
  const said = isClosed(delivered) ? null : outcomeOf(run, definition, delivered)
  if (said !== null) hosts.note(said)
  if (said?.probe === true) tell()
  return delivered
}

function handOverTo({ config, traces }: Context, worker: Worker, tasks: readonly string[]): HandOver {
  const serves = { tasks, commands: config.allowCommands }
  const handOver: HandOver = {
    ready: (runs, until) => worker.room.ready(runs, until),
    mostAtOnce: worker.room.mostAtOnce,
    aheadMs: config.leaseAheadMs,
    offer(runs) {
      const offer = worker.offer(runs)
      return offer && { ...offer, ...serves }
    },
  }
  return traces === null ? handOver : traces.runs.aroundHandOver(handOver)
}

async function closeAll(open: readonly { close(): Promise<unknown> }[]): Promise<void> {
  await Promise.all(open.map((one) => one.close()))
}

function composeSecrets({ database, databaseClock, clock }: Context): SecretCache {
  const stored = new Secrets(database)
  return new SecretCache({
    clock,
    now: () => databaseClock.atLeast(),
    keysOf: (tenants) => stored.keysOf(tenants),
  })
}

/** A few connections suffice for what is remembered: each record is one short statement. */
const effectConnections = 2

/**
 * Transactions of handlers, and what they remember, on connections of their own. `doubtful` is a closer for them alone: a
 * close after a lost commit waits for that commit to end, and the results of other runs shall not wait with it.
 */
function composeEffects(
  { config, database, databaseClock, clock, metrics }: Context,
  doubtful: Closer,
  freed: (run: LeasedRun) => void,
): Effects {
  return new Effects({
    database: database.sibling('carillon effects', effectConnections),
    guests: new GuestPool({
      ...database.options,
      applicationName: 'carillon tasks',
      poolSize: config.taskPoolSize,
      // By then the run of a frozen process is another's, who shall not wait for the rows of the first.
      pauseMs: config.runLeaseSeconds * 1000,
    }),
    clock,
    databaseClock,
    keepResult,
    ports: {
      closeWithin,
      close: (result) => doubtful.close(result),
      closed(run) {
        metrics.attempts.inc({ outcome: 'success' })
        freed(run)
      },
    },
  })
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
  { config, databaseClock, log, traces }: Context,
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
  const isTraced = traces === null ? {} : { isTraced: (trace: string) => traces.tracing.wants(trace) }
  return {
    http: createHttpTarget({
      ...isTraced,
      guard: addressGuardOf(config),
      now: () => databaseClock.atLeast(),
      connectionsPerOrigin: config.workerConcurrency,
      secretsOf,
    }),
    task: createTaskTarget(tasks, { ...isTraced, logFor }),
    command: createCommandTarget({
      ...isTraced,
      allowed: config.allowCommands,
      inherited: readEnvironment(),
      graceMs: graceOf(config),
    }),
  }
}
