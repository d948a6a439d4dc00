import { AsyncLocalStorage } from 'node:async_hooks'
import type { JobInput } from '@carillon/contract'
import {
  EffectsUnavailableError,
  isNonRetryable,
  runTask,
  type TaskContext,
  type TaskDefinition,
  type TaskLog,
  TaskStoppedError,
} from '@carillon/sdk'
import { idempotencyKeyOf } from '../pipeline/idempotency-key.js'
import { judge } from '../pipeline/record/retry.js'
import type { QueuedRun } from '../pipeline/register/change.js'
import { defineJob } from '../pipeline/register/definition.js'
import { type Way, wayFor } from '../pipeline/register/way.js'
import { traceparent } from '../targets/signing.js'
import { jobIdOf, newUuid, runIdOf } from '../platform/ids.js'
import type { CalendarSet } from '../time/schedule.js'
import { type Duration, millisecondsOf } from './duration.js'
import { TestJob } from './job.js'
import { attempt, type Flight, type Going, type TestRun } from './run.js'

export interface TestEnvOptions {
  tasks: readonly TaskDefinition[]
  /** Where time begins. Default 2026-01-01T00:00:00Z. */
  at?: Date | string
  calendars?: CalendarSet
  /** Of every wait before a retry, which is spread over [0, backoff): 0 is none, 1 the whole. Default 0.5. */
  spread?: number
  /** How long, in real time, a handler may do without sleeping on the clock of the environment. Default 5,000. */
  stuckAfterMs?: number
  log?: TaskLog
}

const noLog: TaskLog = { info: () => {}, warn: () => {}, error: () => {} }
const lateToleranceMs = 15_000
const minIntervalMs = 1_000

/**
 * Jobs and tasks with a clock that stands still until it is turned. Ticks, what becomes of missed ones, overlap and
 * retries are decided by the code that decides them in production; queue, workers and database are not there.
 */
export class TestEnv {
  private clock: number
  private readonly tasks: ReadonlyMap<string, TaskDefinition>
  private readonly jobs = new Map<string, TestJob>()
  private readonly history: TestRun[] = []
  private flights: Flight[] = []
  private sleeps: { at: number; wake: () => void }[] = []
  private readonly effects = new Map<string, unknown>()
  private readonly current = new AsyncLocalStorage<Going>()
  private numbers = 0
  private noticed: () => void = () => undefined

  constructor(private readonly options: TestEnvOptions) {
    this.clock = new Date(options.at ?? '2026-01-01T00:00:00Z').getTime()
    if (Number.isNaN(this.clock))
      throw new TypeError(`createTestEnv: "at" is no instant: ${String(options.at)}`)
    this.tasks = new Map(options.tasks.map((task) => [task.id, task]))
  }

  get now(): Date {
    return new Date(this.clock)
  }

  /** Registers a job as the server does: refuses what it refuses, and fills in the same defaults. */
  schedule(input: JobInput): { jobId: string; nextRunAt: Date | null } {
    if (this.jobs.has(input.name)) throw new Error(`A job is named "${input.name}" already.`)
    const jobId = jobIdOf(newUuid())
    const { calendars = {} } = this.options
    const made = defineJob(input, { now: this.clock, minIntervalMs, calendars })
    const job = new TestJob(jobId, input, made, calendars)
    this.jobs.set(input.name, job)
    return { jobId, nextRunAt: job.startAt === null ? null : new Date(job.startAt) }
  }

  /** A run now, beside the schedule. Answers when its first attempt has ended, or sleeps. */
  async trigger(name: string): Promise<TestRun> {
    const run = this.fire(this.job(name), this.clock, { origin: 1, catchUp: false })
    await this.settle()
    return run
  }

  /** Turns the clock on. Everything that is due meanwhile is done at its instant. Answers the runs that came to an end. */
  async advance(by: Duration): Promise<TestRun[]> {
    return this.advanceTo(new Date(this.clock + millisecondsOf(by)))
  }

  async advanceTo(instant: Date | string): Promise<TestRun[]> {
    const to = new Date(instant).getTime()
    if (!(to >= this.clock)) throw new RangeError('The clock of a test environment does not go back.')
    const before = new Set(this.history.filter(isOver))
    for (let next = this.nextInstant(); next !== null && next <= to; next = this.nextInstant()) {
      this.clock = Math.max(this.clock, next)
      this.wakeDue()
      // What ends at an instant has ended when a tick of the same instant looks for its place.
      await this.settle()
      this.fireDue()
      await this.settle()
    }
    this.clock = to
    return this.history.filter((run) => isOver(run) && !before.has(run))
  }

  /** An outage: time passes and nothing is fired. What was missed is decided with the next turn of the clock. */
  down(duration: Duration): void {
    if (this.flights.some(({ going }) => going !== null))
      throw new Error('down: a run is under way. What a crash does to it is not simulated.')
    this.clock += millisecondsOf(duration)
  }

