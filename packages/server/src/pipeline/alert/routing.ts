import { type AlertKind, alertKindOf } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { uuidOfChannel } from '../../platform/ids.js'
import {
  decide,
  type Decision,
  type RoutedAlert,
  type RoutedChannel,
  type RoutedSilence,
  type Sent,
} from './decide.js'
import { fleetTenant, RuleBook } from './rule-book.js'

const readStatement = statement<{ most: number }, RoutedAlert & { now: number }>(
  new URL('./read-to-route.sql', import.meta.url),
)
interface Ways {
  channels: RoutedChannel[]
  silences: RoutedSilence[]
  sent: Sent[]
}
const waysStatement = statement<{ tenants: number[]; alerts: number[] }, Ways>(
  new URL('./read-ways.sql', import.meta.url),
)
const writeStatement = statement<
  { alerts: string; send: string; stop: string },
  { routed: number; sent: number; stopped: number }
>(new URL('./write-routed.sql', import.meta.url))

const most = 500

/** Decides whom to tell of alerts: by rules, silences and channels. What is to be sent is a row, committed with the decision. */
export class Routing {
  constructor(private readonly options: { database: Database; onNews?: () => void }) {}

  /** Answers whether more alerts wait for a decision. */
  async runOnce(): Promise<boolean> {
    const { database, onNews } = this.options
    const { routed, sent } = await database.transaction((runner) => this.pass(runner))
    if (sent > 0) onNews?.()
    return routed === most
  }

  private async pass(runner: Runner): Promise<{ routed: number; sent: number }> {
    const alerts = await runner.run(readStatement, { most })
    if (alerts.length === 0) return { routed: 0, sent: 0 }
    const tenants = [...new Set(alerts.map(({ tenant }) => tenant ?? fleetTenant))]
    const rules = await RuleBook.read(runner, tenants)
    const [ways] = await runner.run(waysStatement, { tenants, alerts: alerts.map(({ alert }) => alert) })
    if (ways === undefined) throw new Error('What there is to decide by is one row.')
    const decisions = alerts.map((alert) => decide(known(alert), ruleOf(rules, alert), ways))
    await runner.run(writeStatement, {
      alerts: JSON.stringify(decisions.map(withoutLists)),
      send: JSON.stringify(decisions.flatMap(({ send }) => send)),
      stop: JSON.stringify(decisions.flatMap(({ stop }) => stop)),
    })
    return { routed: alerts.length, sent: decisions.reduce((sum, { send }) => sum + send.length, 0) }
  }
}

/** A kind of an older or newer release has no rules. */
function ruleOf(rules: RuleBook, { tenant, kind, severity, job, tags }: RoutedAlert) {
  if (alertKindOf(kind) === undefined) return { enabled: true, severity, params: {}, channels: null }
  return rules.find(tenant, kind as AlertKind, { job, tags })
}

function known(alert: RoutedAlert): RoutedAlert {
  const failing = alert.failing_channel === null ? null : uuidOfChannel(alert.failing_channel)
  return { ...alert, failing_channel: failing }
}

function withoutLists({ send: _send, stop: _stop, ...row }: Decision): Omit<Decision, 'send' | 'stop'> {
  return row
}
