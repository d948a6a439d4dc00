import { partitionCount } from '../../platform/partition.js'
import { ageText } from '../ages.js'
import type { Finding, Over } from './finding.js'
import type { Judged } from './judge-tail.js'
import type { RuleBook } from './rule-book.js'

/** What fleet-state.sql says. */
export interface FleetState {
  now: number
  schedulers: number
  /** Since when no scheduler has been alive; null: one is. */
  none_since: number | null
  /** Partitions that have timers and no owner, and those whose timers wait. */
  ownerless: number[]
  waiting: number[]
  longest: number
  takeovers: number
}

/** What the watch remembers of the fleet, from pass to pass and from process to process. */
export interface FleetMemory {
  /** Since when partitions that have timers have had no owner. */
  ownerless?: [partition: number, since: number][]
  /** How often partitions had been taken at some instants, oldest first. */
  takeovers?: [at: number, sum: number][]
}

const churnWindowMs = 600_000
const sampleMs = 15_000
const mostShown = 20

/** How long partitions may wait, before they are asked for. */
export function stalledMs(rules: RuleBook): number {
  return (rules.find(null, 'partition_stalled').params['seconds'] ?? 30) * 1000
}

/** Judges how the fleet is. Answers what to remember as well. Pure. */
export function judgeFleet(
  state: FleetState,
  rules: RuleBook,
  memory: FleetMemory,
): Judged & { memory: FleetMemory } {
  const ownerless = ownerlessSince(state, memory)
  const takeovers = sampled(memory.takeovers ?? [], state)
  const judged: Judged = { raise: [], resolve: [] }
  const verdicts = [
    noScheduler(state, rules),
    partitionStalled(state, rules, ownerless),
    ownershipChurn(takeovers, state, rules),
  ]
  for (const verdict of verdicts) {
    if (verdict === null) continue
    if ('subject' in verdict) judged.raise.push(verdict)
    else judged.resolve.push(verdict)
  }
  return { ...judged, memory: { ownerless, takeovers } }
}

type Verdict = Finding | Over | null

function noScheduler({ none_since: since, now }: FleetState, rules: RuleBook): Verdict {
  const over = { tenant: null, fingerprint: 'no_scheduler' }
  const rule = rules.find(null, 'no_scheduler')
  if (since === null || !rule.enabled) return over
  if (now - since < (rule.params['seconds'] ?? 30) * 1000) return null
  return {
    ...over,
    kind: 'no_scheduler',
    severity: rule.severity,
    subject: `no scheduler has been alive for ${ageText(now - since)}: nothing fires`,
    detail: {
      since: new Date(since).toISOString(),
      todo: 'Start a process with the role scheduler: carillon up --role scheduler',
    },
  }
}

/** Each partition by itself: while they change hands some are always without an owner, and none for long. */
function ownerlessSince({ ownerless, now }: FleetState, memory: FleetMemory): [number, number][] {
  const before = new Map(memory.ownerless)
  return ownerless.map((partition) => [partition, Math.min(before.get(partition) ?? now, now)])
}

function partitionStalled(state: FleetState, rules: RuleBook, ownerless: [number, number][]): Verdict {
  const over = { tenant: null, fingerprint: 'partition_stalled' }
  const rule = rules.find(null, 'partition_stalled')
  const forsaken = ownerless.filter(([, since]) => state.now - since >= stalledMs(rules))
  const stalled = [...new Set([...state.waiting, ...forsaken.map(([partition]) => partition)])].sort(
    (a, b) => a - b,
  )
  if (stalled.length === 0 || !rule.enabled) return over
  const waited = Math.max(state.longest, ...forsaken.map(([, since]) => state.now - since))
  return {
    ...over,
    kind: 'partition_stalled',
    severity: rule.severity,
    subject: `${stalled.length} of ${partitionCount} partitions do not fire: their ticks wait for up to ${ageText(waited)}`,
    detail: {
      partitions: stalled.slice(0, mostShown),
      stalled: stalled.length,
      without_owner: forsaken.length,
      longest_wait_ms: waited,
      todo: 'carillon cluster',
    },
  }
}

function ownershipChurn(samples: [number, number][], { takeovers }: FleetState, rules: RuleBook): Verdict {
  const over = { tenant: null, fingerprint: 'ownership_churn' }
  const rule = rules.find(null, 'ownership_churn')
  const [first] = samples
  const each = first === undefined ? 0 : Math.max(0, takeovers - first[1]) / partitionCount
  const most = rule.params['takeovers'] ?? 4
  if (!rule.enabled || each < most / 2) return over
  if (each < most) return null
  return {
    ...over,
    kind: 'ownership_churn',
    severity: rule.severity,
    subject: `partitions changed hands ${Math.round(each * 10) / 10} times each within ten minutes`,
    detail: {
      takeovers: takeovers - (first?.[1] ?? takeovers),
      window_ms: churnWindowMs,
      todo: 'See the logs of the schedulers: one comes and goes, or is too busy to renew its leases.',
    },
  }
}

/** The samples of the window, with the present one where the last is old enough. After a failover counts begin anew. */
function sampled(before: [number, number][], { now, takeovers }: FleetState): [number, number][] {
  const usable = before.filter(([at, sum]) => at > now - churnWindowMs && at <= now && sum <= takeovers)
  const last = usable.at(-1)
  if (last === undefined || now - last[0] >= sampleMs) usable.push([now, takeovers])
  return usable
}
