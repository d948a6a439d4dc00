import type { RunRow } from '../leased-run.js'

/** A run in flight, as the statements of this stage read it. */
export interface HeldRow extends RunRow {
  leased_at: number | null
  now: number
}
