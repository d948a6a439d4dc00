// What provokes each mutant, and what the checker must then say.
import { goodbyeOfANamesake } from './scenarios/goodbye-of-a-namesake.mjs'
import { lateResult } from './scenarios/late-result.mjs'
import { lateStatement } from './scenarios/late-statement.mjs'
import { quickRuns, slowRuns } from './scenarios/nothing-happens.mjs'
import { renewalsThatFail } from './scenarios/renewals-that-fail.mjs'
import { statementOfTheDead } from './scenarios/statement-of-the-dead.mjs'
import { unheardAnswer } from './scenarios/unheard-answer.mjs'

/**
 * @typedef {object} Scenario
 * @property {(stage: import('./stage/stage.mjs').Stage) => Promise<number>} play answers up to when the
 *   ticks are judged
 * @property {number} seed draws what is left to chance: which process is struck, and at which of its statements
 * @property {string[]} red violations that the checker must find on the mutant, and of which there is none on the ordinary build
 * @property {number} [runLeaseSeconds]
 */

/** @type {Record<string, Scenario>} by the name of the mutant */
export const scenarios = {
  'unique-dropped': { play: lateStatement, seed: 1, red: ['double_firings'] },
  'epoch-unchecked': { play: statementOfTheDead, seed: 2, red: ['stale_epoch', 'double_firings'] },
  'token-unchecked': { play: lateResult, seed: 3, red: ['stale_token'], runLeaseSeconds: 6 },
  'cursor-before-enqueue': { play: unheardAnswer, seed: 4, red: ['unaccounted'] },
  'hostname-as-owner': {
    play: goodbyeOfANamesake,
    seed: 5,
    red: ['shared_incarnation', 'unexplained_delivery'],
  },
  'ownership-kept': { play: renewalsThatFail, seed: 6, red: ['stale_epoch'] },
  'rescue-unguarded': { play: slowRuns, seed: 7, red: ['rescued_alive', 'unexplained_delivery'] },
  'start-before-due': { play: quickRuns, seed: 8, red: ['early_starts'] },
}
