import { alertKindOf, alertRunbook, type AlertSeverity } from '@carillon/contract'
import { utcText } from '../../../time/iso-text.js'

/** What a channel is told: all that any of them needs to say it. */
export interface Message {
  /** The same for every try, so that a receiver can tell a repetition; another one when it is told anew. */
  id: string
  event: 'firing' | 'resolved' | 'test'
  alertId: string
  kind: string
  severity: AlertSeverity
  subject: string
  detail: unknown
  tenant: string
  fleet: boolean
  jobId: string | null
  jobName: string | null
  count: number
  startsAt: number
  endsAt: number | null
  now: number
}

export function summaryOf({ kind }: Pick<Message, 'kind'>): string {
  return alertKindOf(kind)?.raised ?? kind
}

/** In the manner of CloudEvents. */
export function cloudEvent(message: Message): object {
  return {
    specversion: '1.0',
    id: message.id,
    source: `carillon/${message.tenant}`,
    type: `dev.carillon.alert.${message.event}`,
    time: utcText(message.now),
    subject: message.alertId,
    datacontenttype: 'application/json',
    data: {
      alert_id: message.alertId,
      kind: message.kind,
      severity: message.severity,
      state: message.event === 'resolved' ? 'resolved' : 'firing',
      scope: message.fleet ? 'fleet' : 'tenant',
      tenant: message.tenant,
      job_id: message.jobId,
      job_name: message.jobName,
      subject: message.subject,
      summary: summaryOf(message),
      detail: message.detail,
      count: message.count,
      starts_at: utcText(message.startsAt),
      ends_at: message.endsAt === null ? null : utcText(message.endsAt),
      runbook: alertRunbook(message.kind),
    },
  }
}

/** As API v2 of Alertmanager takes it. An alert that we do not tell of any more is over there after `livesMs`. */
export function alertmanagerAlerts(message: Message, livesMs: number): object[] {
  const labels: Record<string, string | null> = {
    alertname: message.kind,
    severity: message.severity,
    service: 'carillon',
    tenant: message.tenant,
    alert_id: message.alertId,
    job_id: message.jobId,
    job_name: message.jobName,
  }
  const given = Object.entries(labels).filter(([, value]) => value !== null && value !== '')
  return [
    {
      labels: Object.fromEntries(given),
      annotations: {
        summary: message.subject,
        description: summaryOf(message),
        runbook: alertRunbook(message.kind),
        ...(todoOf(message) !== null && { todo: todoOf(message) }),
      },
      startsAt: new Date(message.startsAt).toISOString(),
      endsAt: new Date(
        message.event === 'resolved' ? (message.endsAt ?? message.now) : message.now + livesMs,
      ).toISOString(),
    },
  ]
}

const colors: Record<AlertSeverity, string> = { critical: '#c0392b', warning: '#d68910', info: '#2874a6' }

/** As incoming webhooks of Slack take it, and of those who are compatible with it. */
export function slackMessage(message: Message): object {
  const { severity, subject, event } = message
  const word = event === 'resolved' ? 'Resolved' : event === 'test' ? 'Test' : severity.toUpperCase()
  const line = `*${word}* ${escaped(subject)}`
  const facts = [
    message.jobName === null ? null : `job ${message.jobName}`,
    `tenant ${message.tenant}`,
    message.count > 1 ? `found ${message.count} times` : null,
    todoOf(message),
  ].filter((fact) => fact !== null)
  return {
    text: line,
    attachments: [
      {
        color: event === 'resolved' ? '#1e8449' : colors[severity],
        fallback: `${word} ${subject}`,
        text: escaped(facts.join(' · ')),
        footer: `carillon ${message.alertId}`,
        ts: Math.floor(message.startsAt / 1000),
      },
    ],
  }
}

export interface Mail {
  subject: string
  text: string
}

export function mailOf(message: Message): Mail {
  const { event, severity, subject } = message
  const word = event === 'resolved' ? 'RESOLVED' : event === 'test' ? 'TEST' : severity.toUpperCase()
  const lines = [
    subject,
    '',
    `What it means: ${summaryOf(message)}.`,
    ...(message.jobName === null ? [] : [`Job: ${message.jobName} (${message.jobId})`]),
    `Tenant: ${message.tenant}`,
    `Since: ${utcText(message.startsAt)}`,
    ...(message.endsAt === null ? [] : [`Until: ${utcText(message.endsAt)}`]),
    ...(todoOf(message) === null ? [] : [`What to do: ${todoOf(message)}`]),
    `More: carillon alerts show ${message.alertId}`,
    '',
    JSON.stringify(message.detail, null, 2),
    '',
  ]
  // No line break gets into a header.
  return {
    subject: `[carillon] ${word}: ${subject}`.replace(/[\r\n\t]+/g, ' ').slice(0, 300),
    text: lines.join('\n'),
  }
}

function todoOf({ detail }: Message): string | null {
  const todo = (detail as { todo?: unknown } | null)?.todo
  return typeof todo === 'string' ? todo : null
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
