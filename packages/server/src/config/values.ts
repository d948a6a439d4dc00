import { resolve } from 'node:path'
import { isHost, isNetwork } from './addresses.js'
import type { NumberSetting, Setting, SettingValue, TextType } from './setting.js'
import { isHttpUrl, isPostgresUrl, mask, maskUrlPassword } from './urls.js'

/** A parsed value, or nothing where the text is not one. */
export type Parsed = { readonly value: SettingValue } | undefined

/** Reads the text of one setting. Relative paths start at `cwd`. */
export function parseValue(setting: Setting, text: string, cwd: string): Parsed {
  switch (setting.type) {
    case 'int':
    case 'seconds':
    case 'milliseconds':
    case 'port':
      return parseNumber(setting, text)
    case 'boolean':
      return /^(true|false)$/.test(text) ? { value: text === 'true' } : undefined
    case 'enum':
      return setting.values.includes(text) ? { value: text } : undefined
    case 'enum-list': {
      const given = splitList(text)
      if (given.length === 0 || !given.every((item) => setting.values.includes(item))) return undefined
      return { value: setting.values.filter((item) => given.includes(item)) }
    }
    case 'cidr-list': {
      const given = splitList(text)
      return given.every(isNetwork) ? { value: [...new Set(given)] } : undefined
    }
    case 'path':
      return acceptsText.path(text) ? { value: resolve(cwd, text) } : undefined
    default:
      return acceptsText[setting.type](text) ? { value: text } : undefined
  }
}

const acceptsText: Record<TextType, (text: string) => boolean> = {
  host: isHost,
  path: (text) => text !== '' && !text.includes('\0') && !/^[a-z][a-z0-9+.-]+:\/\//i.test(text),
  // Such a value travels in an HTTP header.
  string: (text) => /^[\x21-\x7e]+$/.test(text),
  url: isHttpUrl,
  'url-secret': isPostgresUrl,
}

function parseNumber(setting: NumberSetting, text: string): Parsed {
  const shape = setting.type === 'seconds' ? /^\d+(\.\d{1,3})?$/ : /^\d+$/
  const value = Number(text)
  return shape.test(text) && value >= setting.min && value <= setting.max ? { value } : undefined
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** The value when nobody gave one. */
export function defaultValue(setting: Setting, cwd: string): SettingValue {
  return setting.type === 'path' && setting.default !== undefined
    ? resolve(cwd, setting.default)
    : setting.default
}

/** Completes the sentence "expected …". */
export function expectation(setting: Setting): string {
  switch (setting.type) {
    case 'int':
      return `a whole number${setting.unit === undefined ? '' : ` of ${setting.unit}`} ${range(setting)}`
    case 'seconds':
      return `a number of seconds ${range(setting)}, with at most three decimals and no unit`
    case 'milliseconds':
      return `a whole number of milliseconds ${range(setting)}, without a unit`
    case 'port':
      return `a port number ${range(setting)}`
    case 'boolean':
      return 'true or false'
    case 'enum':
      return `one of ${setting.values.join(', ')}`
    case 'enum-list':
      return `one or more of ${setting.values.join(', ')}, separated by commas`
    case 'cidr-list':
      return 'networks as address/prefix, separated by commas, with no bits set behind the prefix'
    default:
      return textExpectation[setting.type]
  }
}

const textExpectation: Record<TextType, string> = {
  host: 'an IP address or a host name, without brackets and port',
  path: 'a path in the file system',
  string: 'printable ASCII characters without spaces',
  url: 'an http:// or https:// URL',
  'url-secret': 'a postgres:// URL whose user and password have every special character percent-encoded',
}

function range(setting: NumberSetting): string {
  return `from ${setting.min} to ${setting.max}`
}

/** A value as people may see it: secrets masked, lists joined, absence explained. */
export function displayValue(setting: Setting, value: SettingValue): string {
  if (value === undefined) return `(${'absent' in setting ? setting.absent : 'none'})`
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.join(',')
  return hideSecret(setting, String(value))
}

export function hideSecret(setting: Setting, text: string): string {
  // The path of such a URL is the secret.
  if (setting.type === 'url' && setting.secret === true) return mask
  if (setting.type === 'url' || setting.type === 'url-secret') return maskUrlPassword(text)
  return setting.secret === true ? mask : text
}
