import type { JobDefinition } from '@carillon/contract'
import { jitterMs } from '../time/jitter.js'

/** How long after its ticks a job starts: its jitter, and its place in its fire window, which may be widened. */
export function spreadMs(
  jobId: string,
  {
    jitter_seconds: jitter,
    fire_window_seconds: window,
  }: Pick<JobDefinition, 'jitter_seconds' | 'fire_window_seconds'>,
  windowFactor = 1,
): number {
  if (jitter === 0 && window === 0) return 0
  return jitterMs(jobId, jitter) + jitterMs(`${jobId} window`, window * windowFactor)
}
