import type { AlertChannelType, AlertSeverity } from '@carillon/contract'
import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type Clock, pause } from '../../platform/clock.js'
import { alertIdOf, channelIdOf, jobIdOf } from '../../platform/ids.js'
import type { Message } from './deliver/message.js'
import type { Channel, ChannelSettings } from './deliver/senders.js'
import type { Event } from './events.js'

interface Claimed {
  notification: number
  tenant: number
  channel: string
  event: 'firing' | 'resolved'
  created_at: number
  claimed_until: number
  tries: number
  now: number
  channel_name: string
  type: AlertChannelType
  settings: ChannelSettings
  tenant_name: string
  alert: number
  kind: string
  severity: AlertSeverity
  subject: string
  detail: unknown
  raised_at: number
  resolved_at: number | null
  count: number
  fleet: boolean
  job_uuid: string | null
  job_name: string | null
}

const claimStatement = statement<{ most: number; most_of_channel: number; lease_ms: number }, Claimed>(
  new URL('./claim-notifications.sql', import.meta.url),
)
const deliveredStatement = statement<
  { notification: number; claimed_until: number; resend_ms: number },
  { failures: number }
>(new URL('./mark-delivered.sql', import.meta.url))
const failedStatement = statement<
  { notification: number; claimed_until: number; wait_ms: number; most_ms: number; error: string },
  { failures: number; given_up: boolean }
>(new URL('./mark-failed.sql', import.meta.url))

/** Longer than any try takes. */
export const leaseMs = 20_000
const mostAtOnce = 40
/** Of one channel: one that takes nothing and says nothing holds up its own alone. */
const mostOfChannel = 4
/** Nobody waits longer for those that are on their way: what else there is to send goes meanwhile. */
const patienceMs = 1_000
/** So many tries in a row fail before people hear of it elsewhere. */
const failuresToTell = 3
const firstWaitMs = 5_000
const longestWaitMs = 600_000
const dayMs = 86_400_000
const longestError = 300

export interface DeliveriesOptions {
  database: Database
  clock: Clock
  log: Logger
  /** An Alertmanager is told again so often of what goes on. */
  resendMs: number
  send: (channel: Channel, message: Message) => Promise<void>
  raise: (event: Event) => void
  resolve: (fingerprint: string, tenant: number) => void
}

/**
 * Sends what is to be sent: each notification at least once, since it is marked after it was taken. Any number of processes may do it.
 */
export class Deliveries {
  private readonly onTheirWay = new Set<Promise<void>>()

  constructor(private readonly options: DeliveriesOptions) {}

  /** Sends, and waits a while for it. Answers whether there may be more. */
  async runOnce(): Promise<boolean> {
    const { database, clock } = this.options
    const most = mostAtOnce - this.onTheirWay.size
    const claimed =
      most === 0
        ? []
        : await database.run(claimStatement, { most, most_of_channel: mostOfChannel, lease_ms: leaseMs })
    const sending = claimed.map((one) => this.start(one))
    const patience = new AbortController()
    const all = most === 0 ? Promise.race(this.onTheirWay) : Promise.all(sending)
    await Promise.race([all, pause(clock, patienceMs, patience.signal)]).finally(() => patience.abort())
    return claimed.length > 0
  }

  /** When all that is on its way has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.onTheirWay)
  }

  private start(claimed: Claimed): Promise<void> {
    const { log } = this.options
    const sending: Promise<void> = this.deliver(claimed)
      // Its claim ends by itself, and it is sent again.
      .catch((error: unknown) => log.warn({ err: error }, 'what came of a notification could not be noted'))
      .finally(() => this.onTheirWay.delete(sending))
    this.onTheirWay.add(sending)
    return sending
  }

  private async deliver(claimed: Claimed): Promise<void> {
    const { database, send, resendMs } = this.options
    const { notification, claimed_until } = claimed
    try {
      await send(claimed, messageOf(claimed))
    } catch (error) {
      return this.failed(claimed, error)
    }
    const [marked] = await database.run(deliveredStatement, {
      notification,
      claimed_until,
      resend_ms: resendMs,
    })
    if ((marked?.failures ?? 0) > 0) this.options.resolve(fingerprintOf(claimed), claimed.tenant)
  }

  private async failed(claimed: Claimed, error: unknown): Promise<void> {
    const { database, log, raise, resendMs } = this.options
    const { notification, claimed_until, tenant, tries, type } = claimed
    const text = (error instanceof Error ? error.message : String(error)).slice(0, longestError)
    // An Alertmanager that is not told again in time would say that it is over.
    const longest = type === 'alertmanager' ? Math.min(resendMs, longestWaitMs) : longestWaitMs
    const wait = Math.min(firstWaitMs * 2 ** Math.min(tries - 1, 20), longest)
    const [marked] = await database.run(failedStatement, {
      ...{ notification, claimed_until, wait_ms: wait, most_ms: dayMs, error: text },
    })
    if (marked === undefined) return
    const what = { channel: claimed.channel_name, alert: alertIdOf(claimed.alert), tries, error: text }
    if (marked.given_up) log.error(what, 'a notification of an alert was given up after a day')
    else log.warn(what, 'a channel did not take a notification of an alert')
    if (!marked.given_up && marked.failures < failuresToTell) return
    raise({
      tenant,
      kind: 'channel_failing',
      fingerprint: fingerprintOf(claimed),
      subject: `the channel ${claimed.channel_name} takes nothing: ${text}`,
      detail: {
        channel_id: channelIdOf(claimed.channel),
        ...{
          channel: claimed.channel_name,
          failures: marked.failures,
          given_up: marked.given_up,
          error: text,
        },
        todo: `carillon alerts test ${claimed.channel_name}`,
      },
    })
  }
}

function fingerprintOf({ channel }: Claimed): string {
  return `channel_failing:${channel}`
}

function messageOf(row: Claimed): Message {
  return {
    id: `${alertIdOf(row.alert)}.${row.event}.${row.notification}.${row.created_at}`,
    event: row.event,
    alertId: alertIdOf(row.alert),
    kind: row.kind,
    severity: row.severity,
    subject: row.subject,
    detail: row.detail,
    tenant: row.tenant_name,
    fleet: row.fleet,
    jobId: row.job_uuid === null ? null : jobIdOf(row.job_uuid),
    jobName: row.job_name,
    count: row.count,
    startsAt: row.raised_at,
    endsAt: row.event === 'resolved' ? row.resolved_at : null,
    now: row.now,
  }
}
