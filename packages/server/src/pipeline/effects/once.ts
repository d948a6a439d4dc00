import { limits } from '@carillon/contract'
import { EffectsUsageError, LeaseLostError } from '@carillon/sdk'
import { isDatabaseUnavailable } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type Clock, pause } from '../../platform/clock.js'
import type { LeasedRun } from '../run.js'
import { type LeaseParams, leaseParams } from './lease-params.js'

interface EffectParams extends LeaseParams {
  idempotency_key: string
  effect: string
}

const recallStatement = statement<EffectParams, { held: boolean; known: boolean; result: string | null }>(
  new URL('./recall-effect.sql', import.meta.url),
)
const rememberStatement = statement<EffectParams & { result: string | null }, { result: string | null }>(
  new URL('./remember-effect.sql', import.meta.url),
)

export interface OnceOptions {
  database: Database
  clock: Clock
  run: LeasedRun
  idempotencyKey: string
}

/** The effects of one attempt, remembered for all attempts of its run and all runs of its job with the same key. */
export class Once {
  private readonly going = new Map<string, Promise<unknown>>()

  constructor(private readonly options: OnceOptions) {}

  /** Two calls with one key are one effect. One that failed may be tried again. */
  do(key: string, effect: () => unknown, signal: AbortSignal): Promise<unknown> {
    const problem = problemOf(key, effect) ?? this.tooMany(key)
    if (problem !== null) return Promise.reject(new EffectsUsageError(problem))
    const known = this.going.get(key)
    if (known !== undefined) return known
    const doing = this.first(key, effect, signal)
    this.going.set(key, doing)
    doing.catch(() => this.going.delete(key))
    return doing
  }

  private tooMany(key: string): string | null {
    if (this.going.size < limits.effectsPerAttempt || this.going.has(key)) return null
    return `An attempt remembers at most ${limits.effectsPerAttempt} effects. Gather them into fewer.`
  }

  private async first(key: string, effect: () => unknown, signal: AbortSignal): Promise<unknown> {
    const { database, run, idempotencyKey } = this.options
    signal.throwIfAborted()
    const params = { ...leaseParams(run), idempotency_key: idempotencyKey, effect: key }
    const [found] = await database.run(recallStatement, params)
    if (found?.held !== true) throw lost(key)
    if (found.known) return valueOf(found.result)
    signal.throwIfAborted()
    const result = textOf(key, await effect())
    const kept = await this.remember({ ...params, result }, signal)
    if (kept === undefined) throw lost(key)
    return valueOf(kept.result)
  }

  /** The effect is done: its record is worth more than one try. It may be sent again, unchanged. */
  private async remember(
    params: EffectParams & { result: string | null },
    signal: AbortSignal,
  ): Promise<{ result: string | null } | undefined> {
    const { database, clock } = this.options
    for (let tries = 1; ; tries++) {
      try {
        const [kept] = await database.run(rememberStatement, params)
        return kept
      } catch (error) {
        if (!isDatabaseUnavailable(error) || signal.aborted) throw error
        await pause(clock, Math.min(2_000, 50 * 2 ** tries), signal)
      }
    }
  }
}

function problemOf(key: unknown, effect: unknown): string | null {
  if (typeof effect !== 'function') return 'ctx.once(key, effect): effect has to be a function.'
  if (typeof key !== 'string' || key === '') return 'ctx.once(key, effect): key has to be a non-empty string.'
  if (key.length > limits.effectKey)
    return `ctx.once: the key has ${key.length} characters; at most ${limits.effectKey} are taken.`
  // Two keys that the database would store as one must not be two here.
  return /\0|\p{Surrogate}/u.test(key) ? 'ctx.once: the key holds a character that cannot be stored.' : null
}

/** Text, not jsonb: what comes back is to the letter what JSON made of it. */
function textOf(key: string, value: unknown): string | null {
  if (value === undefined) return null
  const text = serialised(key, value)
  const bytes = Buffer.byteLength(text)
  if (bytes <= limits.effectResultBytes) return text
  throw notKept(
    key,
    `it is ${bytes} bytes of JSON, and ${limits.effectResultBytes} are remembered. Return what later steps need, such as an id`,
  )
}

function serialised(key: string, value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw notKept(
      key,
      `it cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  if (text === undefined) throw notKept(key, `JSON has no form for a ${typeof value}`)
  return text
}

/** The effect was done: another attempt would do it again and fail again. Hence no other attempt is made. */
function notKept(key: string, why: string): EffectsUsageError {
  return new EffectsUsageError(
    `ctx.once: the result of "${key}" cannot be remembered: ${why}. The effect was done.`,
  )
}

function lost(key: string): LeaseLostError {
  return new LeaseLostError(
    `ctx.once: "${key}" was not remembered: this run went to another attempt, or is closed already.`,
  )
}

function valueOf(result: string | null): unknown {
  return result === null ? undefined : (JSON.parse(result) as unknown)
}
