import type { Clock } from '../../platform/clock.js'

/** The process may also be a scheduler: a long computation gives way so often that it holds up no heartbeat. */
const sliceMs = 8

/** Lets others have their turn whenever the present one has lasted long enough. */
export class Breather {
  private begun: number

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {
    this.begun = clock.monotonic()
  }

  async breathe(): Promise<void> {
    if (this.clock.monotonic() - this.begun < sliceMs) return
    await new Promise((resolve) => setImmediate(resolve))
    this.begun = this.clock.monotonic()
  }
}
