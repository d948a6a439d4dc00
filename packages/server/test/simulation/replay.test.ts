import { expect, test } from 'vitest'
import { seedsOf } from '../kit/seeds.js'
import { describe, runCampaign } from './campaign.js'
import { runHistory } from './history.js'

async function traced(seed: number): Promise<{ lines: string[]; interleaving: number }> {
  const lines: string[] = []
  const { interleaving } = await runHistory(seed, { tell: (line) => void lines.push(line) })
  return { lines, interleaving }
}

test.each(seedsOf(1, 2, 3, 4, 5, 6, 7, 8))(
  'a seed gives the same history every time, step by step (seed %i)',
  async (seed) => {
    const first = await traced(seed)
    // Whatever ran in between.
    await runHistory(seed + 1)
    expect((await traced(seed)).lines).toEqual(first.lines)
    // Nobody has to listen for it to be the same.
    expect((await runHistory(seed)).interleaving).toBe(first.interleaving)
    expect(first.lines.length).toBeGreaterThan(50)
  },
)

test('a history that breaks a promise is named with the command that repeats it', async () => {
  const { broken } = await runCampaign({
    ...{ seed: 1, histories: 2_000, untilBroken: true, mutants: new Set(['start before its time'] as const) },
  })
  const [history] = broken
  if (history === undefined) throw new Error('No history was broken.')
  expect(describe(history)).toContain(`npm run simulate -- --seed ${history.seed} --trace`)
  const again = await runHistory(history.seed, { mutants: new Set(['start before its time'] as const) })
  expect(again.violations).toEqual(history.violations)
})

test('histories are full of what can go wrong, and break no promise', async () => {
  const campaign = await runCampaign({ seed: 1, histories: 500 })
  expect(campaign.broken.map((history) => describe(history))).toEqual([])
  expect(campaign.faults).toBeGreaterThan(500)
  expect(campaign.interleavings.size).toBeGreaterThan(450)
}, 60_000)
