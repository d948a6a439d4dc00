import { inspect } from 'node:util'
import { effectsUnavailable, type Sql, type TaskContext, type TaskLog } from '@carillon/sdk'
import { type IsTraced, traceparent } from './signing.js'
import type { StopSwitch } from './stop-switch.js'
import type { Attempt } from './target.js'

/** Where the getters below find what they are about. */
const attemptOf = Symbol('attempt')
const stopOf = Symbol('stop')
const logOf = Symbol('log')
const tracedOf = Symbol('traced')

/**
 * What a handler knows about its attempt. All properties are its own, so that a handler may copy it; what costs something
 * is made when it is asked for. Those share their getters: an object with getters of its own making costs more than twice
 * as much, which is a good part of a run that does nothing.
 */
export class RunContext implements TaskContext {
  declare readonly runId: string
  declare readonly idempotencyKey: string
  declare readonly traceparent: string
  declare readonly signal: TaskContext['signal']
  declare readonly log: TaskLog
  readonly jobId: string
  readonly jobName: string
  declare readonly scheduledAt: Date
  readonly attempt: number
  readonly fencingToken: number
  readonly catchUp: boolean
  readonly heartbeat: TaskContext['heartbeat']
  readonly once: TaskContext['once']
  readonly transaction: TaskContext['transaction']
  readonly [attemptOf]: Attempt
  readonly [stopOf]: StopSwitch
  readonly [tracedOf]: IsTraced | undefined;
  [logOf]: TaskLog | ((attempt: Attempt) => TaskLog)

  constructor(
    attempt: Attempt,
    stop: StopSwitch,
    logFor: (attempt: Attempt) => TaskLog,
    isTraced?: IsTraced,
  ) {
    this[attemptOf] = attempt
    this[stopOf] = stop
    this[logOf] = logFor
    this[tracedOf] = isTraced
    this.jobId = attempt.jobId
    this.jobName = attempt.jobName
    this.attempt = attempt.attempt
    this.fencingToken = attempt.token
    this.catchUp = attempt.catchUp
    this.heartbeat = (progress) => this.beat(progress)
    const { effects } = attempt
    this.once = <Result>(key: string, effect: () => Result | Promise<Result>) =>
      effects === undefined
        ? effectsUnavailable.once(key, effect)
        : (effects.once(key, effect, stop.signal) as Promise<Result>)
    this.transaction = <Result>(work: (sql: Sql) => Result | Promise<Result>) =>
      effects === undefined
        ? effectsUnavailable.transaction(work)
        : (effects.transaction(work, stop.signal) as Promise<Result>)
    for (const [name, property] of madeWhenAsked) Object.defineProperty(this, name, property)
  }

  /** For whoever prints it: what a handler is told, and nothing of the process behind it. */
  [inspect.custom](): Record<string, unknown> {
    const { runId, jobId, jobName, scheduledAt, attempt, fencingToken, idempotencyKey, catchUp } = this
    return { runId, jobId, jobName, scheduledAt, attempt, fencingToken, idempotencyKey, catchUp }
  }

  private async beat(progress: unknown): Promise<void> {
    throwIfStopped(this[stopOf])
    if (progress !== undefined) this.log.info('progress', { progress })
    await this[attemptOf].confirm?.()
    throwIfStopped(this[stopOf])
  }
}

const madeWhenAsked = Object.entries({
  runId: shared((context) => context[attemptOf].runId),
  idempotencyKey: shared((context) => context[attemptOf].idempotencyKey),
  traceparent: shared((context) => traceparent(context[attemptOf], context[tracedOf])),
  scheduledAt: shared((context) => new Date(context[attemptOf].scheduledAt)),
  signal: shared((context) => context[stopOf].signal),
  log: shared((context) => {
    const log = context[logOf]
    return typeof log === 'function' ? (context[logOf] = log(context[attemptOf])) : log
  }),
})

function shared(read: (context: RunContext) => unknown): PropertyDescriptor {
  return {
    enumerable: true,
    get(this: RunContext) {
      return read(this)
    },
  }
}

function throwIfStopped(stop: StopSwitch): void {
  if (stop.stopped) throw stop.reason
}
