import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { PlainHistogram } from './plain-histogram.js'

/** What a loop reports of its passes. */
export interface LoopMetrics {
  passed(loop: string, durationMs: number): void
  failed(loop: string): void
}

/** What the database room reports: once per statement, whatever that carries. */
export interface DatabaseMetrics {
  ran(stage: string, durationMs: number): void
  waited(pool: string, durationMs: number): void
  watchPool(pool: string, look: () => PoolState): void
}

export interface PoolState {
  idle: number
  busy: number
  waiting: number
}

const lagBuckets = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300]
const durationBuckets = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200]
const batchBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]

/** Prefixes of what the client library itself exposes: they depend on the platform, and are documented there. */
export const metricsOfNode = ['carillon_process_', 'carillon_nodejs_'] as const

const decisions = ['fired', 'skipped', 'deferred', 'overlap', 'taken', 'early', 'behind', 'refused'] as const
const outcomes = ['success', 'failed', 'dead', 'cancelled', 'stale'] as const
export const queueStates = ['ready', 'waiting', 'running', 'ahead', 'parked'] as const
export const nodeRoles = ['api', 'scheduler', 'worker'] as const

/**
 * Every series of this process. Labels are bounded: no run and no tenant is ever a label, and a job only where its owner asked for
 * it (job-series.ts). Each is described once, here: docs/reference/metrics.md is made from it.
 */
export class Metrics implements LoopMetrics, DatabaseMetrics {
  readonly registry = new Registry()
  private readonly readers: (() => void)[] = []
  private readonly pools = new Map<string, () => PoolState>()
  private readonly statements = new Map<string, { observe(seconds: number): void }>()

  readonly ticks = this.counter(
    'ticks_total',
    'Ticks decided by this scheduler, by decision: fired, or what became of them instead',
    ['decision'],
  )
  readonly missed = this.counter(
    'ticks_missed_total',
    'Ticks that nobody fired within the tolerance, whatever their policy then made of them',
  )
  readonly refusedByEpoch = this.counter(
    'fires_refused_by_epoch_total',
    'Partitions whose fire was refused because the database had a newer epoch',
  )
  readonly fireLateness = this.ofRuns('fire_lateness_seconds', 'How late a tick entered the queue')
  readonly stageAhead = this.gauge('stage_ahead_seconds', 'How long before their time ticks are staged now')
  readonly wheelTimers = this.gauge('wheel_timers', 'Timers in the wheel of this scheduler')
  readonly catchUpTicks = this.gauge('catch_up_ticks', 'Missed ticks that this scheduler has yet to catch up')
  readonly overloaded = this.gauge('overloaded', '1 while this scheduler does not keep up with its ticks')

  readonly partitionsOwned = this.gauge('partitions_owned', 'Partitions that this scheduler owns')
  readonly partitionsTaken = this.counter('partitions_taken_total', 'Partitions taken by this scheduler')
  readonly partitionsReleased = this.counter(
    'partitions_released_total',
    'Partitions given back by this scheduler',
  )
  readonly partitionsLost = this.counter(
    'partitions_lost_total',
    'Partitions lost by a failed or late renewal, or to a newer epoch',
  )

  readonly leased = this.counter('runs_leased_total', 'Runs leased by this worker')
  readonly inFlight = this.gauge('runs_in_flight', 'Runs that this worker holds')
  readonly startLag = this.ofRuns('start_lag_seconds', 'From the instant a run could start to its start')
  readonly runDuration = this.ofRuns(
    'run_duration_seconds',
    'From the start of an attempt to its end',
    durationBuckets,
  )
  readonly attempts = this.counter(
    'attempts_total',
    'Attempts closed, by outcome. dead: a dead letter. stale: its lease was lost before its result came',
    ['outcome'],
  )
  readonly retries = this.counter('retries_total', 'Attempts that failed and are followed by another')
  readonly rescued = this.counter('runs_rescued_total', 'Runs taken back from dead processes')
  readonly unserved = this.gauge('runs_unserved', 'Due runs whose task or command no live worker serves')
  readonly breakers = this.gauge(
    'target_breakers',
    'Hosts whose breaker is not closed, by its state, in the whole fleet',
    ['state'],
  )

