import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What a loop reports of its passes. */
export interface LoopMetrics {
  passed(loop: string, durationMs: number): void
  failed(loop: string): void
}

const lagBuckets = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300]

/** Every series of this process. Labels are bounded: no job, run or tenant is ever a label. */
export class Metrics implements LoopMetrics {
  readonly registry = new Registry()
  private readonly passes = this.histogram('loop_pass_seconds', 'Duration of a loop pass that went well', [
    'loop',
  ])
  private readonly failures = this.counter('loop_failures_total', 'Loop passes that failed', ['loop'])
  readonly ticks = this.counter('ticks_total', 'Ticks decided by this scheduler', ['decision'])
  readonly refusedByEpoch = this.counter(
    'fires_refused_by_epoch_total',
    'Ticks whose fire was refused because the partition had a newer epoch',
  )
  readonly fireLateness = this.histogram('fire_lateness_seconds', 'How late a tick entered the queue', [])
  readonly startLag = this.histogram(
    'start_lag_seconds',
    'From the instant a run could start to its start',
    [],
  )
  readonly attempts = this.counter('attempts_total', 'Attempts closed, by outcome', ['outcome'])
  readonly leased = this.counter('runs_leased_total', 'Runs leased by this worker')
  readonly rescued = this.counter('runs_rescued_total', 'Runs taken back from dead processes')
  readonly clockSteps = this.counter(
    'database_clock_steps_total',
    'Steps of the database clock that were noticed, back or forward',
    ['direction'],
  )
  readonly partitionsOwned = this.gauge('partitions_owned', 'Partitions that this scheduler owns')
  readonly partitionsLost = this.counter(
    'partitions_lost_total',
    'Partitions lost by a failed or late renewal',
  )
  readonly stageAhead = this.gauge('stage_ahead_seconds', 'How long before their time ticks are staged now')
  readonly wheelTimers = this.gauge('wheel_timers', 'Timers in the wheel of this scheduler')
  readonly catchUpTicks = this.gauge('catch_up_ticks', 'Missed ticks that this scheduler has yet to catch up')
  readonly overloaded = this.gauge('overloaded', '1 while this scheduler does not keep up with its ticks')
  readonly inFlight = this.gauge('runs_in_flight', 'Runs that this worker holds')
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
  readonly breakers = new Gauge({
    name: 'carillon_target_breakers',
    help: 'Hosts whose breaker is not closed, by its state, in the whole fleet',
    labelNames: ['state'],
    registers: [this.registry],
  })
  readonly unserved = this.gauge('runs_unserved', 'Due runs whose task or command no live worker serves')

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'carillon_' })
  }

  passed(loop: string, durationMs: number): void {
    this.passes.observe({ loop }, durationMs / 1000)
  }

  failed(loop: string): void {
    this.failures.inc({ loop })
  }

  private counter<Label extends string = never>(name: string, help: string, labelNames: Label[] = []) {
    return new Counter({ name: `carillon_${name}`, help, labelNames, registers: [this.registry] })
  }

  private gauge(name: string, help: string) {
    return new Gauge({ name: `carillon_${name}`, help, registers: [this.registry] })
  }

  private histogram<Label extends string>(name: string, help: string, labelNames: Label[]) {
    return new Histogram({
      name: `carillon_${name}`,
      help,
      labelNames,
      buckets: lagBuckets,
      registers: [this.registry],
    })
  }
}
