import type {
  CloseAnswer,
  CloseInput,
  HeartbeatAnswer,
  HeartbeatInput,
  Lease,
  LeaseAnswer,
  LeaseInput,
  RunRef,
} from '@carillon/contract'
import { type ClientOptions, transportOf } from '../client-options.js'
import { ApiError } from '../errors.js'
import { type StopReason, TaskStoppedError } from '../stop.js'
import type { TaskDefinition, TaskLog } from '../task.js'
import { type Call, send } from '../transport.js'
import { type Held, runAttempt } from './attempt.js'
import { Results } from './results.js'
import { backoffMs, pause, retrying } from './retry.js'

export interface WorkerOptions extends Omit<ClientOptions, 'maxRetries' | 'sleep'> {
  /** What this worker runs, each by the name that jobs refer to. */
  tasks: readonly TaskDefinition[]
  /** Runs at once. Default 10. */
  concurrency?: number
  /** For people who look at the cluster, e.g. the host. */
  name?: string
  /** How long a call waits for work. Default 30 seconds; the server may answer sooner. */
  waitSeconds?: number
  log?: TaskLog
}

export interface StopOptions {
  /** How long runs under way may go on. Then their signals abort, and they are handed back. Default 25,000. */
  withinMs?: number
}

export interface StartOptions extends StopOptions {
  /** Signals of the process that stop the worker. After that the process ends by itself, if nothing else keeps it. */
  signals?: readonly NodeJS.Signals[]
}

/** Runs tasks in this process, for jobs on a server elsewhere. */
export interface HttpWorker {
  /** Its name in the history of runs; undefined before the first answer. A worker that was declared dead gets a new one. */
  readonly workerId: string | undefined
  /** How many runs it holds now. */
  readonly running: number
  start(options?: StartOptions): void
  /** Takes nothing more, lets runs under way end, says good-bye. Safe to call twice. */
  stop(options?: StopOptions): Promise<void>
}

export function createWorker(options: WorkerOptions): HttpWorker {
  return new Worker(options)
}

const answerMs = 10_000
const mostPerCall = 100
const mostNamed = 1_000
/** How long an answer to a heartbeat counts for handlers that ask. */
const freshMs = 1_000
const noLog: TaskLog = { info: () => {}, warn: () => {}, error: () => {} }

class Worker implements HttpWorker {
  workerId: string | undefined
  private readonly tasks: ReadonlyMap<string, TaskDefinition>
  private readonly held = new Map<number, Held>()
  private readonly leasing = new AbortController()
  private readonly ended = new AbortController()
  /** Ends with the life that made the lease call: a dead worker's poll brings nothing any more. */
  private life = new AbortController()
  private readonly log: TaskLog
  private readonly call: <Answer>(path: string, body: object, more?: Partial<Call>) => Promise<Answer>
  private readonly results: Results
  private polling: Promise<void> | null = null
  private beating: Promise<void> | null = null
  private stopped: Promise<void> | null = null
  private confirming: Promise<void> | null = null
  private confirmedAt = Number.NEGATIVE_INFINITY
  private leaseMs = 30_000
  private heartbeatMs = 10_000
  /** When the last call was sent that got an answer: from then on the server counts. */
  private heardAt = performance.now()
  private roomMade: () => void = () => undefined

  constructor(private readonly options: WorkerOptions) {
    const transport = transportOf(options, 'createWorker')
    this.tasks = new Map(options.tasks.map((task) => [task.id, task]))
    if (this.tasks.size === 0) throw new TypeError('createWorker: "tasks" names no task to run.')
    this.log = options.log ?? noLog
    this.call = async (path, body, more) => {
      const sentAt = performance.now()
      const { value } = await send(transport, {
        method: 'POST',
        path: `/api/v1/leases${path}`,
        body,
        ...more,
      })
      this.heardAt = Math.max(this.heardAt, sentAt)
      return value as never
    }
    const retry = retrying(this.ended.signal, transport.random)
    const close = (input: CloseInput) => this.call<CloseAnswer>('/close', input)
    this.results = new Results({ close, retry, log: this.log })
  }

