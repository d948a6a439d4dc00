import type { Alert, AlertChannel, AlertRule, AlertSilence } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'

const signs: Record<Alert['state'], string> = { firing: '!', silenced: '~', resolved: '✓' }

export function alertTable(alerts: readonly Alert[], look: Look): string {
  return renderTable<Alert>(
    [
      {
        title: 'STATE',
        cell: ({ state }) => `${signs[state]} ${state}`,
        paint: (text, alert) => paintAlert(text, alert, look),
      },
      { title: 'SEVERITY', cell: ({ severity }) => severity },
      { title: 'KIND', cell: ({ kind }) => visible(kind) },
      { title: 'ABOUT', cell: ({ subject }) => visible(subject), least: 16 },
      { title: `SINCE (${look.timeZone})`, cell: (alert) => when(alert.starts_at, look) },
      { title: 'FOUND', cell: ({ count }) => String(count), optional: true },
      { title: 'ID', cell: ({ alert_id: id }) => visible(id) },
    ],
    alerts,
    look,
  )
}

export function alertDetails(alert: Alert, look: Look): string {
  const facts: [string, string | null][] = [
    ['Alert', visible(alert.alert_id)],
    ['About', look.colors.bold(visible(alert.subject))],
    ['State', paintAlert(`${signs[alert.state]} ${alert.state}`, alert, look)],
    ['Severity', alert.severity],
    ['Kind', visible(alert.kind)],
    ['Means', visible(alert.summary)],
    ['Of', alert.scope === 'fleet' ? 'the fleet' : 'the tenant'],
    ['Job', alert.job_name === null ? null : `${visible(alert.job_name)} (${visible(alert.job_id ?? '')})`],
    ['Since', whenInZone(alert.starts_at, look)],
    ['Last found', whenInZone(alert.last_seen_at, look)],
    ['Found', `${alert.count} times`],
    ['Over', alert.ends_at === null ? null : whenInZone(alert.ends_at, look)],
    ['Resolved by', alert.resolved_by === null ? null : visible(alert.resolved_by)],
    ['Silenced by', alert.silenced_by === null ? null : visible(alert.silenced_by)],
    ['Detail', visible(JSON.stringify(alert.detail) ?? '')],
    ...(alert.notifications ?? []).map((sent): [string, string] => ['Told', told(sent, look)]),
    ['What to do', visible(alert.runbook)],
  ]
  return renderFacts(
    facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    look,
  )
}

function told(sent: NonNullable<Alert['notifications']>[number], look: Look): string {
  const what = `${visible(sent.channel)}, ${sent.event}`
  if (sent.delivered_at !== null) return `${what}: ${when(sent.delivered_at, look)}`
  const why = sent.error === null ? '' : `, ${visible(sent.error)}`
  if (sent.given_up_at !== null) return `${what}: given up after ${sent.tries} tries${why}`
  return `${what}: not yet (${sent.tries} tries${why})`
}

function paintAlert(text: string, { state, severity }: Alert, { colors }: Look): string {
  if (state === 'resolved') return colors.dim(text)
  if (state === 'silenced') return colors.dim(text)
  return severity === 'critical' ? colors.red(text) : colors.yellow(text)
}

export function silenceTable(silences: readonly AlertSilence[], look: Look): string {
  return renderTable<AlertSilence>(
    [
      { title: 'SILENCE', cell: ({ silence_id: id }) => visible(id) },
      { title: 'OF', cell: whatOf, least: 10 },
      { title: `UNTIL (${look.timeZone})`, cell: ({ until }) => when(until, look) },
      { title: 'REASON', cell: ({ reason }) => visible(reason), least: 10 },
      { title: 'BY', cell: ({ created_by: by }) => visible(by), optional: true },
    ],
    silences,
    look,
  )
}

export function ruleTable(rules: readonly AlertRule[], look: Look): string {
  return renderTable<AlertRule>(
    [
      { title: 'KIND', cell: ({ kind }) => visible(kind) },
      { title: 'FOR', cell: forWhom, least: 8 },
      {
        title: 'STATE',
        cell: ({ enabled }) => (enabled ? 'on' : 'off'),
        paint: (text, { enabled }) => (enabled ? text : look.colors.dim(text)),
      },
      { title: 'SEVERITY', cell: ({ severity }) => severity },
      { title: 'PARAMS', cell: ({ params }) => paramWords(params), least: 8 },
      { title: 'RULE', cell: ({ rule_id: id }) => (id === null ? 'default' : visible(id)) },
    ],
    rules,
    look,
  )
}

export function channelTable(channels: readonly AlertChannel[], look: Look): string {
  return renderTable<AlertChannel>(
    [
      { title: 'CHANNEL', cell: ({ name }) => visible(name), least: 8 },
      { title: 'TYPE', cell: ({ type }) => type },
      { title: 'TO', cell: whereTo, least: 10 },
      { title: 'FROM SEVERITY', cell: ({ min_severity: least }) => least },
      { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
      {
        title: 'LAST',
        cell: ({ last_delivery: last }) => (last === null ? '–' : last.ok ? '✓ taken' : '✗ not taken'),
        paint: (text, { last_delivery: last }) => (last?.ok === false ? look.colors.red(text) : text),
      },
      { title: 'ID', cell: ({ channel_id: id }) => visible(id) },
    ],
    channels,
    look,
  )
}

function whatOf({ kind, job_name: job, job_id: id, tag }: AlertSilence): string {
  const words = [
    kind === null ? null : visible(kind),
    id === null ? null : `job ${visible(job ?? id)}`,
    tag === null ? null : `tag ${visible(tag)}`,
  ].filter((word) => word !== null)
  return words.length === 0 ? 'everything' : words.join(', ')
}

function forWhom({ job_id: id, job_name: job, tag }: AlertRule): string {
  if (id !== null) return `job ${visible(job ?? id)}`
  return tag === null ? 'all' : `tag ${visible(tag)}`
}

function paramWords(params: AlertRule['params']): string {
  const words = Object.entries(params).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${value}`],
  )
  return words.join(' ')
}

function whereTo({ url, to }: AlertChannel): string {
  return visible(url ?? to.join(', '))
}
