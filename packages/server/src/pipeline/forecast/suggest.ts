import type { LoadSuggestion } from '@carillon/contract'
import type { Breather } from './breather.js'
import type { Demand, Group } from './demand.js'
import { utcText } from '../../time/iso-text.js'
import { hottestSeconds } from './hottest.js'

const secondsLooked = 20
const mostSuggestions = 10
/** Fewer jobs at once than this are no crowd. */
const crowd = 10
const niceSeconds = [10, 30, 60, 120, 300, 600, 1_800, 3_600]

/** What jitter would do about the hottest seconds: which jobs to give how much, and the peaks before and after. */
export async function suggest(
  demand: Demand,
  breather: Breather,
): Promise<Pick<LoadSuggestion, 'peak_before' | 'peak_after' | 'suggestions'>> {
  const hot = hottestSeconds(demand.seconds, secondsLooked)
  const found = new Map<Group, number>()
  for (const { second } of hot) {
    for (const group of demand.groups.values()) {
      if (group.unspread >= crowd && !found.has(group) && demand.ticksIn(group, second))
        found.set(group, second)
      await breather.breathe()
    }
  }
  const spreads = [...found]
    .map(([group, second]) => ({ group, second, jitter: jitterFor(group, demand.from) }))
    .filter(({ jitter }) => jitter > 1)
    .sort((a, b) => b.group.unspread - a.group.unspread)
    .slice(0, mostSuggestions)
  const after = Float64Array.from(demand.seconds)
  for (const { group, jitter } of spreads) await spread(demand, group, jitter, after, breather)
  return {
    peak_before: peakOf(demand.seconds),
    peak_after: peakOf(after),
    suggestions: spreads.map(({ group, second, jitter }) => ({
      schedule: group.definition.schedule,
      timezone: group.definition.timezone,
      jobs: group.unspread,
      jitter_seconds: jitter,
      hottest_at: utcText(demand.from + second * 1000),
      before: Math.round(demand.seconds[second] ?? 0),
      after: Math.ceil(after[second] ?? 0),
      sample: group.samples.map(({ job_id, name }) => ({ job_id, name })),
    })),
  }
}

/** So much that few start in one second, and not more than half of the time between two ticks. */
function jitterFor({ schedule, unspread }: Group, from: number): number {
  const first = schedule.next(from - 1)
  const second = first === null ? null : schedule.next(first)
  const most = first === null || second === null ? 3_600 : (second - first) / 2_000
  const wanted = niceSeconds.find((seconds) => unspread / seconds <= crowd) ?? 3_600
  return Math.floor(Math.min(wanted, most))
}

async function spread(
  demand: Demand,
  group: Group,
  jitter: number,
  seconds: Float64Array,
  breather: Breather,
): Promise<void> {
  for (const tick of demand.ticksOf(group)) {
    if (tick >= 0 && tick < seconds.length) seconds[tick] = (seconds[tick] ?? 0) - group.unspread
    const end = Math.min(seconds.length, tick + jitter)
    for (let second = Math.max(0, tick); second < end; second++)
      seconds[second] = (seconds[second] ?? 0) + group.unspread / jitter
    await breather.breathe()
  }
}

function peakOf(seconds: Float64Array): number {
  return Math.ceil(seconds.reduce((most, count) => Math.max(most, count), 0))
}
