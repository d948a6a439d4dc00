import { type History, runHistory } from './history.js'
import type { HistoryOptions } from './world.js'

export interface Campaign {
  histories: number
  /** Different orders of effects. */
  interleavings: Set<number>
  /** By statement. */
  effects: Record<string, number>
  faults: number
  calls: number
  broken: History[]
}

export interface CampaignOptions {
  seed: number
  /** At most so many. */
  histories: number
  /** Ends with the first history that breaks a promise. */
  untilBroken?: boolean
  mutants?: HistoryOptions['mutants']
}

/** Many histories, one seed after the other. */
export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { seed, histories, untilBroken = false, mutants } = options
  const campaign: Campaign = {
    histories: 0,
    interleavings: new Set(),
    effects: {},
    faults: 0,
    calls: 0,
    broken: [],
  }
  while (campaign.histories < histories) {
    const history = await runHistory(seed + campaign.histories, mutants && { mutants })
    campaign.histories += 1
    // Whoever watches over this process wants to hear of it now and then.
    if (campaign.histories % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    for (const [kind, count] of history.effects)
      campaign.effects[kind] = (campaign.effects[kind] ?? 0) + count
    campaign.faults += history.faults
    campaign.calls += history.calls
    campaign.interleavings.add(history.interleaving)
    if (history.violations.length === 0) continue
    campaign.broken.push(history)
    if (untilBroken) break
  }
  return campaign
}

/** What broke, and how to see it again, step by step. */
export function describe(
  { seed, violations }: History,
  mutants: HistoryOptions['mutants'] = new Set(),
): string {
  const without = [...mutants].map((mutant) => ` --mutant "${mutant}"`).join('')
  return `seed ${seed}: ${violations.join('; ')}\n  again: npm run simulate -- --seed ${seed} --trace${without}`
}
