import { ApiError, ConnectionError } from '@carillon/sdk/browser'
import { storedKey } from './session.js'

/** Alerts as the API tells them. A server without them answers `route_not_found`: then the raw events are shown. */
export interface Alert {
  alert_id: string
  kind: string
  severity: 'critical' | 'warning' | 'info'
  state: 'firing' | 'resolved' | 'silenced'
  job_id?: string | null
  job_name?: string | null
  /** One line, for people. */
  subject: string
  /** What its kind means. */
  summary: string
  detail: unknown
  starts_at: string
  last_seen_at: string
  ends_at: string | null
  count: number
  silenced_by?: string | null
  runbook?: string | null
}

export interface Silence {
  silence_id: string
  kind?: string | null
  job_id?: string | null
  job_name?: string | null
  tag?: string | null
  until: string
  reason: string
}

export interface Rule {
  /** Null: the default of the kind, which holds where there is no rule. */
  rule_id: string | null
  kind: string
  job_id: string | null
  tag: string | null
  params: unknown
  severity: string
  enabled: boolean
  channels: string[] | null
  summary?: string
}

export interface Channel {
  channel_id: string
  name: string
  type: string
  min_severity: string
  last_delivery?: { at: string; ok: boolean; error: string | null } | null
}

interface Page<Item> {
  data: Item[]
  next_cursor: string | null
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const key = storedKey()
  let answer: Response
  try {
    answer = await fetch(`/api/v1${path}`, {
      method,
      headers: {
        accept: 'application/json, application/problem+json',
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
  } catch (error) {
    throw new ConnectionError(method, new URL(path, location.origin).href, String(error), error)
  }
  const text = await answer.text()
  const value = (text === '' ? undefined : JSON.parse(text)) as T & Record<string, string>
  if (answer.ok) return value
  throw new ApiError({
    status: answer.status,
    code: value['code'] ?? 'unexpected_answer',
    detail: value['detail'] ?? `HTTP ${answer.status}`,
    hint: value['hint'] ?? '',
    errors: [],
    requestId: value['request_id'],
  })
}

const id = encodeURIComponent

export const alertCalls = {
  list: (state: string, cursor: string) =>
    call<Page<Alert>>(
      'GET',
      `/alerts?limit=50${state === '' ? '' : `&state=${state}`}${cursor === '' ? '' : `&cursor=${id(cursor)}`}`,
    ),
  resolve: (alert: string) => call<unknown>('POST', `/alerts/${id(alert)}/resolve`, {}),
  silences: () => call<Page<Silence>>('GET', '/alert-silences'),
  silence: (silence: { kind?: string; job_id?: string; until: string; reason: string }) =>
    call<unknown>('POST', '/alert-silences', silence),
  endSilence: (silence: string) => call<unknown>('DELETE', `/alert-silences/${id(silence)}`),
  rules: () => call<Page<Rule>>('GET', '/alert-rules'),
  channels: () => call<Page<Channel>>('GET', '/alert-channels'),
  test: (channel: string) => call<unknown>('POST', `/alert-channels/${id(channel)}/test`, {}),
}
