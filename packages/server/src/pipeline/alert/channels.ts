import {
  type AlertChannel,
  type AlertChannelInput,
  type AlertChannelList,
  type AlertChannelPatch,
  type AlertChannelTest,
  type AlertChannelType,
  type AlertSeverity,
  CarillonError,
  limits,
} from '@carillon/contract'
import type { Logger } from 'pino'
import { isUniqueViolation } from '../../db/errors.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { currentCaller } from '../../platform/caller.js'
import { alertIdOf, channelIdOf, newUuid, uuidOfChannel } from '../../platform/ids.js'
import type { AddressGuard } from '../../targets/address-guard.js'
import { utcText } from '../../time/iso-text.js'
import { audit } from '../audit.js'
import { checkSecrets, checkSettings, settingFields, settingsOf, shownSettings } from './channel-settings.js'
import type { Message } from './deliver/message.js'
import type { Channel, ChannelSettings } from './deliver/senders.js'
import { reroute } from './reroute.js'

interface ChannelRow {
  channel: string
  tenant: number
  name: string
  type: AlertChannelType
  settings: ChannelSettings
  min_severity: AlertSeverity
  created_at: number
  delivered_at: number | null
  delivered_ok: boolean | null
  delivered_error: string | null
  waiting: number
}

const listStatement = statement<{ tenant: number; channel: string | null }, ChannelRow>(
  new URL('./list-channels.sql', import.meta.url),
)
const createStatement = statement<
  {
    channel: string
    tenant: number
    name: string
    type: string
    settings: string
    min_severity: string
    most: number
  },
  { channel: string }
>(new URL('./create-channel.sql', import.meta.url))
const changeStatement = statement<
  { tenant: number; channel: string; name: string; settings: string; min_severity: string },
  { channel: string }
>(new URL('./change-channel.sql', import.meta.url))
const deleteStatement = statement<{ tenant: number; channel: string }, { channel: string }>(
  new URL('./delete-channel.sql', import.meta.url),
)
const noteStatement = statement<
  { tenant: number; channel: string; ok: boolean; error: string | null },
  { channel: string }
>(new URL('./note-test.sql', import.meta.url))

export interface ChannelsOptions {
  database: Database
  fleet: Database
  log: Logger
  guard: AddressGuard
  /** The database's clock. */
  now: () => number
  send: (channel: Channel, message: Message) => Promise<void>
}

/** Where alerts are told. What it takes to send there is kept, and never shown again. */
export class Channels {
  constructor(private readonly options: ChannelsOptions) {}

  async list(tenant: number): Promise<AlertChannelList> {
    const rows = await this.options.database.run(listStatement, { tenant, channel: null })
    return { data: rows.map(view), next_cursor: null }
  }

  /** The UUIDs of those that there are. */
  async ids(runner: Runner, tenant: number): Promise<string[]> {
    return (await runner.run(listStatement, { tenant, channel: null })).map(({ channel }) => channel)
  }

  async create(tenant: number, input: AlertChannelInput): Promise<AlertChannel> {
    const { database, guard } = this.options
    const settings = settingsOf(input)
    checkSettings(input.type, settings, guard)
    const channel = newUuid()
    const { name, type, min_severity = 'info' } = input
    await database.transaction(async (runner) => {
      const most = limits.alertChannels
      const [made] = await named(
        runner.run(createStatement, {
          ...{ channel, tenant, name, type, settings: JSON.stringify(settings), min_severity, most },
        }),
      )
      if (made === undefined)
        throw new CarillonError('alert_limit_reached', { detail: `A tenant has at most ${most} channels.` })
      await audit(runner, { tenant, subject: channelIdOf(channel), detail: describe(input) })
    })
    await reroute(this.options, tenant)
    return view(await this.row(tenant, channel))
  }