  get running(): number {
    return this.held.size
  }

  start({ signals = [], ...stop }: StartOptions = {}): void {
    if (this.polling !== null) throw new Error('The worker was started twice.')
    for (const signal of signals) {
      const onSignal = () => void this.stop(stop)
      process.once(signal, onSignal)
      this.ended.signal.addEventListener('abort', () => process.off(signal, onSignal))
    }
    // A call whose connection is gone keeps no process alive, and neither does the timer that gives it up: without this the
    // process would end, with nothing said, in the middle of an outage of the server.
    const alive = setInterval(() => undefined, 60_000)
    this.ended.signal.addEventListener('abort', () => clearInterval(alive))
    this.polling = this.leaseLoop()
  }

  stop({ withinMs = 25_000 }: StopOptions = {}): Promise<void> {
    this.stopped ??= this.end(withinMs)
    return this.stopped
  }

  private async leaseLoop(): Promise<void> {
    const { signal } = this.leasing
    for (let failures = 0; !signal.aborted; ) {
      const room = (this.options.concurrency ?? 10) - this.held.size
      if (room <= 0) {
        await this.room()
        continue
      }
      const life = this.life.signal
      try {
        this.take(await this.lease(Math.min(room, mostPerCall), life))
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (life.aborted || this.isGone(error)) continue
        this.log.warn('no runs could be asked for', { error: String(error) })
        await pause(backoffMs(failures++, Math.random()), signal)
      }
    }
  }

  private lease(max: number, life: AbortSignal): Promise<LeaseAnswer> {
    const { name, waitSeconds = 30 } = this.options
    const wait = max === 0 ? 0 : waitSeconds
    const named = this.named()
    const input: LeaseInput = {
      ...(this.workerId !== undefined && { worker_id: this.workerId }),
      ...(this.workerId === undefined && name !== undefined && { worker: name }),
      tasks: [...this.tasks.keys()],
      max,
      wait_seconds: wait,
      ...(named !== undefined && { runs: named }),
    }
    const signal = max === 0 ? this.ended.signal : AbortSignal.any([this.leasing.signal, life])
    return this.call<LeaseAnswer>('', input, { timeoutMs: wait * 1000 + answerMs, signal })
  }

  private take(answer: LeaseAnswer): void {
    this.workerId = answer.worker_id
    this.leaseMs = answer.lease_seconds * 1000
    this.heartbeatMs = answer.heartbeat_seconds * 1000
    this.beating ??= this.heartbeatLoop()
    for (const lease of answer.data) void this.run(lease, answer.worker_id)
  }

  private async run(lease: Lease, workerId: string): Promise<void> {
    const held: Held = { lease, workerId, stop: new AbortController(), confirm: () => this.confirm(workerId) }
    const { run_id, fencing_token } = lease
    // Held until the server has answered for its result: until then it is named as this worker's.
    this.held.set(fencing_token, held)
    const task = this.tasks.get(lease.task)
    const lines = withRun(this.log, lease)
    const unbegun = task === undefined || this.leasing.signal.aborted
    const report = unbegun
      ? { run_id, fencing_token, outcome: 'released' as const }
      : await runAttempt(task, held, lines)
    await this.results.tell(workerId, report)
    this.held.delete(fencing_token)
    this.roomMade()
  }

  private async heartbeatLoop(): Promise<void> {
    const { signal } = this.ended
    while (!signal.aborted) {
      await pause(this.heartbeatMs, signal)
      if (signal.aborted || this.workerId === undefined) continue
      try {
        await this.heartbeat(this.workerId)
      } catch (error) {
        if (!this.isGone(error)) this.log.warn('a heartbeat was not heard', { error: String(error) })
      }
      if (performance.now() - this.heardAt > this.leaseMs) {
        this.abandon(
          'lost',
          'nothing was heard from the server for longer than the lease: it may be with another worker',
        )
      }
    }
  }

