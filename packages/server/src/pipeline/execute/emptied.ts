import { TaskStoppedError } from '@carillon/sdk'
import { type Clock, pause } from '../../platform/clock.js'
import type { HeldEntry } from './held-entry.js'

/** What is told to stop gets so long to end. */
const graceMs = 1_000
const betweenLooksMs = 20

/** Waits until no run is held any more, and tells those to stop that take longer. Answers how many were told. */
export async function emptied(
  entries: { readonly size: number; values(): Iterable<HeldEntry> },
  { clock, withinMs, aheadMs }: { clock: Clock; withinMs: number; aheadMs: (entry: HeldEntry) => number },
): Promise<number> {
  const deadline = clock.monotonic() + withinMs
  const stopped = new Set<HeldEntry>()
  const stopThose = (leftMs: number) => {
    for (const entry of entries.values()) {
      if (stopped.has(entry) || aheadMs(entry) < leftMs) continue
      stopped.add(entry)
      entry.stop.stop(new TaskStoppedError('shutdown', 'the worker is shutting down'))
    }
  }
  while (entries.size > 0 && clock.monotonic() < deadline) {
    stopThose(deadline - clock.monotonic())
    await pause(clock, betweenLooksMs)
  }
  stopThose(0)
  const graceful = clock.monotonic() + graceMs
  while (entries.size > 0 && clock.monotonic() < graceful) await pause(clock, betweenLooksMs)
  return stopped.size
}
