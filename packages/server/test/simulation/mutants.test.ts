import { expect, test } from 'vitest'
import { runCampaign } from './campaign.js'
import { type Mutant, mutants } from './mutants.js'

/** Far fewer than the volume of the test of the real thing. */
const histories = 20_000

/** What the checker is to say of each. Another fault may come of it first: one of these words is in it all the same. */
const said: Record<Mutant, RegExp> = {
  'epoch unchecked': /under an epoch that is not the present one/,
  'epoch read without a lock': /under an epoch that is not the present one/,
  'token unchecked': /with a token that is not the present one|falling tokens|without a word|closed twice/,
  'rescue of the living': /which lives/,
  'cursor before the run': /has no final row|under an epoch that is not the present one/,
  'trust after a failed renewal': /goes by a lease of partition \d+ that is over/,
  'start before its time': /was started before its time/,
  'lease without a hold on its worker': /which is dead|still in the queue|did not work off/,
  'places not unique': /shares its place/,
  'the dead come back': /the dead incarnation \d+ lives/,
}

test.each(mutants)(
  'without its guard the fleet is caught breaking a promise: %s',
  async (mutant) => {
    const { broken } = await runCampaign({
      seed: 1,
      histories,
      untilBroken: true,
      mutants: new Set([mutant]),
    })
    expect(broken.flatMap(({ violations }) => violations).join('\n')).toMatch(said[mutant])
  },
  300_000,
)
