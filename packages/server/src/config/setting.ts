/** What one row of the table in settings.ts may say, and which TypeScript type its value has. */

export const groups = [
  'Database',
  'Process',
  'Ownership',
  'Firing',
  'Execution',
  'Jobs and ledger',
  'API',
  'Alerts',
  'Logs',
  'Metrics and traces',
  'Client',
] as const
export type Group = (typeof groups)[number]

interface Common {
  readonly env: string
  readonly flag?: `--${string}`
  readonly group: Group
  /** Read by the command as a client of a running server; the server itself does not use it. */
  readonly audience?: 'client'
  /** Never shown in full: not in output, not in an error. */
  readonly secret?: true
  /** Shown when a value is refused, in place of the default. */
  readonly example?: string
  /** One sentence. */
  readonly doc: string
}

/** `seconds` may have up to three decimals, `milliseconds`, `int` and `port` are whole. */
export interface NumberSetting extends Common {
  readonly type: 'int' | 'seconds' | 'milliseconds' | 'port'
  readonly unit?: string
  readonly default: number
  readonly min: number
  readonly max: number
  /** Another default where the setting it depends on was changed and this one was not given. */
  readonly fit?: { readonly to: string; readonly compute: (other: number) => number; readonly doc: string }
}

export type TextType = 'host' | 'path' | 'string' | 'url' | 'url-secret'

export interface TextSetting extends Common {
  readonly type: TextType
  readonly default: string
}

/** Without a default the row says what its absence means, and gives an example itself. */
export interface OptionalTextSetting extends Common {
  readonly type: TextType
  readonly default: undefined
  readonly absent: string
  readonly example: string
}

export interface BooleanSetting extends Common {
  readonly type: 'boolean'
  readonly default: boolean
}

export interface EnumSetting extends Common {
  readonly type: 'enum'
  readonly values: readonly string[]
  readonly default: string
}

export interface EnumListSetting extends Common {
  readonly type: 'enum-list'
  readonly values: readonly string[]
  readonly default: readonly string[]
}

export interface CidrListSetting extends Common {
  readonly type: 'cidr-list'
  readonly default: readonly string[]
  readonly example: string
}

export type Setting =
  | NumberSetting
  | TextSetting
  | OptionalTextSetting
  | BooleanSetting
  | EnumSetting
  | EnumListSetting
  | CidrListSetting

export type SettingType = Setting['type']
export type SettingValue = number | string | boolean | readonly string[] | undefined

export type ValueOf<S extends Setting> = S extends NumberSetting
  ? number
  : S extends BooleanSetting
    ? boolean
    : S extends EnumSetting
      ? S['values'][number]
      : S extends EnumListSetting
        ? readonly S['values'][number][]
        : S extends CidrListSetting
          ? readonly string[]
          : S extends OptionalTextSetting
            ? string | undefined
            : string
