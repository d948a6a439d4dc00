import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'

/** One bound shared by every step of a join, on the monotonic clock: a wall clock may jump while we wait. */
export class Deadline {
  readonly #end: number

  constructor(readonly totalMs: number) {
    this.#end = performance.now() + totalMs
  }

  get leftMs(): number {
    return Math.max(0, this.#end - performance.now())
  }

  get passed(): boolean {
    return this.leftMs === 0
  }

  /** Pauses, but never beyond the end. */
  async pause(ms: number): Promise<void> {
    await pause(Math.min(ms, this.leftMs))
  }
}
