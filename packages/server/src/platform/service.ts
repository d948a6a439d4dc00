import type { Logger } from 'pino'
import type { Clock } from './clock.js'
import type { LoopMetrics } from './metrics.js'

/**
 * The shape of every loop in the house: a name, an interval, and one duty that can be done once by hand.
 *
 * A pass that fails is logged and counted, and the next one waits longer, up to a bound: a loop never dies
 * silently and never spins. `wake` asks for a pass now; a wake that arrives during a pass is not lost.
 */
export interface ServiceOptions {
  name: string
  intervalMs: number
  /** One pass. Answers true when more work is waiting and the next pass should follow at once. */
  runOnce: (signal: AbortSignal) => Promise<boolean | undefined>
  /** After failures in a row a pass waits so long at most. */
  longestBackoffMs?: number
  clock: Clock
  log: Logger
  metrics: LoopMetrics
}

const ordinaryLongestBackoffMs = 5_000

export class Service {
  readonly name: string
  private readonly options: ServiceOptions
  private readonly stopping = new AbortController()
  private loop: Promise<void> | null = null
  private wakeUp: (() => void) | null = null
  private woken = false
  private failuresInARow = 0
  private progressedAt: number
  private passBegun: number | null = null

  constructor(options: ServiceOptions) {
    this.options = options
    this.name = options.name
    this.progressedAt = options.clock.monotonic()
  }

  start(): void {
    if (this.loop !== null) throw new Error(`The loop ${this.name} was started twice.`)
    this.loop = this.run()
  }

  /** Ends the loop after the pass under way. Safe to call more than once, and before start. */
  async stop(): Promise<void> {
    this.stopping.abort()
    this.wake()
    await this.loop
  }

  wake(): void {
    this.woken = true
    this.wakeUp?.()
  }

  /** One pass by hand, as tests and drains do it. Failures reach the caller. */
  async runOnce(): Promise<boolean> {
    const more = await this.options.runOnce(this.stopping.signal)
    this.progressedAt = this.options.clock.monotonic()
    return more ?? false
  }

  /** How long ago the last pass ended well, on the monotonic clock. */
  sinceProgressMs(): number {
    return this.options.clock.monotonic() - this.progressedAt
  }

  /** How long the pass under way has taken so far; 0 between passes. */
  inPassMs(): number {
    return this.passBegun === null ? 0 : this.options.clock.monotonic() - this.passBegun
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping
    while (!signal.aborted) {
      this.woken = false
      const more = await this.pass()
      if (!more && !this.woken && !signal.aborted) await this.rest()
    }
  }

  private async pass(): Promise<boolean> {
    const { name, log, metrics, clock } = this.options
    const begun = clock.monotonic()
    this.passBegun = begun
    try {
      const more = await this.runOnce()
      this.failuresInARow = 0
      metrics.passed(name, clock.monotonic() - begun)
      return more
    } catch (error) {
      this.failuresInARow += 1
      this.woken = false
      metrics.failed(name)
      // A database that is away fails many loops many times a second: say it at once, then ever less often.
      const worthALine = Number.isInteger(Math.log2(this.failuresInARow))
      log[worthALine ? 'warn' : 'debug'](
        { loop: name, failures: this.failuresInARow, err: error },
        'loop failed',
      )
      return false
    } finally {
      this.passBegun = null
    }
  }

  private rest(): Promise<void> {
    const { intervalMs, clock } = this.options
    return new Promise((resolve) => {
      const done = () => {
        cancel()
        this.wakeUp = null
        resolve()
      }
      const cancel = clock.after(this.restMs(intervalMs), done)
      this.wakeUp = done
    })
  }

  private restMs(intervalMs: number): number {
    if (this.failuresInARow === 0) return intervalMs
    const { longestBackoffMs = ordinaryLongestBackoffMs } = this.options
    const backoff = Math.min(
      longestBackoffMs,
      Math.max(intervalMs, 50) * 2 ** Math.min(this.failuresInARow, 10),
    )
    // Jitter, so that a fleet does not come back to a recovering database in step.
    return backoff * (0.5 + Math.random() / 2)
  }
}
