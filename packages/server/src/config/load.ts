import type { Flags } from './flags.js'
import { givenAsFlag, unknownFlags } from './flags.js'
import type { ConfigProblem } from './problem.js'
import { ConfigError } from './problem.js'
import type { Given, LoadedConfig, Provenance, Source } from './provenance.js'
import { fromEnvironment } from './provenance.js'
import { violatedRelations } from './relations.js'
import type { Setting, SettingValue } from './setting.js'
import type { Config, SettingKey } from './settings.js'
import { settingList } from './settings.js'
import { unknownNames } from './unknown-names.js'
import { defaultValue, displayValue, expectation, hideSecret, parseValue } from './values.js'

export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly flags?: Flags
  /** Where relative paths start. */
  readonly cwd?: string
}

/** Reads the configuration once: flags win over the environment, the environment over defaults. */
export function loadConfig({ env, flags = {}, cwd = process.cwd() }: ConfigSources): LoadedConfig {
  const problems: ConfigProblem[] = [...unknownNames(env), ...unknownFlags(flags)]
  const values = new Map<SettingKey, SettingValue>()
  const sources = new Map<SettingKey, Source>()
  const unreadable = new Set<SettingKey>()
  for (const { key, setting } of settingList) {
    const given = givenAsFlag(key, setting, flags) ?? givenInEnvironment(setting, env)
    const parsed =
      given === undefined ? { value: defaultValue(setting, cwd) } : readGiven(setting, given, cwd)
    if (parsed === undefined && given !== undefined) {
      problems.push(refuseValue(setting, given))
      unreadable.add(key)
    }
    values.set(key, parsed?.value)
    sources.set(key, given?.source ?? 'default')
  }
  fitDefaults(values, sources)

  // The maps were filled from the same table that the types are inferred from.
  const config = Object.fromEntries(values) as unknown as Config
  const provenance = Object.fromEntries(sources) as unknown as Provenance
  problems.push(...violatedRelations(config, provenance, unreadable))
  if (problems.length > 0) throw new ConfigError(problems)
  for (const value of values.values()) Object.freeze(value)
  return Object.freeze({ ...config, provenance: Object.freeze(provenance) })
}

function givenInEnvironment(setting: Setting, env: ConfigSources['env']): Given | undefined {
  const text = env[setting.env]
  return text === undefined ? undefined : fromEnvironment(setting, text)
}

/** Spaces and line ends around a value come from files and shells, never from intent. */
function readGiven(setting: Setting, given: Given, cwd: string) {
  return parseValue(setting, given.text.trim(), cwd)
}

function fitDefaults(values: Map<SettingKey, SettingValue>, sources: ReadonlyMap<SettingKey, Source>): void {
  for (const { key, setting } of settingList) {
    if (!('fit' in setting) || setting.fit === undefined || sources.get(key) !== 'default') continue
    const other = values.get(setting.fit.to as SettingKey)
    if (typeof other === 'number') values.set(key, setting.fit.compute(other))
  }
}

function refuseValue(setting: Setting, given: Given): ConfigProblem {
  const example = given.example(setting.example ?? displayValue(setting, setting.default))
  // An empty DATABASE_URL is a secret that did not arrive, not a wish for the embedded database.
  const found = given.text.trim() === '' ? 'is set but empty' : `is ${quote(hideSecret(setting, given.text))}`
  return {
    where: given.name,
    message: `${given.name} ${found}: expected ${expectation(setting)}, for example ${example}`,
  }
}

/** JSON keeps control characters off the terminal. */
function quote(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
}
