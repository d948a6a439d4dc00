import type { ConfigProblem } from './problem.js'
import type { Provenance } from './provenance.js'
import type { Config, SettingKey } from './settings.js'
import { settings } from './settings.js'

type Duration = 'seconds' | 'milliseconds'
type DurationKey = {
  [K in SettingKey]: (typeof settings)[K]['type'] extends Duration ? K : never
}[SettingKey]

/** `factor` × `smaller` < `larger`, or ≤ where `orEqual`. Both are durations, compared in milliseconds. */
export interface Relation {
  readonly name: string
  readonly factor: number
  readonly smaller: DurationKey
  readonly orEqual: boolean
  readonly larger: DurationKey
  /** Completes the sentence "so that …". */
  readonly why: string
}

/**
 * How settings depend on each other. Two heartbeats fit in a run's lease as well, since that is never shorter than
 * the partition lease.
 */
export const relations: readonly Relation[] = [
  {
    name: 'renewals fit in the lease',
    factor: 3,
    smaller: 'leaseRenewSeconds',
    orEqual: false,
    larger: 'leaseTtlSeconds',
    why: 'two renewals may come late before a partition is lost',
  },
  {
    name: 'heartbeats fit in the lease',
    factor: 2,
    smaller: 'heartbeatMs',
    orEqual: false,
    larger: 'leaseTtlSeconds',
    why: 'a living process is not taken for dead after one late heartbeat',
  },
  {
    name: 'a run outlasts a takeover',
    factor: 1,
    smaller: 'leaseTtlSeconds',
    orEqual: true,
    larger: 'runLeaseSeconds',
    why: 'no run is taken from its worker sooner than a partition from its owner',
  },
  {
    name: 'a takeover misses nothing',
    factor: 1,
    smaller: 'leaseTtlSeconds',
    orEqual: false,
    larger: 'lateToleranceSeconds',
    why: 'a tick that waited for a new owner still runs late and does not count as missed',
  },
  {
    name: 'scans run ahead of staging',
    factor: 1,
    smaller: 'scanIntervalMs',
    orEqual: false,
    larger: 'stageAheadMs',
    why: 'a scan sees every tick before its time',
  },
  {
    name: 'polls run ahead of leasing',
    factor: 2,
    smaller: 'leasePollMs',
    orEqual: false,
    larger: 'leaseAheadMs',
    why: 'a worker sees every staged run before its time',
  },
  {
    name: 'only staged runs are leased',
    factor: 1,
    smaller: 'leaseAheadMs',
    orEqual: true,
    larger: 'stageAheadMs',
    why: 'there is something staged for a worker that leases ahead',
  },
]

export function relationHolds(relation: Relation, config: Config): boolean {
  const left = relation.factor * milliseconds(relation.smaller, config)
  const right = milliseconds(relation.larger, config)
  return relation.orEqual ? left <= right : left < right
}

function milliseconds(key: DurationKey, config: Config): number {
  // Rounded, because 0.3 s × 1000 is not quite 300.
  return settings[key].type === 'seconds' ? Math.round(config[key] * 1_000) : config[key]
}

export function relationRule({ factor, smaller, orEqual, larger }: Relation): string {
  const left = factor === 1 ? settings[smaller].env : `${factor} × ${settings[smaller].env}`
  return `${left} ${orEqual ? '≤' : '<'} ${settings[larger].env}`
}

/** Checks every relation whose settings could be read: a value refused already shall not be complained of twice. */
export function violatedRelations(
  config: Config,
  provenance: Provenance,
  unreadable: ReadonlySet<SettingKey>,
): ConfigProblem[] {
  return relations
    .filter(({ smaller, larger }) => !unreadable.has(smaller) && !unreadable.has(larger))
    .filter((relation) => !relationHolds(relation, config))
    .map((relation) => {
      const { smaller, larger } = relation
      const found = (key: DurationKey) => `${settings[key].env} is ${config[key]} (${provenance[key]})`
      const message =
        `${relationRule(relation)} must hold, so that ${relation.why}: ${found(smaller)}, ${found(larger)}; ` +
        'lower the first or raise the second'
      return { where: relation.name, message }
    })
}
