import { CarillonError, type JobDefinition } from '@carillon/contract'
import { RemoteWatch } from '../cluster/postgres/remote-watch.js'
import { RemoteWorkers } from '../cluster/postgres/remote-workers.js'
import type { LeasesPort } from '../http/api.js'
import { type DueLane, LaneLook, lookAt } from '../pipeline/queue/lane-look.js'
import { Leasing } from '../pipeline/queue/leasing.js'
import { Closer } from '../pipeline/record/closer.js'
import { RemoteClosing } from '../pipeline/remote/closing.js'
import { Deadlines } from '../pipeline/remote/deadlines.js'
import { RemoteLeases, type RemotePorts } from '../pipeline/remote/leases.js'
import { Polls } from '../pipeline/remote/polls.js'
import type { AttemptResult, CloseAnswer } from '../pipeline/run.js'
import type { Service } from '../platform/service.js'
import { version } from '../version.js'
import { type Context, loop } from './context.js'

export interface RemoteRole {
  services: Service[]
  leases: LeasesPort
  runFired(startsAt?: number): void
  /** Runs came back into the queue: behind the place, perhaps, from which looks begin. */
  runsCameBack(): void
  /** Answers all calls that wait, and lets none wait any more. */
  endPolls(): void
  close(): void
}

const pollMs = 1_000

/** What workers over HTTP call: their leases, heartbeats and results. Their lives are their own, not this process's. */
export function composeRemote(context: Context): RemoteRole {
  const { config, database, databaseClock, clock, log, metrics, jobSeries, traces } = context
  const jobIds = new WeakMap<JobDefinition, string>()
  const lives = new RemoteWorkers(database, version)
  const lanes = new LaneLook(database, clock)
  // Nothing is leased before its time: there is no start line over there that would hold it back.
  const queue = new Leasing({ clock, database, databaseClock, tasks: [], aheadMs: 0 })
  const record = new Closer({ database, clock, log, metrics, batchMs: config.closeBatchMs })
  const polls: Polls<DueLane> = new Polls({
    ports: {
      look: (wanted, most) => lanes.look(wanted, most),
      lease: ({ holder, most }, due, freed) => queue.leaseFor(holder, most, lookAt(due, freed)),
    },
    clock,
    metrics,
    wake: () => polling.wake(),
  })
  const runsCameBack = () => {
    lanes.lookFully()
    polls.hint()
  }
  const ports: RemotePorts = {
    enrol: (tenant, name, tasks) => lives.enrol(tenant, name, tasks),
    sign: (tenant, worker, tasks) => lives.sign(tenant, worker, tasks),
    leave: (worker) => lives.leave(worker),
    wait: (ask, waitMs, signal) => polls.wait(ask, waitMs, signal),
    handBack: async (worker, runs) => {
      await queue.handBack(worker, runs)
      runsCameBack()
    },
    revoked: (worker) => queue.revoked(worker),
    definitions: async (wanted) => {
      const found = await queue.definitions(wanted)
      for (const definition of found.values()) {
        jobSeries.meet(definition)
        if (traces !== null) jobIds.set(definition.definition, definition.jobId)
      }
      return found
    },
    close: async (result) => {
      const answer = await watched(context, jobIds, result, record.close(result))
      lanes.freed(result.run.job)
      polls.hint()
      return answer
    },
  }
  const leases = new RemoteLeases({
    ports,
    database,
    databaseNow: () => databaseClock.atLeast(),
    log,
    metrics,
    leaseMs: config.runLeaseSeconds * 1000,
    ...(traces !== null && {
      told: (run, { jobId }, at) => traces.runs.leasedFor(run, jobId, at),
      isTraced: (traceId) => traces.tracing.wants(traceId),
    }),
  })
  const closing = new RemoteClosing({
    ports,
    toStop: (worker, held) => leases.toStop(worker, held),
    database,
    clock,
    onReleased: runsCameBack,
  })
  const polling: Service = loop(context, 'remote-polls', pollMs, () => polls.runOnce())
  return {
    services: [polling],
    leases: {
      lease: (tenant, input, signal) => (polls.hasEnded ? refused() : leases.lease(tenant, input, signal)),
      heartbeat: (tenant, input) => leases.heartbeat(tenant, input),
      close: (tenant, input) => closing.close(tenant, input),
    },
    runFired: () => polls.hint(),
    runsCameBack,
    endPolls: () => polls.end(),
    close: () => record.giveUp(),
  }
}

function refused(): Promise<never> {
  return Promise.reject(new CarillonError('draining', { retryAfterSeconds: 1 }))
}

/** Whoever asked to hear of this job, or of all runs, does. */
function watched(
  { jobSeries, traces }: Context,
  jobIds: WeakMap<JobDefinition, string>,
  result: AttemptResult,
  closing: Promise<CloseAnswer>,
): Promise<CloseAnswer> {
  const jobId = result.definition === null ? undefined : jobIds.get(result.definition)
  const told = jobSeries.asks(result) ? jobSeries.told(result, closing) : closing
  return traces === null || jobId === undefined ? told : traces.runs.remoteClosed(result, jobId, told)
}

export interface RemoteWatchRole {
  services: Service[]
  /** The process stops: what a database that is away does not take is left to the others. */
  giveUp(): void
}

const watchMs = 1_000
const deadlineMs = 1_000

/** What the fleet does about workers over HTTP: finds the silent ones dead, and ends what goes over its time. */
export function composeRemoteWatch(context: Context, onGone: () => void): RemoteWatchRole {
  const { config, database, databaseClock, clock, log, metrics } = context
  const watch = new RemoteWatch({
    database,
    clock,
    log,
    metrics,
    onGone,
    heartbeatMs: watchMs,
    leaseTtlMs: config.leaseTtlSeconds * 1000,
    runLeaseMs: config.runLeaseSeconds * 1000,
  })
  const queue = new Leasing({ clock, database, databaseClock, tasks: [], aheadMs: 0 })
  const record = new Closer({ database, clock, log, metrics, batchMs: config.closeBatchMs })
  const deadlines = new Deadlines({
    database,
    log,
    definitions: (wanted) => queue.definitions(wanted),
    close: (result) => record.close(result),
  })
  return {
    services: [
      loop(context, 'remote-watch', watchMs, () => watch.runOnce()),
      loop(context, 'remote-deadlines', deadlineMs, () => deadlines.runOnce()),
    ],
    giveUp: () => record.giveUp(),
  }
}
