import { expect, test } from 'vitest'
import { OverlapTrial } from '../kit/overlap-trial.js'
import { seedsOf } from '../kit/seeds.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const jobs = 24
const rounds = 30

test.each(seedsOf(20_261_102, 1_976_445_312))(
  'overlap in the database equals the model after every step (seed %i)',
  async (seed) => {
    const trial = new OverlapTrial(house(), await house().node(), seed)
    await trial.begin(jobs)
    try {
      for (let round = 0; round < rounds; round++) await trial.round(5)
    } catch (error) {
      console.error(
        `CARILLON_TEST_SEED=${seed}: after ${trial.story.length} steps, the last: ${trial.story.slice(-8).join(', ')}`,
      )
      throw error
    }
    expect(trial.events).toBeGreaterThan(2_000)
  },
  120_000,
)
