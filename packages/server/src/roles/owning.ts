import type { Ownership } from '../cluster/ownership.js'
import type { Service } from '../platform/service.js'
import { type Context, loop } from './context.js'

/** So soon, and for so long, a scheduler tries again to take what a peer left behind. */
const hurryMs = 40
const hurryForMs = 2_000

export interface Owning {
  owning: Service
  /** A peer is gone: what falls to this process is taken at once. */
  hurry: () => void
}

/** The loop that takes, renews and gives back partitions. `onTaken`: there is more to fire. */
export function composeOwning(context: Context, ownership: Ownership, onTaken: () => void): Owning {
  const { config, clock } = context
  let hurryUntil = Number.NEGATIVE_INFINITY
  const owning: Service = loop(context, 'own', config.heartbeatMs, async () => {
    const before = ownership.current().length
    await ownership.runOnce()
    if (ownership.current().length > before) onTaken()
    // What a peer left behind may be locked for a moment by what it had begun, or by another's look: it is not left for a heartbeat.
    if (clock.monotonic() < hurryUntil && ownership.isShort()) clock.after(hurryMs, () => owning.wake())
    return undefined
  })
  return {
    owning,
    hurry() {
      hurryUntil = clock.monotonic() + hurryForMs
      owning.wake()
    },
  }
}
