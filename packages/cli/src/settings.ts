import {
  type FlagKey,
  type LoadedConfig,
  loadConfig,
  readEnvironment,
  settingFlags,
} from '@carillon/server/config'
import { type Command, Option } from 'commander'
import { chosenProfile } from './profiles.js'

/** Which settings a command has as flags: another flag of the same name (keys create --role) is none of them. */
const offered = new WeakMap<Command, Set<FlagKey>>()

/** Adds flags of the settings table, so that a setting is described in one place only; `only` names a few of them. */
export function withSettings(
  command: Command,
  audience: 'server' | 'client',
  only?: readonly FlagKey[],
): Command {
  const wanted = settingFlags.filter(
    (setting) => setting.audience === audience && (only?.includes(setting.key) ?? true),
  )
  const keys = offered.get(command) ?? new Set()
  offered.set(command, keys)
  for (const { key, flag, doc, repeatable, onOff } of wanted) {
    keys.add(key)
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
    if (value !== undefined && offered.get(command)?.has(key)) flags[key] = value
  }
  const env = readEnvironment()
  const config = loadConfig({ env, flags })
  // A server asks nobody, and must not fail for a profile of whoever starts it.
  return command.options.some(({ long }) => long === '--profile') ? withProfile(config, env) : config
}

/**
 * What a profile says: before the environment where a flag names it, and after it otherwise. Its key goes to its own server
 * and to no other, and no more does a key of the environment that stands beside the address of another server.
 */
function withProfile(config: LoadedConfig, env: ReturnType<typeof readEnvironment>): LoadedConfig {
  const { provenance } = config
  const isNamed = provenance.profile.startsWith('flag ')
  if (isNamed ? provenance.url.startsWith('flag ') : provenance.url !== 'default') return config
  const chosen = chosenProfile(config.profile, env)
  if (chosen === null) return config
  const source = `profile ${chosen.name}` as const
  const { url, key } = chosen.profile
  const keepsKey = isNamed
    ? key === undefined && provenance.url === 'default'
    : key === undefined || provenance.apiKey !== 'default'
  return {
    ...config,
    url,
    ...(!keepsKey && { apiKey: key }),
    provenance: { ...provenance, url: source, ...(!keepsKey && { apiKey: source }) },
  }
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
