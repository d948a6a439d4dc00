// The mutants by name, in the order of the flow.
import { cursorBeforeEnqueue } from './catalogue/cursor-before-enqueue.mjs'
import { epochUnchecked } from './catalogue/epoch-unchecked.mjs'
import { hostnameAsOwner } from './catalogue/hostname-as-owner.mjs'
import { ownershipKept } from './catalogue/ownership-kept.mjs'
import { rescueUnguarded } from './catalogue/rescue-unguarded.mjs'
import { startBeforeDue } from './catalogue/start-before-due.mjs'
import { tokenUnchecked } from './catalogue/token-unchecked.mjs'
import { uniqueDropped } from './catalogue/unique-dropped.mjs'

/** @type {Record<string, import('./build.mjs').Mutant>} */
export const mutants = {
  'unique-dropped': uniqueDropped,
  'epoch-unchecked': epochUnchecked,
  'token-unchecked': tokenUnchecked,
  'cursor-before-enqueue': cursorBeforeEnqueue,
  'hostname-as-owner': hostnameAsOwner,
  'ownership-kept': ownershipKept,
  'rescue-unguarded': rescueUnguarded,
  'start-before-due': startBeforeDue,
}
