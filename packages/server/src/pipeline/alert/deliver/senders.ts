import type { AlertChannelType } from '@carillon/contract'
import type { LookupFunction } from 'node:net'
import { Agent } from 'undici'
import type { AddressGuard } from '../../../targets/address-guard.js'
import { createGuardedConnector } from '../../../targets/guarded-connector.js'
import { signatureHeaders } from '../../../targets/signing.js'
import { sendMail } from './email.js'
import { alertmanagerAlerts, cloudEvent, type Message, slackMessage } from './message.js'

/** What a channel has stored: which of them depends on its type. */
export interface ChannelSettings {
  url?: string
  headers?: Record<string, string>
  smtp_host?: string
  smtp_port?: number
  smtp_tls?: 'starttls' | 'tls' | 'none'
  smtp_user?: string
  smtp_password?: string
  from?: string
  to?: string[]
}

export interface Channel {
  tenant: number
  type: AlertChannelType
  settings: ChannelSettings
}

export interface SendersOptions {
  guard: AddressGuard
  secretsOf: (tenant: number) => Promise<readonly Uint8Array[]>
  /** An Alertmanager forgets an alert so long after it last heard of it. */
  alertLivesMs: number
  timeoutMs?: number
  lookup?: LookupFunction
}

const defaultTimeoutMs = 10_000

/** Sends what channels are told. Throws where one does not take it, with a text that has nothing of the channel's settings in it. */
export class Senders {
  private readonly agent: Agent
  private readonly timeoutMs: number
  private readonly closing = new AbortController()

  constructor(private readonly options: SendersOptions) {
    this.timeoutMs = options.timeoutMs ?? defaultTimeoutMs
    this.agent = new Agent({
      connect: createGuardedConnector({
        guard: options.guard,
        connectTimeoutMs: this.timeoutMs,
        ...(options.lookup && { lookup: options.lookup }),
      }),
      connections: 8,
      pipelining: 1,
    })
  }

  async send(channel: Channel, message: Message): Promise<void> {
    const { settings, type } = channel
    switch (type) {
      case 'alertmanager':
        return this.post(
          alertsUrl(settings),
          settings,
          alertmanagerAlerts(message, this.options.alertLivesMs),
        )
      case 'slack':
        return this.post(new URL(settings.url ?? ''), settings, slackMessage(message))
      case 'webhook':
        return this.signed(channel, message)
      case 'email':
        return sendMail(settings, message, {
          ...{ guard: this.options.guard, timeoutMs: this.timeoutMs, signal: this.closing.signal },
        })
    }
  }

  /** A GET without a body: for a monitor outside, which counts the calls. */
  async call(url: string): Promise<void> {
    await this.request(new URL(url), 'GET', {}, null)
  }

  async close(): Promise<void> {
    this.closing.abort()
    await this.agent.destroy()
  }

  private async signed({ tenant, settings }: Channel, message: Message): Promise<void> {
    const body = Buffer.from(JSON.stringify(cloudEvent(message)))
    const secrets = await this.options.secretsOf(tenant)
    const signature = signatureHeaders({ id: message.id, sentAt: message.now, body }, secrets)
    const url = new URL(settings.url ?? '')
    await this.request(url, 'POST', { ...settings.headers, ...Object.fromEntries(signature) }, body)
  }

  private post(url: URL, { headers = {} }: ChannelSettings, body: object): Promise<void> {
    return this.request(url, 'POST', headers, Buffer.from(JSON.stringify(body)))
  }

  private async request(
    url: URL,
    method: 'GET' | 'POST',
    headers: Record<string, string>,
    body: Buffer | null,
  ): Promise<void> {
    const signal = AbortSignal.timeout(this.timeoutMs)
    const { statusCode, body: answer } = await this.agent
      .request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers: {
          ...headers,
          'user-agent': 'carillon',
          ...(body !== null && { 'content-type': 'application/json' }),
        },
        body,
        signal,
      })
      .catch((error: unknown) => {
        if (signal.aborted) throw new Error(`${url.host} did not answer within ${this.timeoutMs / 1000} s`)
        throw new Error(`${url.host}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        })
      })
    // Nothing of the answer is kept: it may repeat what it was sent.
    answer.on('error', () => {})
    answer.destroy()
    if (statusCode < 200 || statusCode > 299) throw new Error(`${url.host} answered ${statusCode}`)
  }
}

/** Where an Alertmanager takes alerts, below the address that it is reached at. */
export function alertsUrl({ url = '' }: ChannelSettings): URL {
  const base = new URL(url)
  const path = base.pathname.replace(/\/+$/, '')
  base.pathname = path.endsWith('/api/v2/alerts') ? path : `${path}/api/v2/alerts`
  return base
}
