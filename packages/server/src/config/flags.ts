import type { ConfigProblem } from './problem.js'
import type { Given } from './provenance.js'
import { fromFlag } from './provenance.js'
import type { Setting } from './setting.js'
import type { SettingKey, settings } from './settings.js'
import { settingList } from './settings.js'

export type FlagKey = {
  [K in SettingKey]: (typeof settings)[K] extends { readonly flag: string } ? K : never
}[SettingKey]

/** Values of flags by the key of their setting, as a command line parser hands them over. */
export type Flags = { readonly [K in FlagKey]?: string | number | boolean | readonly string[] | undefined }

/** What a command line needs to know to offer a flag. */
export interface SettingFlag {
  readonly key: FlagKey
  readonly flag: `--${string}`
  /** May be given several times; all of its values count. */
  readonly repeatable: boolean
  /** Given alone it means yes. */
  readonly onOff: boolean
  readonly audience: 'server' | 'client'
  readonly doc: string
}

export const settingFlags: readonly SettingFlag[] = settingList.flatMap(({ key, setting }) =>
  setting.flag === undefined
    ? []
    : [
        {
          key: key as FlagKey,
          flag: setting.flag,
          repeatable: isList(setting),
          onOff: setting.type === 'boolean',
          audience: setting.audience ?? 'server',
          doc: setting.doc,
        },
      ],
)

function isList(setting: Setting): boolean {
  return setting.type === 'enum-list' || setting.type === 'cidr-list'
}

/** A flag without a setting would be ignored silently: the command line offers what the table does not know. */
export function unknownFlags(flags: Flags): ConfigProblem[] {
  const known = new Set<string>(settingFlags.map(({ key }) => key))
  return Object.entries(flags)
    .filter(([key, value]) => value !== undefined && !known.has(key))
    .map(([key]) => ({
      where: key,
      message: `the flag for "${key}" belongs to no setting: the flags are ${settingFlags.map(({ flag }) => flag).join(', ')}`,
    }))
}

/** The value of a setting's flag; of a flag given several times, all values where it is a list, the last otherwise. */
export function givenAsFlag(key: SettingKey, setting: Setting, flags: Flags): Given | undefined {
  const value = (flags as Readonly<Record<string, Flags[FlagKey]>>)[key]
  if (setting.flag === undefined || value === undefined) return undefined
  if (typeof value !== 'object') return fromFlag(setting.flag, String(value))
  return fromFlag(setting.flag, isList(setting) ? value.join(',') : (value.at(-1) ?? ''))
}
