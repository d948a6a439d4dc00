import {
  type FlagKey,
  type LoadedConfig,
  loadConfig,
  readEnvironment,
  settingFlags,
} from '@carillon/server/config'
import { type Command, Option } from 'commander'

/** Adds flags of the settings table, so that a setting is described in one place only; `only` names a few of them. */
export function withSettings(
  command: Command,
  audience: 'server' | 'client',
  only?: readonly FlagKey[],
): Command {
  const wanted = settingFlags.filter(
    (setting) => setting.audience === audience && (only?.includes(setting.key) ?? true),
  )
  for (const { flag, doc, repeatable, onOff } of wanted) {
    const option = new Option(`${flag} ${onOff ? '[value]' : '<value>'}`, doc)
    command.addOption(repeatable ? option.argParser(append) : option)
  }
  return command
}

/** The settings in force for a command, from its flags and the environment. */
export function settingsOf(command: Command): LoadedConfig {
  const options = command.opts<Record<string, string | true | string[]>>()
  const flags: Record<string, string | true | string[]> = {}
  for (const { key, flag } of settingFlags) {
    const value = options[attributeName(flag)]
    if (value !== undefined) flags[key] = value
  }
  return loadConfig({ env: readEnvironment(), flags })
}

/** `auto` is decided where the log goes to. */
export function logFormatOf({ logFormat }: LoadedConfig): 'json' | 'pretty' {
  if (logFormat !== 'auto') return logFormat
  return process.stderr.isTTY ? 'pretty' : 'json'
}

/** For an option that may be given several times. */
export function append(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

function attributeName(flag: string): string {
  return new Option(flag).attributeName()
}