  private async heartbeat(workerId: string): Promise<void> {
    const named = this.named()
    const input: HeartbeatInput = { worker_id: workerId, ...(named !== undefined && { runs: named }) }
    const timeoutMs = Math.min(answerMs, this.heartbeatMs)
    const answer = await this.call<HeartbeatAnswer>('/heartbeat', input, { timeoutMs })
    for (const { fencing_token, reason } of answer.stop) {
      const stopped =
        reason === 'replaced'
          ? new TaskStoppedError('replaced', 'a newer run of this job takes its place')
          : new TaskStoppedError('cancelled', 'the run was cancelled')
      this.held.get(fencing_token)?.stop.abort(stopped)
    }
    for (const { fencing_token } of answer.lost) {
      this.held.get(fencing_token)?.stop.abort(new TaskStoppedError('lost', 'the lease of this run was lost'))
    }
  }

  /** For handlers that ask: one call for all of them, and none while the last answer is fresh. */
  private async confirm(workerId: string): Promise<void> {
    if (workerId !== this.workerId || performance.now() - this.confirmedAt < freshMs) return
    this.confirming ??= this.heartbeat(workerId)
      .then(
        () => {
          this.confirmedAt = performance.now()
        },
        (error: unknown) => {
          // Not heard is not lost: the loop of heartbeats knows when the lease is over.
          if (!this.isGone(error)) this.log.warn('a heartbeat was not heard', { error: String(error) })
        },
      )
      .finally(() => {
        this.confirming = null
      })
    await this.confirming
  }

  /** All that it holds; undefined where that is more than a call may name. */
  private named(): RunRef[] | undefined {
    const refs = [...this.held.values()].map(({ lease: { run_id, fencing_token } }) => ({
      run_id,
      fencing_token,
    }))
    return refs.length > mostNamed ? undefined : refs
  }

  /** Declared dead, or unknown: its runs are others' now. The next lease call begins a new life. */
  private isGone(error: unknown): boolean {
    if (!(error instanceof ApiError) || !['worker_gone', 'worker_not_found'].includes(error.code))
      return false
    this.log.warn('this worker was declared dead: dropping its runs and beginning anew', {
      was: this.workerId,
    })
    this.workerId = undefined
    this.life.abort()
    this.life = new AbortController()
    this.abandon('lost', 'the lease of this run was lost')
    return true
  }

  private abandon(reason: StopReason, why: string): void {
    for (const { stop } of this.held.values()) stop.abort(new TaskStoppedError(reason, why))
  }

  private room(): Promise<void> {
    return new Promise((resolve) => {
      this.roomMade = resolve
    })
  }

  private async end(withinMs: number): Promise<void> {
    this.leasing.abort()
    this.roomMade()
    // The call that was just given up may have been answered: what it brought is handed back, since nobody named it.
    if (this.workerId !== undefined) await this.lease(0, this.life.signal).catch(() => undefined)
    await this.idleWithin(withinMs)
    this.abandon('shutdown', 'the worker is shutting down')
    await this.idleWithin(answerMs)
    const { workerId } = this
    if (workerId !== undefined) {
      const goodbye: CloseInput = { worker_id: workerId, results: [], leave: true }
      await this.call('/close', goodbye).catch((error: unknown) =>
        this.log.warn('the server did not hear the good-bye', { error: String(error) }),
      )
    }
    this.ended.abort()
    await Promise.all([this.polling, this.beating])
  }

  private async idleWithin(ms: number): Promise<void> {
    const until = performance.now() + ms
    while (this.held.size > 0 && performance.now() < until) await pause(20, this.ended.signal)
  }
}

function withRun(log: TaskLog, { run_id, job_id, attempt }: Lease): TaskLog {
  const known = { run_id, job_id, attempt }
  return {
    info: (message, fields) => log.info(message, { ...known, ...fields }),
    warn: (message, fields) => log.warn(message, { ...known, ...fields }),
    error: (message, fields) => log.error(message, { ...known, ...fields }),
  }
}
