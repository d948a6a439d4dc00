import type { AlertChannelType, AlertSeverity } from '@carillon/contract'
import type { EffectiveRule } from './rule-book.js'
import { fleetTenant } from './rule-book.js'

export interface RoutedAlert {
  alert: number
  tenant: number | null
  kind: string
  severity: AlertSeverity
  job: number | null
  tags: string[] | null
  open: boolean
  told: 'firing' | 'resolved' | null
  /** An alert about a channel that takes nothing is not sent there. */
  failing_channel: string | null
}

export interface RoutedChannel {
  channel: string
  tenant: number
  type: AlertChannelType
  min_severity: AlertSeverity
}

export interface RoutedSilence {
  silence: string
  tenant: number
  kind: string | null
  job: number | null
  tag: string | null
  until: number
}

/** What a channel was or is to be sent of an alert. */
export interface Sent {
  alert: number
  channel: string
  event: 'firing' | 'resolved'
  delivered: boolean
  waiting: boolean
  given_up: boolean
}

export interface Decision {
  alert: number
  severity: AlertSeverity
  told: 'firing' | 'resolved' | null
  silenced_by: string | null
  muted: boolean
  route_at: number | null
  send: { tenant: number; channel: string; alert: number; event: 'firing' | 'resolved' }[]
  stop: { alert: number; channel: string }[]
}

const ranks: Record<AlertSeverity, number> = { info: 0, warning: 1, critical: 2 }

/** Whom to tell of an alert, and of what. Pure. */
export function decide(
  alert: RoutedAlert,
  rule: EffectiveRule,
  ways: { channels: readonly RoutedChannel[]; silences: readonly RoutedSilence[]; sent: readonly Sent[] },
): Decision {
  const owner = alert.tenant ?? fleetTenant
  const firing = ways.sent.filter((one) => one.alert === alert.alert && one.event === 'firing')
  const decision: Decision = {
    ...{
      alert: alert.alert,
      severity: rule.severity,
      told: alert.told,
      silenced_by: null,
      muted: !rule.enabled,
    },
    ...{ route_at: null, send: [], stop: [] },
  }
  const stopAll = () => firing.map(({ channel }) => ({ alert: alert.alert, channel }))
  if (!alert.open || !rule.enabled) {
    if (alert.told !== 'firing') return { ...decision, stop: stopAll() }
    // Who was told that it began is told that it is over; what is still on its way goes first.
    const heard = firing.filter(({ delivered, waiting }) => delivered || waiting)
    return {
      ...decision,
      told: 'resolved',
      send: heard.map(({ channel }) => ({ tenant: owner, channel, alert: alert.alert, event: 'resolved' })),
      stop: firing
        .filter(({ delivered }) => delivered)
        .map(({ channel }) => ({ alert: alert.alert, channel })),
    }
  }
  const silence = ways.silences.find((one) => one.tenant === owner && matches(one, alert))
  if (silence !== undefined)
    return { ...decision, silenced_by: silence.silence, route_at: silence.until, stop: stopAll() }
  const wanted = ways.channels.filter((channel) => isToldOf(channel, owner, rule, alert))
  const send = wanted.filter((channel) => isNews(channel, alert, firing))
  return {
    ...decision,
    told: 'firing',
    send: send.map(({ channel }) => ({ tenant: owner, channel, alert: alert.alert, event: 'firing' })),
  }
}

function matches({ kind, job, tag }: RoutedSilence, alert: RoutedAlert): boolean {
  if (kind !== null && kind !== alert.kind) return false
  if (job !== null && job !== alert.job) return false
  return tag === null || alert.tags?.includes(tag) === true
}

function isToldOf(channel: RoutedChannel, owner: number, rule: EffectiveRule, alert: RoutedAlert): boolean {
  return (
    channel.tenant === owner &&
    ranks[rule.severity] >= ranks[channel.min_severity] &&
    (rule.channels === null || rule.channels.includes(channel.channel)) &&
    channel.channel !== alert.failing_channel
  )
}

/** Not what the channel has, or is about to have. An Alertmanager forgets what it is not told again. */
function isNews(channel: RoutedChannel, { told }: RoutedAlert, firing: readonly Sent[]): boolean {
  const before = firing.find((one) => one.channel === channel.channel)
  if (before === undefined || told === 'resolved') return true
  if (before.waiting) return false
  return channel.type === 'alertmanager' || (!before.delivered && !before.given_up)
}
