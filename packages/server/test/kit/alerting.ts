import type { DeadMan } from '../../src/pipeline/alert/dead-man.js'
import type { Message } from '../../src/pipeline/alert/deliver/message.js'
import type { Channel } from '../../src/pipeline/alert/deliver/senders.js'
import { Deliveries } from '../../src/pipeline/alert/deliveries.js'
import { Events } from '../../src/pipeline/alert/events.js'
import { Routing } from '../../src/pipeline/alert/routing.js'
import { systemClock } from '../../src/platform/clock.js'
import { Watch } from '../../src/pipeline/alert/watch.js'
import { silentLog } from './test-database.js'
import type { House } from './use-house.js'

export interface AlertRow {
  alert: number
  tenant: number | null
  kind: string
  severity: string
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
  raised_at: number
  resolved_at: number | null
  resolved_by: string | null
  count: number
  silenced_by: string | null
  muted: boolean
  told: string | null
}

interface Ended {
  outcome?: 'success' | 'failed' | 'dead' | 'skipped'
  reason?: string
  due?: number
  /** How late it began, and how long it took. */
  lag?: number
  took?: number
  catchUp?: boolean
  ticks?: number
  period?: number
  error?: string
}

export const settledMs = 3_000

/** The watch and all that follows from it, over the real database: each does what it does when the test says so. */
export class Alerting {
  readonly sent: Message[] = []
  readonly events: Events
  /** What a channel does with a message; by default it takes it. */
  take: (channel: Channel, message: Message) => Promise<void> = () => Promise.resolve()
  private readonly routing: Routing
  private readonly deliveries: Deliveries
  private readonly watching: Watch

  constructor(
    private readonly house: House,
    options: { deadMan?: DeadMan } = {},
  ) {
    const { database } = house.database
    const { clock } = house
    this.watching = new Watch({ database, clock, log: silentLog, beatMs: 10_000, everyMs: 0, ...options })
    this.events = new Events({ database, log: silentLog })
    this.routing = new Routing({ database })
    this.deliveries = new Deliveries({
      database,
      clock: systemClock,
      log: silentLog,
      resendMs: 60_000,
      send: async (channel, message) => {
        await this.take(channel, message)
        this.sent.push(message)
      },
      raise: (event) => this.events.raise(event),
      resolve: (fingerprint, tenant) => this.events.resolve(fingerprint, tenant),
    })
  }

  /** Looks at all that is on record by now. */
  async look(): Promise<void> {
    await this.house.clock.advance(settledMs + 1)
    await this.lookAtOnce()
  }

  /** One look; answers whether more is waiting. */
  lookOnce(): Promise<boolean> {
    return this.watching.runOnce()
  }

  async lookAtOnce(): Promise<void> {
    for (let pass = 0; pass < 100; pass++) if (!(await this.watching.runOnce())) return
    throw new Error('Looking never ended.')
  }

  async route(): Promise<void> {
    while (await this.routing.runOnce());
  }

  /** Decides whom to tell, and tells; answers what was sent by it. */
  async tell(): Promise<Message[]> {
    const before = this.sent.length
    await this.route()
    while (await this.deliveries.runOnce());
    return this.sent.slice(before)
  }

  async alerts(kind?: string): Promise<AlertRow[]> {
    return this.house.query<AlertRow>(
      'SELECT * FROM carillon.alerts WHERE $1::text IS NULL OR kind = $1 ORDER BY alert',
      [kind ?? null],
    )
  }

  async open(kind?: string): Promise<AlertRow[]> {
    return (await this.alerts(kind)).filter(({ resolved_at: at }) => at === null)
  }

  /** A row of the ledger, as if a run had ended now. */
  async ended(job: { key: number }, given: Ended = {}): Promise<number> {
    await this.house.clock.advance(1)
    const now = await this.house.now()
    const { outcome = 'success', reason = null, due = now, lag = 0, took = 10, catchUp = false } = given
    const { ticks = 1, period = null } = given
    const skipped = outcome === 'skipped'
    const startedAt = skipped ? null : now - took
    await this.house.query(
      `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version, epoch,
                                    catch_up, ticks, next_due, available_at, started_at, finished_at, reason, partition, error)
       SELECT $1, tenant, job, $2, 0, 0, $3::carillon.outcome, true, 0, $4, 1, 0, $5, $6, $7, $8, $9, $10, $11, partition, $12
       FROM carillon.jobs WHERE job = $13`,
      [
        ...[now, due, outcome, skipped ? 0 : 1, catchUp, ticks, period === null ? null : due + period],
        ...[startedAt === null ? null : startedAt - lag, startedAt, skipped ? null : now, reason],
        ...[outcome === 'failed' || outcome === 'dead' ? (given.error ?? 'boom') : null, job.key],
      ],
    )
    return due
  }

  /** A rule of the tenant `default`. */
  async rule(kind: string, fields: { params?: object; enabled?: boolean; job?: number; tag?: string } = {}) {
    const { params = {}, enabled = true, job = null, tag = null } = fields
    await this.house.query(
      `INSERT INTO carillon.alert_rules (rule, tenant, kind, job, tag, params, enabled)
       VALUES (gen_random_uuid(), 1, $1, $2, $3, $4, $5)`,
      [kind, job, tag, params, enabled],
    )
  }

  async channel(type = 'webhook', name = 'ops', settings: object = { url: 'http://127.0.0.1:9/x' }) {
    const [row] = await this.house.query<{ channel: string }>(
      `INSERT INTO carillon.alert_channels (channel, tenant, name, type, settings)
       VALUES (gen_random_uuid(), 1, $1, $2, $3) RETURNING channel`,
      [name, type, settings],
    )
    return row?.channel ?? ''
  }
}