  async change(tenant: number, channelId: string, patch: AlertChannelPatch): Promise<AlertChannel> {
    const { database, guard } = this.options
    const channel = uuidOfChannel(channelId)
    if (channel === null) throw new CarillonError('alert_channel_not_found')
    await database.transaction(async (runner) => {
      const before = await this.row(tenant, channel, runner)
      const given = settingsOf(patch)
      checkSecrets(before.settings, given)
      const settings = { ...before.settings, ...given }
      checkSettings(before.type, settings, guard)
      await named(
        runner.run(changeStatement, {
          ...{ tenant, channel, name: patch.name ?? before.name, settings: JSON.stringify(settings) },
          min_severity: patch.min_severity ?? before.min_severity,
        }),
      )
      await audit(runner, { tenant, subject: channelId, detail: describe(patch) })
    })
    await reroute(this.options, tenant)
    return view(await this.row(tenant, channel))
  }

  async delete(tenant: number, channelId: string): Promise<void> {
    const channel = uuidOfChannel(channelId)
    const deleted = await this.options.database.transaction(async (runner) => {
      const [row] = channel === null ? [] : await runner.run(deleteStatement, { tenant, channel })
      if (row !== undefined) await audit(runner, { tenant, subject: channelId })
      return row !== undefined
    })
    if (!deleted) throw new CarillonError('alert_channel_not_found')
    await reroute(this.options, tenant)
  }

  /** Sends something at once, and says what came of it. */
  async test(tenant: number, channelId: string): Promise<AlertChannelTest> {
    const { database, send } = this.options
    const channel = uuidOfChannel(channelId)
    if (channel === null) throw new CarillonError('alert_channel_not_found')
    const row = await this.row(tenant, channel)
    const error = await send(row, this.testMessage(row)).then(
      () => null,
      (failure: unknown) => (failure instanceof Error ? failure.message : String(failure)).slice(0, 300),
    )
    const ok = error === null
    await database.transaction(async (runner) => {
      await runner.run(noteStatement, { tenant, channel, ok, error })
      await audit(runner, { tenant, subject: channelId, detail: { ok } })
    })
    return { ok, error }
  }

  private testMessage({ name }: ChannelRow): Message {
    const now = this.options.now()
    return {
      ...{ id: `test.${newUuid()}`, event: 'test', alertId: alertIdOf(0), kind: 'test', severity: 'info' },
      ...{
        subject: `a test of the channel ${name}`,
        detail: { asked_by: currentCaller()?.actor ?? 'local' },
      },
      ...{ tenant: currentCaller()?.tenantName ?? 'default', fleet: false, jobId: null, jobName: null },
      ...{ count: 1, startsAt: now, endsAt: null, now },
    }
  }

  private async row(
    tenant: number,
    channel: string,
    runner: Runner = this.options.database,
  ): Promise<ChannelRow> {
    const [row] = await runner.run(listStatement, { tenant, channel })
    if (row === undefined) throw new CarillonError('alert_channel_not_found')
    return row
  }
}

async function named<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (isUniqueViolation(error)) throw new CarillonError('alert_channel_name_taken', { cause: error })
    throw error
  }
}

/** For the audit: which settings were given, and not what they are. */
function describe(input: AlertChannelInput | AlertChannelPatch): object {
  const given = settingFields.filter((field) => input[field] !== undefined)
  const { name, min_severity } = input
  return {
    ...(name !== undefined && { name }),
    ...('type' in input && { type: input.type }),
    ...(min_severity !== undefined && { min_severity }),
    settings: given,
  }
}

function view(row: ChannelRow): AlertChannel {
  const { delivered_at: at } = row
  return {
    channel_id: channelIdOf(row.channel),
    name: row.name,
    type: row.type,
    min_severity: row.min_severity,
    ...shownSettings(row.settings),
    created_at: utcText(row.created_at),
    waiting: row.waiting,
    last_delivery:
      at === null ? null : { at: utcText(at), ok: row.delivered_ok === true, error: row.delivered_error },
  }
}