  readonly remoteWorkers = this.gauge(
    'remote_workers',
    'Workers over HTTP that are alive, in the whole fleet',
  )
  readonly remotePolls = this.gauge(
    'remote_polls',
    'Lease calls of workers over HTTP that wait here for work',
  )
  readonly remoteLooks = this.counter('remote_looks_total', 'Looks into the queue on behalf of all that wait')
  readonly remoteHandedBack = this.counter(
    'remote_runs_handed_back_total',
    'Runs handed back because the worker over HTTP never got the answer that named them',
  )

  readonly queueRuns = this.gauge(
    'queue_runs',
    'Runs in the queue, in the whole fleet, by state. ready is the depth of the queue: any worker with room could take them. waiting: due, ' +
      'and they wait for a place of their job or for their host',
    ['state'],
  )
  readonly queueOldestDue = this.gauge(
    'queue_oldest_due_age_seconds',
    'How long the oldest run that could start has waited, in the whole fleet',
  )
  readonly ticksOldestDue = this.gauge(
    'ticks_oldest_due_age_seconds',
    'How long the oldest tick that is due and not fired has waited, in the whole fleet',
  )
  readonly partitionsUnowned = this.gauge(
    'partitions_unowned',
    'Partitions that no live scheduler owns, in the whole fleet',
  )
  readonly deadLetters = this.gauge('dead_letters', 'Dead letters, in the whole fleet')
  readonly nodesAlive = this.gauge(
    'nodes_alive',
    'Live processes by role, as this one sees the fleet; a scheduler that stands aside does not count',
    ['role'],
  )
  readonly sampleAge = this.gauge(
    'fleet_sample_age_seconds',
    'Age of the oldest numbers that the fleet-wide gauges are taken from; -1 before the first',
  )

  private readonly batches = this.histogram(
    'stage_batch_size',
    'How many ticks, runs or jobs one batch of a stage carried',
    batchBuckets,
    ['stage'],
  )
  private readonly stageSeconds = this.histogram(
    'statement_seconds',
    'From asking the database to its answer, by stage; the wait for a connection is part of it',
    lagBuckets,
    ['stage'],
  )
  private readonly passes = this.histogram(
    'loop_pass_seconds',
    'Duration of a loop pass that went well',
    lagBuckets,
    ['loop'],
  )
  private readonly failures = this.counter('loop_failures_total', 'Loop passes that failed', ['loop'])

  readonly heartbeatAge = this.gauge(
    'heartbeat_age_seconds',
    'How long ago the last heartbeat of this process reached the database',
  )
  readonly clockSteps = this.counter(
    'database_clock_steps_total',
    'Steps of the database clock that were noticed, back or forward',
    ['direction'],
  )
  private readonly poolConnections = this.gauge('pool_connections', 'Open connections of a pool, by state', [
    'pool',
    'state',
  ])
  private readonly poolWaiting = this.gauge('pool_waiting', 'Calls that wait for a connection of a pool', [
    'pool',
  ])
  private readonly poolWaits = this.histogram(
    'pool_wait_seconds',
    'How long calls waited for a connection of an exhausted pool; those that found one at once are not counted',
    lagBuckets,
    ['pool'],
  )

  readonly requests = this.counter(
    'http_requests_total',
    'Requests answered, by operation of the API and class of the status',
    ['operation', 'code'],
  )
  readonly requestSeconds = this.histogram('http_request_seconds', 'From a request to the end of its answer')

