import { type ServiceStatus, type StatusReason, statusReasons } from '@carillon/contract'
import type { FleetSigns } from '../pipeline/monitor/fleet-sample.js'

/** What a process knows when it is asked how things are. Nothing of it is asked for then. */
export interface StatusFacts {
  /** How long no heartbeat of this process has reached the database, and from when on that is too long. */
  silentMs: number
  longestSilenceMs: number
  /** Why this process does not work at present. */
  away: string | null
  alive: ServiceStatus['alive']
  counted: { sample: FleetSigns; ageMs: number } | null
  /** Later than this is too late. */
  lagBoundMs: number
  /** Of a process that is to own partitions: how long it has owned none of its own, and from when on that is too long. */
  ownership: { withoutMs: number; graceMs: number } | null
}

type Reason = ServiceStatus['reasons'][number]

/** Looked at every five seconds, within two: older ones say nothing about now. */
const oldestNumbersMs = 30_000
const partitions = 256

const runbooks: Partial<Record<StatusReason, string>> = {
  database_unreachable: 'database-silent',
  no_scheduler: 'no-scheduler',
  partitions_unowned: 'partition-unowned',
  ticks_late: 'ticks-not-fired',
  runs_late: 'queue-old',
  no_worker: 'queue-old',
  owns_nothing: 'ownership-churn',
  numbers_old: 'sample-old',
}

/** The worst first. Without the database nothing else is known: then that is all that is said of the fleet. */
export function judgeStatus(facts: StatusFacts): Pick<ServiceStatus, 'state' | 'reasons'> {
  const { silentMs, longestSilenceMs } = facts
  const reasons =
    silentMs > longestSilenceMs
      ? [reason('database_unreachable', `no heartbeat reached the database for ${seconds(silentMs)}`)]
      : [...ofFleet(facts), ...ofNumbers(facts)]
  reasons.push(...ofProcess(facts))
  const states = new Set(reasons.map(({ state }) => state))
  const state = states.has('down') ? 'down' : states.has('degraded') ? 'degraded' : 'ok'
  return { state, reasons: reasons.sort((a, b) => rank(a) - rank(b)) }
}

function ofFleet({ alive, counted, ownership }: StatusFacts): Reason[] {
  const found: Reason[] = []
  if (alive.scheduler === 0) found.push(reason('no_scheduler', 'no scheduler is alive: nothing fires'))
  if (alive.worker === 0 && counted !== null && counted.sample.remote_workers === 0)
    found.push(reason('no_worker', 'no worker is alive: nothing runs'))
  if (ownership !== null && ownership.withoutMs > ownership.graceMs)
    found.push(reason('owns_nothing', describeOwnsNothing(ownership.withoutMs, alive.scheduler)))
  return found
}

export function describeOwnsNothing(withoutMs: number, schedulers: number): string {
  const others = schedulers > 1 ? 'others have them' : 'it is the only scheduler'
  return `this scheduler has owned no partition for ${seconds(withoutMs)}, and ${others}`
}

function ofNumbers({ counted, lagBoundMs, away }: StatusFacts): Reason[] {
  if (counted === null || counted.ageMs > oldestNumbersMs) {
    const old = counted === null ? 'have not been counted yet' : `are ${seconds(counted.ageMs)} old`
    return away === 'starting' ? [] : [reason('numbers_old', `the numbers of the fleet ${old}`)]
  }
  const { unowned, oldest_due_ms: lagMs, oldest_ready_ms: waitMs } = counted.sample
  const bound = seconds(lagBoundMs)
  const found: Reason[] = []
  if (unowned > 0)
    found.push(
      reason(
        'partitions_unowned',
        `${unowned} of ${partitions} partitions have no live owner: their jobs do not fire`,
      ),
    )
  if (lagMs > lagBoundMs)
    found.push(
      reason(
        'ticks_late',
        `a tick has been due for ${seconds(lagMs)} and was not fired; the bound is ${bound}`,
      ),
    )
  if (waitMs > lagBoundMs)
    found.push(
      reason('runs_late', `a run that could start has waited for ${seconds(waitMs)}; the bound is ${bound}`),
    )
  return found
}

function ofProcess({ away }: StatusFacts): Reason[] {
  if (away === null) return []
  return [
    away === 'starting'
      ? reason('starting', 'this process is starting')
      : reason('draining', 'this process is shutting down: it takes nothing new'),
  ]
}

function reason(code: StatusReason, detail: string): Reason {
  const page = runbooks[code]
  return {
    code,
    state: statusReasons[code],
    detail,
    runbook: page === undefined ? null : `docs/operate/runbooks/${page}.md`,
  }
}

function rank({ state }: Reason): number {
  return state === 'down' ? 0 : 1
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}
