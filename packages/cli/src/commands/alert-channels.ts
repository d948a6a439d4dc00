import { Command } from 'commander'
import type { AlertChannelInput, AlertChannelPatch, Client } from '@carillon/sdk'
import { clientOf } from '../client.js'
import { integerOf } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { readInput } from '../read-input.js'
import { append, withSettings } from '../settings.js'
import { NotFoundError, UsageError } from '../usage.js'
import { channelTable } from '../views/alerts.js'

/** `carillon alerts channels …` */
export function channelsCommand(): Command {
  return new Command('channels')
    .description('Where alerts are told')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(editCommand())
    .addCommand(deleteCommand())
}

/** The id of a channel that a person names by its id or its name. */
export async function findChannelId(client: Client, given: string): Promise<string> {
  if (/^chn_[0-9a-z]{26}$/.test(given)) return given
  const { data } = await client.alertChannels.list()
  const channel = data.find(({ name }) => name === given)
  if (channel !== undefined) return channel.channel_id
  throw new NotFoundError(
    `There is no channel named "${visible(given)}". See those there are with: carillon alerts channels list`,
  )
}

function listCommand(): Command {
  const command = new Command('list').description('List the channels, without their secrets')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const list = await clientOf(command).alertChannels.list()
    output.result(list, () => (list.data.length === 0 ? '' : channelTable(list.data, output.look)))
    if (list.data.length === 0 && !output.json)
      output.note(
        'Alerts are told nowhere yet: carillon alerts channels add NAME --type webhook --to-url URL',
      )
  })
  return command
}

interface ChannelFlags {
  type?: string
  toUrl?: string
  header?: string[]
  minSeverity?: string
  smtpHost?: string
  smtpPort?: string
  smtpTls?: string
  smtpUser?: string
  smtpPassword?: string
  from?: string
  to?: string[]
  name?: string
}

function withChannelFlags(command: Command): Command {
  return command
    .option('--to-url <url>', 'where to post; @file reads it from a file, - from stdin: it is a secret')
    .option('--header <header>', "'Name: value', sent with every post; may be repeated", append)
    .option('--min-severity <severity>', 'what matters less is not told here: critical, warning or info')
    .option('--smtp-host <host>', 'email: the server that takes mail')
    .option('--smtp-port <port>', 'email (default 587)')
    .option('--smtp-tls <how>', 'starttls, tls or none (default starttls)')
    .option('--smtp-user <name>', 'email: who logs in')
    .option('--smtp-password <password>', 'email: @file reads it from a file, - from stdin')
    .option('--from <address>', 'email: the sender')
    .option('--to <address>', 'email: who gets it; may be repeated', append)
}

const examples = `
Examples:
  carillon alerts channels add am --type alertmanager --to-url http://alertmanager:9093
  carillon alerts channels add chat --type slack --to-url @slack-url.txt --min-severity warning
  carillon alerts channels add mail --type email --smtp-host mail.example.com --from carillon@example.com --to ops@example.com`

function addCommand(): Command {
  const command = withChannelFlags(
    new Command('add')
      .description('Make a channel')
      .argument('<name>', 'what people call it')
      .requiredOption('--type <type>', 'alertmanager, webhook, slack or email'),
  ).addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (name: string) => {
    const output = outputOf(command)
    const flags = command.opts<ChannelFlags>()
    const fields = await fieldsOf(flags)
    const channel = await clientOf(command).alertChannels.create({
      name,
      type: flags.type as AlertChannelInput['type'],
      ...fields,
    })
    output.result(channel, () => channelTable([channel], output.look))
    if (!output.json) output.note(`Try it: carillon alerts test ${visible(name)}`)
  })
  return command
}

function editCommand(): Command {
  const command = withChannelFlags(
    new Command('edit')
      .description('Change a channel; what is not named stays, secrets too')
      .argument('<channel>', 'its name or id')
      .option('--name <name>', 'another name'),
  )
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const flags = command.opts<ChannelFlags>()
    const patch = { ...(await fieldsOf(flags)), ...(flags.name !== undefined && { name: flags.name }) }
    if (Object.keys(patch).length === 0)
      throw new UsageError('Say what to change: --to-url, --min-severity, …')
    const channel = await client.alertChannels.edit(await findChannelId(client, given), patch)
    output.result(channel, () => channelTable([channel], output.look))
  })
  return command
}

function deleteCommand(): Command {
  const command = new Command('delete')
    .description('Delete a channel, and what it was still to be told')
    .argument('<channel>', 'its name or id')
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const client = clientOf(command)
    await client.alertChannels.delete(await findChannelId(client, given))
    output.result({ deleted: given }, () => `${output.look.colors.green('✓')} Deleted ${visible(given)}\n`)
  })
  return command
}

/** `carillon alerts test CHANNEL` */
export function testCommand(): Command {
  const command = new Command('test')
    .description('Send a test to a channel, and say whether it was taken')
    .argument('<channel>', 'its name or id')
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const { ok, error } = await client.alertChannels.test(await findChannelId(client, given))
    output.result({ ok, error }, () => {
      const { green, red, bold } = output.look.colors
      const name = bold(visible(given))
      return ok
        ? `${green('✓')} ${name} took it\n`
        : `${red('✗')} ${name} did not take it: ${visible(error ?? '')}\n`
    })
    if (!ok) process.exitCode = 1
  })
  return command
}

async function fieldsOf(flags: ChannelFlags): Promise<AlertChannelPatch> {
  const fields = {
    url: await secretOf(flags.toUrl),
    headers: flags.header === undefined ? undefined : headersOf(flags.header),
    min_severity: flags.minSeverity,
    smtp_host: flags.smtpHost,
    smtp_port: integerOf(flags.smtpPort, '--smtp-port'),
    smtp_tls: flags.smtpTls,
    smtp_user: flags.smtpUser,
    smtp_password: await secretOf(flags.smtpPassword),
    from: flags.from,
    to: flags.to,
  }
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}

/** So that it need not stand in the history of a shell. */
async function secretOf(text: string | undefined): Promise<string | undefined> {
  if (text === undefined || (text !== '-' && !text.startsWith('@'))) return text
  return (await readInput(text === '-' ? '-' : text.slice(1))).trim()
}

function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      const name = line.slice(0, Math.max(colon, 0)).trim()
      if (name === '') throw new UsageError("A --header is written as 'Name: value'.")
      return [name, line.slice(colon + 1).trim()]
    }),
  )
}
