import { withoutCursorCheck, withoutEpochCheck } from './fences.mjs'

/** @type {import('../build.mjs').Mutant} */
export const epochUnchecked = {
  guard: 'the epoch in the statements that fire: a write of an owner that was replaced is refused',
  edits: withoutEpochCheck,
  mask: {
    by: 'the cursor check, since the new owner has passed what the old one wants to fire',
    edits: withoutCursorCheck,
  },
}
