import type { Setting } from './setting.js'
import type { Config, SettingKey } from './settings.js'

/** Where a value came from. */
export type Source = 'default' | `environment ${string}` | `flag --${string}` | `profile ${string}`

export type Provenance = { readonly [K in SettingKey]: Source }

/** The values, and where each of them came from. */
export type LoadedConfig = Config & { readonly provenance: Provenance }

/** A text that somebody gave, with its origin. */
export interface Given {
  readonly text: string
  readonly source: Source
  /** How the one who gave it wrote its name: CARILLON_PORT or --port. */
  readonly name: string
  /** How a right one would be written. */
  readonly example: (value: string) => string
}

export function fromEnvironment(setting: Setting, text: string): Given {
  const name = setting.env
  return { text, name, source: `environment ${name}`, example: (value) => `${name}=${value}` }
}

export function fromFlag(flag: `--${string}`, text: string): Given {
  return { text, name: flag, source: `flag ${flag}`, example: (value) => `${flag} ${value}` }
}
