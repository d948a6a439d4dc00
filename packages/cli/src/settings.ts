import {
  type Flags,
  type LoadedConfig,
  loadConfig,
  readEnvironment,
  settingFlags,
} from '@carillon/server/config'
import { type Command, Option } from 'commander'

/** Adds the flags of the settings table, so that a setting is described in one place only. */
export function withSettings(command: Command, audience: 'server' | 'client'): Command {
  for (const { flag, doc, repeatable } of settingFlags.filter((setting) => setting.audience === audience)) {
    const option = new Option(`${flag} <value>`, doc)
    command.addOption(repeatable ? option.argParser(append) : option)
  }
  return command
}

/** The settings in force for a command, from its flags and the environment. */
export function settingsOf(command: Command): LoadedConfig {
  const options = command.opts<Record<string, string | string[]>>()
  const flags: Record<string, string | string[]> = {}
  for (const { key, flag } of settingFlags) {
    const value = options[attributeName(flag)]
    if (value !== undefined) flags[key] = value
  }
  return loadConfig({ env: readEnvironment(), flags: flags as Flags })
}

function attributeName(flag: string): string {
  return new Option(flag).attributeName()
}

function append(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}
