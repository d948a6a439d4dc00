import type { Outcome } from '../lib/ledger.js'
import { outcomeWords } from '../lib/ledger.js'
import { Icon, type IconName } from './icon.js'

export type Hue = 'good' | 'warn' | 'bad' | 'busy' | 'quiet' | 'late'

const looks: Record<string, [IconName, Hue]> = {
  // Runs and ticks
  success: ['check', 'good'],
  late: ['late', 'late'],
  caught_up: ['retry', 'late'],
  failed: ['cross', 'bad'],
  dead: ['skull', 'bad'],
  skipped: ['skip', 'warn'],
  missed: ['missed', 'bad'],
  cancelled: ['ban', 'quiet'],
  running: ['play', 'busy'],
  pending: ['clock', 'busy'],
  retrying: ['retry', 'warn'],
  stale: ['skip', 'quiet'],
  // Jobs
  active: ['dot', 'good'],
  paused: ['pause', 'warn'],
  ended: ['stop', 'quiet'],
  deleted: ['cross', 'quiet'],
  collected: ['cross', 'quiet'],
  // Processes
  alive: ['dot', 'good'],
  left: ['stop', 'quiet'],
  // Breakers
  closed: ['check', 'good'],
  open: ['ban', 'bad'],
  half_open: ['clock', 'warn'],
  draining: ['late', 'warn'],
  // Things that go on in the background
  canary: ['dot', 'busy'],
  watching: ['clock', 'busy'],
  done: ['check', 'good'],
  stopped: ['stop', 'bad'],
  // Ticks ahead
  planned: ['clock', 'quiet'],
  moved: ['arrow', 'busy'],
  staged: ['play', 'busy'],
  // Alerts
  firing: ['warn', 'bad'],
  resolved: ['check', 'good'],
  silenced: ['pause', 'quiet'],
  critical: ['warn', 'bad'],
  warning: ['warn', 'warn'],
  info: ['dot', 'busy'],
  // Keys
  expired: ['clock', 'quiet'],
  revoked: ['ban', 'quiet'],
  ready: ['check', 'good'],
  not_ready: ['cross', 'bad'],
}

/** A state as icon, word and hue: none of the three is needed to read the other two. */
export function Status({ state, words }: { state: string; words?: string }) {
  const [icon, hue] = lookOf(state)
  return (
    <span className={`status ${hue}`}>
      <Icon name={icon} />
      <span>{words ?? outcomeWords[state as Outcome] ?? state.replaceAll('_', ' ')}</span>
    </span>
  )
}

/** A run says "success" in a list; the strip says "on time". */
export function RunStatusMark({ status }: { status: string }) {
  return <Status state={status} words={status === 'pending' ? 'waiting' : status} />
}

export function lookOf(state: string): [IconName, Hue] {
  return looks[state] ?? ['dot', 'quiet']
}
