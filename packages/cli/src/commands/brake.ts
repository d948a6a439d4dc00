import type { BrakeInput } from '@carillon/sdk'
import { Command } from 'commander'
import { withAccount } from '../account-source.js'
import { durationOf } from '../moments.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { brakeText } from '../views/cluster.js'

export function brakeCommand(): Command {
  return new Command('brake')
    .description("The operator's knob for an incident: wider fire windows, slower catch-up, for a time")
    .addCommand(showCommand())
    .addCommand(setCommand())
    .addCommand(clearCommand())
}

/** `carillon brake show` */
function showCommand(): Command {
  const command = new Command('show').description('Show the brake, where one is in force')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const brake = await withAccount(command, {}, (source) => source.brake())
    output.result({ brake }, () => brakeText(brake, output.look))
  })
  return command
}

interface SetFlags {
  windows?: string
  catchUp?: string
  for?: string
  until?: string
  reason: string
}

const flagNames = {
  window_factor: '--windows',
  catch_up_factor: '--catch-up',
  for_seconds: '--for',
  until: '--until',
  reason: '--reason',
}

/** `carillon brake set --windows 4 --catch-up 0.25 --for 30m --reason TEXT` */
function setCommand(): Command {
  const command = new Command('set')
    .description('Set the brake, or change it; it always has an end')
    .option('--windows <factor>', 'make fire windows so many times as wide, 1 to 100')
    .option('--catch-up <factor>', 'let catch-up go on at this part of its pace, 0 (not at all) to 1')
    .option('--for <time>', 'how long: 90s, 30m, 2h; at most 7d')
    .option('--until <instant>', 'or the end, ISO-8601 (UTC without an offset)')
    .requiredOption('--reason <text>', 'for those who find it set')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const input = inputOf(command.opts<SetFlags>())
    const brake = await withAccount(command, flagNames, (source) => source.setBrake(input))
    output.result({ brake }, () => brakeText(brake, output.look))
  })
  return command
}

/** `carillon brake clear` */
function clearCommand(): Command {
  const command = new Command('clear').description('Take the brake off before its end')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    await withAccount(command, {}, (source) => source.clearBrake())
    output.result({ brake: null }, () => brakeText(null, output.look))
  })
  return command
}

function inputOf(flags: SetFlags): BrakeInput {
  if ((flags.for === undefined) === (flags.until === undefined))
    throw new UsageError(
      'A brake always has an end: give --for (such as 30m) or --until, and only one of them.',
    )
  if (flags.windows === undefined && flags.catchUp === undefined)
    throw new UsageError('Say what the brake does: --windows 4, --catch-up 0.25, or both.')
  return {
    reason: flags.reason,
    ...(flags.windows !== undefined && { window_factor: numberOf('--windows', flags.windows) }),
    ...(flags.catchUp !== undefined && { catch_up_factor: numberOf('--catch-up', flags.catchUp) }),
    ...(flags.for !== undefined && { for_seconds: durationOf('--for', flags.for) }),
    ...(flags.until !== undefined && { until: flags.until }),
  }
}

function numberOf(flag: string, text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(value))
    throw new UsageError(`${flag} is "${text}", and should be a number such as 4 or 0.25.`)
  return value
}
