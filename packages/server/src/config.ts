/**
 * The configuration of a process: one table (config/settings.ts), read once at start. This file is the only reader of
 * the process environment in the server.
 */
import { isLoopback } from './config/addresses.js'
import type { ConfigSources } from './config/load.js'
import type { Config } from './config/settings.js'

export { isLoopback } from './config/addresses.js'
export type { ConfigRow } from './config/describe.js'
export { describeConfig } from './config/describe.js'
export { editDistance } from './config/edit-distance.js'
export type { FlagKey, Flags, SettingFlag } from './config/flags.js'
export { settingFlags } from './config/flags.js'
export type { ConfigSources } from './config/load.js'
export { loadConfig } from './config/load.js'
export type { ConfigProblem } from './config/problem.js'
export { ConfigError } from './config/problem.js'
export type { LoadedConfig, Provenance, Source } from './config/provenance.js'
export { renderConfigurationReference } from './config/reference-page.js'
export type { Config, SettingKey } from './config/settings.js'

/** A snapshot of the environment, to be handed to loadConfig. */
export function readEnvironment(): ConfigSources['env'] {
  return { ...process.env }
}

/** Whether the API can be reached from this machine only. */
export function loopbackOnly(config: Pick<Config, 'host'>): boolean {
  return isLoopback(config.host)
}
