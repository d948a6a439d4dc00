import type { TargetLimitsInput } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { limitOf } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { targetDetails, targetTable } from '../views/targets.js'

export function targetsCommand(): Command {
  return new Command('targets')
    .description('The hosts that jobs call: limits for the whole fleet, and breakers')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(limitCommand())
    .addCommand(resetCommand())
}

/** `carillon targets list` */
function listCommand(): Command {
  const command = new Command('list')
    .description('List the hosts, by name')
    .option('--limit <n>', 'how many at most (default 20)')
    .option('--cursor <cursor>', 'where the page before ended')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const { limit, cursor } = command.opts<{ limit?: string; cursor?: string }>()
    const most = limitOf(limit)
    const page = { ...(most !== undefined && { limit: most }), ...(cursor !== undefined && { cursor }) }
    const list = await clientOf(command).targets.list(page)
    output.result(list, () => (list.data.length === 0 ? '' : targetTable(list.data, output.look)))
    if (output.json) return
    if (list.data.length === 0) output.note('No job calls a host yet.')
    if (list.next_cursor !== null) output.note(`More: carillon targets list --cursor ${list.next_cursor}`)
  })
  return command
}

/** `carillon targets show HOST` */
function showCommand(): Command {
  const command = new Command('show')
    .description('Show one host in full')
    .argument('<host>', 'as in the URL: api.example.com, or localhost:8080')
  withSettings(withJson(command), 'client')
  command.action(async (host: string) => {
    const output = outputOf(command)
    const target = await clientOf(command).targets.get(host)
    output.result(target, () => targetDetails(target, output.look))
  })
  return command
}

const numberFlags = {
  rate: 'rate_per_second',
  burst: 'burst',
  concurrency: 'max_concurrent',
  timeout: 'timeout_seconds',
  drain: 'drain_per_second',
  breakerAttempts: 'breaker_attempts',
  breakerWindow: 'breaker_window_seconds',
  breakerRatio: 'breaker_failure_ratio',
  breakerInRow: 'breaker_failures_in_row',
  breakerOpen: 'breaker_open_seconds',
  breakerMaxOpen: 'breaker_max_open_seconds',
} as const

type LimitFlags = { [Flag in keyof typeof numberFlags]?: string } & { breaker?: string; none?: boolean }

const examples = `
Examples:
  carillon targets limit api.example.com --rate 20 --concurrency 5
  carillon targets limit api.example.com --rate none
  carillon targets limit api.example.com --none`

/** `carillon targets limit HOST --rate 20 --concurrency 5` */
function limitCommand(): Command {
  const command = new Command('limit')
    .description('Limit the calls to a host; what is not named stays, "none" takes a limit away')
    .argument('<host>', 'as in the URL: api.example.com, or localhost:8080')
    .option('--rate <n>', 'starts a second, over the whole fleet')
    .option('--burst <n>', 'starts at once after a quiet time')
    .option('--concurrency <n>', 'runs at once, over the whole fleet')
    .option('--timeout <seconds>', 'the longest that one attempt may take')
    .option('--drain <n>', 'parked runs a second, once the host is well again')
    .option('--breaker <on|off>', 'whether failures park the runs of the host')
    .option('--breaker-attempts <n>', 'attempts in a window before the share of failures counts')
    .option('--breaker-window <seconds>', 'the window')
    .option('--breaker-ratio <share>', 'the share of failures by which it opens, such as 0.5')
    .option('--breaker-in-row <n>', 'or so many failures without a success between')
    .option('--breaker-open <seconds>', 'how long it stays open at first')
    .option('--breaker-max-open <seconds>', 'and at most')
    .option('--none', 'take all limits away')
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (host: string) => {
    const output = outputOf(command)
    const flags = command.opts<LimitFlags>()
    const { targets } = clientOf(command)
    const limits = limitsOf(flags)
    if (flags.none === true) {
      await targets.unlimit(host)
      output.result({ host, limits: null }, () => {
        const { green, bold } = output.look.colors
        return `${green('✓')} ${bold(visible(host))} has no limits\n`
      })
      return
    }
    const target = await targets.limit(host, limits)
    output.result(target, () => targetDetails(target, output.look))
  })
  return command
}

/** `carillon targets reset HOST` */
function resetCommand(): Command {
  const command = new Command('reset')
    .description('Say that a host is well: what its breaker parked leaves at the pace of a drain')
    .argument('<host>', 'as in the URL')
  withSettings(withJson(command), 'client')
  command.action(async (host: string) => {
    const output = outputOf(command)
    const target = await clientOf(command).targets.reset(host)
    output.result(target, () => targetDetails(target, output.look))
  })
  return command
}

function limitsOf(flags: LimitFlags): TargetLimitsInput {
  const given = Object.entries(numberFlags).flatMap(([flag, field]) => {
    const text = flags[flag as keyof typeof numberFlags]
    return text === undefined ? [] : [[field, numberOrNone(flag, text)] as const]
  })
  const limits: TargetLimitsInput = Object.fromEntries(given)
  if (flags.breaker !== undefined) limits.breaker_enabled = onOrOff(flags.breaker)
  const some = Object.keys(limits).length > 0
  if (some === (flags.none === true))
    throw new UsageError(
      some
        ? '--none takes all limits away: leave the others out.'
        : 'Say what to limit: --rate 20, --concurrency 5, … or --none to take all limits away.',
    )
  return limits
}

function numberOrNone(flag: string, text: string): number | null {
  if (text === 'none') return null
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  const name = flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw new UsageError(`--${name} is "${text}", and should be a number such as 20, or none.`)
}

function onOrOff(text: string): boolean | null {
  if (text === 'none') return null
  if (text === 'on' || text === 'off') return text === 'on'
  throw new UsageError(`--breaker is "${text}", and should be on, off or none.`)
}