  /** For handlers: takes time on the clock of the environment. Ends early, with its reason, when the run is to stop. */
  sleep(duration: Duration): Promise<void> {
    const going = this.current.getStore()
    const at = this.clock + millisecondsOf(duration)
    return new Promise((resolve, reject) => {
      const signal = going?.stop.signal
      const end = (done: () => void) => {
        this.sleeps = this.sleeps.filter((other) => other !== entry)
        signal?.removeEventListener('abort', onAbort)
        if (going !== undefined) going.sleeping -= 1
        done()
      }
      const onAbort = () => end(() => reject(signal?.reason as Error))
      const entry = { at, wake: () => end(resolve) }
      signal?.addEventListener('abort', onAbort)
      if (going !== undefined) going.sleeping += 1
      this.sleeps.push(entry)
      this.noticed()
    })
  }

  /** What became of every tick and trigger so far, oldest first; of one job, or of all. */
  runs(name?: string): TestRun[] {
    if (name !== undefined) this.job(name)
    return this.history.filter(({ job }) => name === undefined || job === name)
  }

  private job(name: string): TestJob {
    const job = this.jobs.get(name)
    if (job === undefined) throw new Error(`There is no job named "${name}" in the test environment.`)
    return job
  }

  private nextInstant(): number | null {
    const instants = [
      ...[...this.jobs.values()].flatMap(({ startAt }) => (startAt === null ? [] : [startAt])),
      ...this.sleeps.map(({ at }) => at),
      ...this.flights.flatMap(({ going, slot, availableAt }) =>
        going === null ? (slot === waiting ? [] : [availableAt]) : [going.deadline],
      ),
    ]
    return instants.length === 0 ? null : Math.min(...instants)
  }

  /** Those whose sleep is over wake up; those over their time end. */
  private wakeDue(): void {
    for (const { wake } of this.sleeps.filter(({ at }) => at <= this.clock)) wake()
    for (const { going, job } of this.flights) {
      if (going === null || going.deadline > this.clock) continue
      const limit = job.definition.timeout_seconds
      going.stop.abort(new TaskStoppedError('timeout', `not done within ${limit} s`))
    }
  }

  /** Ticks fire, and what waits for its time starts. */
  private fireDue(): void {
    for (const job of this.jobs.values()) {
      while (job.startAt !== null && job.startAt <= this.clock) this.decide(job)
    }
    for (const flight of [...this.flights]) this.startIfDue(flight)
  }

  private decide(job: TestJob): void {
    const { fire, skip, replay } = job.decide(this.clock, lateToleranceMs)
    if (skip !== null) this.note(job, skip.from, { status: 'skipped', reason: 'missed', ticks: skip.count })
    const replayed = replay === null ? [] : job.ticks(replay.from, replay.to)
    for (const tick of replayed) this.fire(job, tick, { origin: 0, catchUp: true })
    if (fire !== null) this.fire(job, fire, { origin: 0, catchUp: false })
  }

  private fire(
    job: TestJob,
    due: number,
    { origin, catchUp }: { origin: number; catchUp: boolean },
  ): TestRun {
    const own = this.flights.filter((flight) => flight.job === job)
    const way = wayFor(own.map(rowOf), job.definition, this.clock)
    this.makeWay(own, way)
    if (!way.runs) return this.note(job, due, { status: 'skipped', reason: 'overlap', catchUp })
    const run = this.note(job, due, { status: 'pending', attempt: 1, catchUp })
    const flight: Flight = {
      ...{ run, job, due, origin, seq: ++this.numbers, firedAt: this.clock, availableAt: this.clock },
      ...{ slot: way.slot, places: way.places, going: null },
    }
    this.flights.push(flight)
    this.startIfDue(flight)
    return run
  }

  private makeWay(own: readonly Flight[], { ended, asked, promoted }: Way): void {
    const flightOf = ({ seq }: QueuedRun) => own.find((flight) => flight.seq === seq)
    for (const row of ended) {
      const flight = flightOf(row)
      if (flight !== undefined) this.close(flight, { status: 'cancelled', reason: 'replaced' })
    }
    for (const row of asked) {
      flightOf(row)?.going?.stop.abort(
        new TaskStoppedError('replaced', 'a newer run of this job takes its place'),
      )
    }
    const next = promoted === null ? undefined : flightOf(promoted.run)
    if (next !== undefined && promoted !== null) next.slot = promoted.slot
  }

  private note(job: TestJob, due: number, more: Partial<TestRun>): TestRun {
    const run: TestRun = {
      ...{
        job: job.name,
        scheduledAt: new Date(due),
        status: 'pending',
        attempt: 0,
        catchUp: false,
        ticks: 1,
      },
      ...{ startedAt: null, finishedAt: null, result: null, error: null, reason: null },
      ...more,
    }
    this.history.push(run)
    return run
  }

