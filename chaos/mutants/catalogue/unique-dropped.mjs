import { withoutCursorCheck } from './fences.mjs'

/** @type {import('../build.mjs').Mutant} */
export const uniqueDropped = {
  guard: 'the key of the queue: one run of a tick at a time',
  edits: [],
  schema: ['ALTER TABLE carillon.queue DROP CONSTRAINT queue_pkey'],
  mask: {
    by: 'the cursor check, which refuses a tick that has been passed before the key is asked',
    edits: withoutCursorCheck,
  },
}