  readonly jobAttempts = this.counter(
    'job_attempts_total',
    'Attempts closed of one monitored job, by outcome',
    ['job_id', 'name', 'outcome'],
  )
  readonly jobLastSuccess = this.gauge(
    'job_last_success_timestamp_seconds',
    'When one monitored job last succeeded on this worker, in seconds since 1970',
    ['job_id', 'name'],
  )
  readonly jobLastDuration = this.gauge(
    'job_last_duration_seconds',
    'How long the last attempt of one monitored job took',
    ['job_id', 'name'],
  )
  readonly jobLastLag = this.gauge(
    'job_last_start_lag_seconds',
    'How late the last attempt of one monitored job started',
    ['job_id', 'name'],
  )
  readonly jobsMonitored = this.gauge('jobs_monitored', 'Jobs that have series of their own on this worker')
  readonly jobsUnmonitored = this.counter(
    'jobs_unmonitored_total',
    'Attempts of jobs that asked for series of their own when there was no room for more',
  )

  readonly build = this.gauge('build_info', '1, with the version of this process', ['version'])

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'carillon_' })
    // A series that appears with its first event has no rise to it: those that alerts are made of begin at 0.
    for (const decision of decisions) this.ticks.inc({ decision }, 0)
    for (const outcome of outcomes) this.attempts.inc({ outcome }, 0)
    for (const state of queueStates) this.queueRuns.set({ state }, 0)
    for (const state of ['open', 'half_open', 'draining']) this.breakers.set({ state }, 0)
    this.sampleAge.set(-1)
  }

  /** The text of /metrics. What is only looked at when somebody asks is read now, from memory. */
  render(): Promise<string> {
    for (const read of this.readers) read()
    for (const [pool, look] of this.pools) {
      const { idle, busy, waiting } = look()
      this.poolConnections.set({ pool, state: 'idle' }, idle)
      this.poolConnections.set({ pool, state: 'busy' }, busy)
      this.poolWaiting.set({ pool }, waiting)
    }
    return this.registry.metrics()
  }

  /** `read` sets gauges before each answer: it must be cheap, and ask nobody. */
  onRender(read: () => void): void {
    this.readers.push(read)
  }

  passed(loop: string, durationMs: number): void {
    this.passes.observe({ loop }, durationMs / 1000)
  }

  failed(loop: string): void {
    this.failures.inc({ loop })
  }

  batch(stage: string, size: number): void {
    this.batches.observe({ stage }, size)
  }

  ran(stage: string, durationMs: number): void {
    let series = this.statements.get(stage)
    if (series === undefined) this.statements.set(stage, (series = this.stageSeconds.labels({ stage })))
    series.observe(durationMs / 1000)
  }

  waited(pool: string, durationMs: number): void {
    this.poolWaits.observe({ pool }, durationMs / 1000)
  }

  watchPool(pool: string, look: () => PoolState): void {
    this.pools.set(pool, look)
  }

  /** A call of the API, by its operationId; one that is none, as a file of the dashboard, is `other`. */
  answered(operation: string | undefined, status: number, durationMs: number): void {
    this.requests.inc({ operation: operation ?? 'other', code: `${Math.floor(status / 100)}xx` })
    this.requestSeconds.observe(durationMs / 1000)
  }

  private counter<Label extends string = never>(name: string, help: string, labelNames: Label[] = []) {
    return new Counter({ name: `carillon_${name}`, help, labelNames, registers: [this.registry] })
  }

  private gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []) {
    return new Gauge({ name: `carillon_${name}`, help, labelNames, registers: [this.registry] })
  }

  /** Told of every run. */
  private ofRuns(name: string, help: string, buckets: number[] = lagBuckets) {
    return new PlainHistogram(`carillon_${name}`, help, buckets, this.registry)
  }

  private histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[] = lagBuckets,
    labelNames: Label[] = [],
  ) {
    return new Histogram({
      name: `carillon_${name}`,
      help,
      labelNames,
      buckets,
      registers: [this.registry],
    })
  }
}
