import { Command } from 'commander'
import type { AlertRule, AlertRuleInput, Client } from '@carillon/sdk'
import { clientOf } from '../client.js'
import { findJobId } from '../find-job.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { ruleTable } from '../views/alerts.js'
import { findChannelId } from './alert-channels.js'

/** `carillon alerts rules …` */
export function rulesCommand(): Command {
  return new Command('rules')
    .description('What is raised, how much it matters, who is told')
    .addCommand(listCommand())
    .addCommand(setCommand())
    .addCommand(deleteCommand())
}

function listCommand(): Command {
  const command = new Command('list').description('List the rules, and the defaults that hold without one')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const list = await clientOf(command).alertRules.list()
    output.result(list, () => ruleTable(list.data, output.look))
  })
  return command
}

interface RuleFlags {
  job?: string
  tag?: string
  param?: string[]
  severity?: string
  on?: boolean
  off?: boolean
  channel?: string[]
  allChannels?: boolean
}

const examples = `
Examples:
  carillon alerts rules set slow_run --off
  carillon alerts rules set failed_in_row --job nightly --param times=1 --severity critical
  carillon alerts rules set missed_tick --tag billing --channel pager`

/** `carillon alerts rules set KIND [--job …|--tag …] …`: makes the rule, or changes the one that there is. */
function setCommand(): Command {
  const command = new Command('set')
    .description('Make a rule in place of a default, or change the one that there is')
    .argument('<kind>', 'such as failed_in_row; carillon alerts rules list shows all')
    .option('--job <job>', 'only for this job: its name or id')
    .option('--tag <tag>', 'only for jobs with this tag')
    .option('--param <name=value>', 'such as times=5; may be repeated', append)
    .option('--severity <severity>', 'critical, warning or info')
    .option('--on', 'raise it')
    .option('--off', 'do not raise it')
    .option('--channel <channel>', 'tell only this channel: its name or id; may be repeated', append)
    .option('--all-channels', 'tell all channels again')
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (kind: string) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const rule = await put(client, kind, command.opts<RuleFlags>())
    output.result(rule, () => ruleTable([rule], output.look))
  })
  return command
}

async function put(client: Client, kind: string, flags: RuleFlags): Promise<AlertRule> {
  if (flags.on === true && flags.off === true) throw new UsageError('Give --on or --off, not both.')
  const jobId = flags.job === undefined ? null : await findJobId(client, flags.job)
  const tag = flags.tag ?? null
  const channels = await channelsOf(client, flags)
  const fields = {
    ...(flags.param !== undefined && { params: paramsOf(flags.param) }),
    ...(flags.severity !== undefined && {
      severity: flags.severity as NonNullable<AlertRuleInput['severity']>,
    }),
    ...((flags.on ?? flags.off) !== undefined && { enabled: flags.on === true }),
    ...(channels !== undefined && { channels }),
  }
  const { data } = await client.alertRules.list()
  const present = data.find(
    (rule) => rule.rule_id !== null && rule.kind === kind && rule.job_id === jobId && rule.tag === tag,
  )
  if (present?.rule_id != null) return client.alertRules.edit(present.rule_id, fields)
  return client.alertRules.create({
    kind: kind as AlertRuleInput['kind'],
    ...(jobId !== null && { job_id: jobId }),
    ...(tag !== null && { tag }),
    ...fields,
  })
}

async function channelsOf(client: Client, flags: RuleFlags): Promise<string[] | null | undefined> {
  if (flags.allChannels === true) return null
  if (flags.channel === undefined) return undefined
  return Promise.all(flags.channel.map((name) => findChannelId(client, name)))
}

function paramsOf(given: readonly string[]): Record<string, number | null> {
  return Object.fromEntries(
    given.map((text) => {
      const match = /^([a-z_]+)=(none|\d+(?:\.\d+)?)$/.exec(text)
      if (match === null)
        throw new UsageError(`--param is "${text}", and should be such as times=5 or times=none.`)
      return [match[1] as string, match[2] === 'none' ? null : Number(match[2])]
    }),
  )
}

function deleteCommand(): Command {
  const command = new Command('delete')
    .description('Delete a rule: the default holds again')
    .argument('<rule>', 'rule_…, as carillon alerts rules list shows it')
  withSettings(withJson(command), 'client')
  command.action(async (id: string) => {
    const output = outputOf(command)
    await clientOf(command).alertRules.delete(id)
    output.result({ deleted: id }, () => `${output.look.colors.green('✓')} Deleted ${visible(id)}\n`)
  })
  return command
}
