import { Command } from 'commander'
import type { AlertQuery, AlertSilenceInput } from '@carillon/sdk'
import { clientOf } from '../client.js'
import { findJobId } from '../find-job.js'
import { limitOf } from '../job-input.js'
import { durationOf } from '../moments.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { alertDetails, alertTable, silenceTable } from '../views/alerts.js'
import { channelsCommand, testCommand } from './alert-channels.js'
import { rulesCommand } from './alert-rules.js'

export function alertsCommand(): Command {
  return new Command('alerts')
    .description('Events that people are told of: what fires, what is silenced, by which rules, to whom')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(resolveCommand())
    .addCommand(silenceCommand())
    .addCommand(silencesCommand())
    .addCommand(unsilenceCommand())
    .addCommand(rulesCommand())
    .addCommand(channelsCommand())
    .addCommand(testCommand())
}

/** `carillon alerts list` */
function listCommand(): Command {
  const command = new Command('list')
    .description('List alerts, the latest first')
    .option('--state <state>', 'firing, silenced or resolved (default all)')
    .option('--kind <kind>', 'such as failed_in_row')
    .option('--job <job>', 'of this job: its name or id')
    .option('--limit <n>', 'how many at most (default 20)')
    .option('--cursor <cursor>', 'where the page before ended')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const flags = command.opts<{
      state?: string
      kind?: string
      job?: string
      limit?: string
      cursor?: string
    }>()
    const client = clientOf(command)
    const limit = limitOf(flags.limit)
    const list = await client.alerts.list({
      ...(flags.state !== undefined && { state: flags.state as NonNullable<AlertQuery['state']> }),
      ...(flags.kind !== undefined && { kind: flags.kind }),
      ...(flags.job !== undefined && { job_id: await findJobId(client, flags.job) }),
      ...(limit !== undefined && { limit }),
      ...(flags.cursor !== undefined && { cursor: flags.cursor }),
    })
    output.result(list, () => (list.data.length === 0 ? '' : alertTable(list.data, output.look)))
    if (output.json) return
    if (list.data.length === 0) output.note('There are no such alerts.')
    if (list.next_cursor !== null) output.note(`More: carillon alerts list --cursor ${list.next_cursor}`)
  })
  return command
}

/** `carillon alerts show ID` */
function showCommand(): Command {
  const command = new Command('show')
    .description('Show one alert in full, and who was told of it')
    .argument('<alert>', 'alert_…')
  withSettings(withJson(command), 'client')
  command.action(async (id: string) => {
    const output = outputOf(command)
    const alert = await clientOf(command).alerts.get(id)
    output.result(alert, () => alertDetails(alert, output.look))
  })
  return command
}

/** `carillon alerts resolve ID` */
function resolveCommand(): Command {
  const command = new Command('resolve')
    .description('Say that an alert is over; found again, it is raised again')
    .argument('<alert>', 'alert_…')
  withSettings(withJson(command), 'client')
  command.action(async (id: string) => {
    const output = outputOf(command)
    const alert = await clientOf(command).alerts.resolve(id)
    output.result(alert, () => {
      const { green, bold } = output.look.colors
      return `${green('✓')} Resolved ${bold(visible(alert.subject))}\n`
    })
  })
  return command
}

const silenceExamples = `
Examples:
  carillon alerts silence --for 2h --reason 'moving the database'
  carillon alerts silence --kind slow_run --job nightly --for 1d --reason 'known, see ticket 42'`

/** `carillon alerts silence --for 2h --reason … [--kind …] [--job …] [--tag …]` */
function silenceCommand(): Command {
  const command = new Command('silence')
    .description('Tell nobody of some alerts for a time; what is not named stands for all')
    .option('--kind <kind>', 'only of this kind')
    .option('--job <job>', 'only of this job: its name or id')
    .option('--tag <tag>', 'only of jobs with this tag')
    .option('--for <time>', 'how long: 90s, 30m, 2h, 1d')
    .option('--until <instant>', 'or until when: ISO-8601 with an offset')
    .requiredOption('--reason <text>', 'for people who wonder why nothing is told')
    .addHelpText('after', silenceExamples)
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const flags = command.opts<{
      kind?: string
      job?: string
      tag?: string
      for?: string
      until?: string
      reason: string
    }>()
    const client = clientOf(command)
    const silence = await client.alertSilences.create({
      ...(flags.kind !== undefined && { kind: flags.kind as NonNullable<AlertSilenceInput['kind']> }),
      ...(flags.job !== undefined && { job_id: await findJobId(client, flags.job) }),
      ...(flags.tag !== undefined && { tag: flags.tag }),
      until: untilOf(flags),
      reason: flags.reason,
    })
    output.result(silence, () => silenceTable([silence], output.look))
  })
  return command
}

function untilOf(flags: { for?: string; until?: string }): string {
  if ((flags.for === undefined) === (flags.until === undefined))
    throw new UsageError('Say how long: --for 2h, or --until 2026-12-01T09:00:00Z.')
  if (flags.until !== undefined) return flags.until
  return new Date(Date.now() + durationOf('--for', flags.for ?? '') * 1000).toISOString()
}

/** `carillon alerts silences` */
function silencesCommand(): Command {
  const command = new Command('silences').description('List the silences that have not ended')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const list = await clientOf(command).alertSilences.list()
    output.result(list, () => (list.data.length === 0 ? '' : silenceTable(list.data, output.look)))
    if (list.data.length === 0 && !output.json) output.note('Nothing is silenced.')
  })
  return command
}

/** `carillon alerts unsilence ID` */
function unsilenceCommand(): Command {
  const command = new Command('unsilence')
    .description('End a silence')
    .argument('<silence>', 'sil_…, as carillon alerts silences shows it')
  withSettings(withJson(command), 'client')
  command.action(async (id: string) => {
    const output = outputOf(command)
    await clientOf(command).alertSilences.delete(id)
    output.result({ ended: id }, () => `${output.look.colors.green('✓')} Ended ${visible(id)}\n`)
  })
  return command
}
