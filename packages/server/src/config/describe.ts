import type { LoadedConfig, Source } from './provenance.js'
import type { Group } from './setting.js'
import { settingList } from './settings.js'
import { displayValue } from './values.js'

export interface ConfigRow {
  readonly name: string
  /** Fit to be shown: secrets are masked, and a value that is not set says what that means. */
  readonly value: string
  readonly source: Source
  readonly group: Group
  readonly doc: string
}

/** Every setting with its value and where that came from, for `carillon config`. */
export function describeConfig(config: LoadedConfig): ConfigRow[] {
  return settingList.map(({ key, setting }) => ({
    name: setting.env,
    value: displayValue(setting, config[key]),
    source: config.provenance[key],
    group: setting.group,
    doc: setting.doc,
  }))
}