  private startIfDue(flight: Flight): void {
    if (flight.going !== null || flight.slot === waiting || flight.availableAt > this.clock) return
    const { run, job } = flight
    const deadline = this.clock + job.definition.timeout_seconds * 1000
    const going: Going = { startedAt: this.clock, deadline, stop: new AbortController(), sleeping: 0 }
    flight.going = going
    run.status = 'running'
    run.startedAt = this.now
    const { target, payload } = job.definition
    const task = target.type === 'task' ? this.tasks.get(target.task) : undefined
    const call = (served: TaskDefinition) =>
      this.current.run(going, async () => runTask(served, payload, this.contextOf(flight, going)))
    void attempt(task, going, call, isNonRetryable).then((ending) => {
      this.conclude(flight, going, ending)
      this.noticed()
    })
  }

  /** What follows an attempt: decided by the code that decides it in production. */
  private conclude(flight: Flight, { startedAt }: Going, ending: Awaited<ReturnType<typeof attempt>>): void {
    const { run, job } = flight
    const verdict = judge(
      {
        ...ending,
        run: {
          ...{ due: flight.due, firedAt: flight.firedAt, attempt: run.attempt },
          maxAttempts: 1 + job.definition.max_retries,
        } as Parameters<typeof judge>[0]['run'],
        definition: job.definition,
        startedAt,
        finishedAt: this.clock,
        retryAfterMs: null,
      },
      this.options.spread ?? 0.5,
    )
    flight.going = null
    run.finishedAt = this.now
    run.error = ending.error ?? run.error
    if (verdict.retryAt === null) {
      const status = verdict.outcome === 'failed' ? 'dead' : verdict.outcome
      this.close(flight, { status, reason: ending.reason, result: ending.result })
      return
    }
    run.status = 'pending'
    run.attempt += 1
    flight.availableAt = verdict.retryAt
  }

  /** Ends a run, and gives its place to the one that waits for it. */
  private close(flight: Flight, ending: Partial<TestRun>): void {
    Object.assign(flight.run, ending)
    flight.run.finishedAt ??= this.now
    this.flights = this.flights.filter((other) => other !== flight)
    const next = this.flights.find(({ job, slot }) => job === flight.job && slot === waiting)
    if (next === undefined || flight.slot === null || flight.slot === waiting) return
    next.slot = flight.slot
    this.startIfDue(next)
  }

  /** Waits, in real time, until nothing more happens before the clock is turned. */
  private async settle(): Promise<void> {
    const { stuckAfterMs = 5_000 } = this.options
    const giveUpAt = performance.now() + stuckAfterMs
    const busy = () => this.flights.find(({ going }) => going !== null && going.sleeping <= 0)
    for (let flight = busy(); flight !== undefined; flight = busy()) {
      const leftMs = giveUpAt - performance.now()
      if (leftMs <= 0) {
        throw new Error(
          `The handler of the job "${flight.job.name}" neither ended nor slept within ${stuckAfterMs} ms of real time. ` +
            'Time that it should take is taken with env.sleep().',
        )
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.noticed = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  private contextOf({ run, job, due, origin, seq }: Flight, { stop }: Going): TaskContext {
    const { log = noLog } = this.options
    const { id: jobId, definition } = job
    const idempotencyKey = idempotencyKeyOf({ due, origin, seq }, { jobId, definition })
    const runId = runIdOf({ due, job: 1, origin, seq, partition: 0 })
    const token = ++this.numbers
    return {
      runId,
      jobId,
      jobName: job.name,
      scheduledAt: new Date(due),
      attempt: run.attempt,
      fencingToken: token,
      idempotencyKey,
      catchUp: run.catchUp,
      traceparent: traceparent({ jobId, runId, token }),
      signal: stop.signal,
      heartbeat(progress) {
        if (progress !== undefined) log.info('progress', { progress })
        return stop.signal.aborted ? Promise.reject(stop.signal.reason as Error) : Promise.resolve()
      },
      log,
      once: (key, effect) => this.once(`${jobId} ${idempotencyKey} ${key}`, effect),
      transaction: () =>
        Promise.reject(
          new EffectsUnavailableError('ctx.transaction needs a database, and a test environment has none.'),
        ),
    }
  }

  private async once<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result> {
    if (!this.effects.has(key)) this.effects.set(key, JSON.parse(JSON.stringify((await effect()) ?? null)))
    return this.effects.get(key) as Result
  }
}

export function createTestEnv(options: TestEnvOptions): TestEnv {
  return new TestEnv(options)
}

const waiting = -1

function isOver({ status }: TestRun): boolean {
  return status !== 'pending' && status !== 'running'
}

/** As the overlap policy sees it. */
function rowOf({ run, due, origin, seq, slot, places, availableAt, going }: Flight): QueuedRun {
  return {
    ...{ job: 1, due, origin, seq, slot, places, attempt: run.attempt, round: 0, catch_up: run.catchUp },
    holder: going === null ? null : 1,
    available_at: availableAt,
  }
}
