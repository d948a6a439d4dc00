import { describe, expect, it } from 'vitest'
import type { NumberSetting, Setting, SettingType, SettingValue } from './setting.js'
import { settingList } from './settings.js'
import { defaultValue, displayValue, expectation, parseValue } from './values.js'

const cwd = '/srv/app'
const common = { env: 'CARILLON_X', group: 'Process', doc: 'A sentence.' } as const
const bounds = { default: 5, min: 2, max: 9 } as const

interface Cases {
  readonly setting: Setting
  readonly good: readonly (readonly [string, SettingValue])[]
  readonly bad: readonly string[]
}

/** One entry per type: the compiler asks for one when a type is added. */
const casesByType: Record<SettingType, Cases> = {
  int: {
    setting: { ...common, ...bounds, type: 'int' },
    good: [
      ['2', 2],
      ['9', 9],
      ['007', 7],
    ],
    bad: ['', '1', '10', '-5', '5.0', '5e0', '0x5', '+5', '5 runs', 'NaN', 'Infinity', '٥'],
  },
  seconds: {
    setting: { ...common, ...bounds, type: 'seconds' },
    good: [
      ['2', 2],
      ['9', 9],
      ['2.5', 2.5],
      ['8.999', 8.999],
    ],
    bad: ['', '1.999', '9.001', '2.0001', '-2', '.5', '5.', '5s', '5,5', '5e0', 'NaN'],
  },
  milliseconds: {
    setting: { ...common, ...bounds, type: 'milliseconds' },
    good: [
      ['2', 2],
      ['9', 9],
    ],
    bad: ['', '1', '10', '2.5', '5ms', '-2', 'five'],
  },
  port: {
    setting: { ...common, type: 'port', default: 80, min: 0, max: 65_535 },
    good: [
      ['0', 0],
      ['65535', 65_535],
    ],
    bad: ['', '65536', '-1', '80.5', 'http', ':80', 'tcp://10.0.0.1:80'],
  },
  host: {
    setting: { ...common, type: 'host', default: 'localhost' },
    good: [
      ['::1', '::1'],
      ['example.com', 'example.com'],
    ],
    bad: ['', '[::1]', 'example.com:80', '10.0.0.256'],
  },
  path: {
    setting: { ...common, type: 'path', default: '.' },
    good: [
      ['data', '/srv/app/data'],
      ['./a/../b', '/srv/app/b'],
      ['/var/lib/x', '/var/lib/x'],
    ],
    bad: ['', 'file:///var/lib/x', 'https://example.com/tasks.js', 'a\0b'],
  },
  string: {
    setting: { ...common, type: 'string', default: 'x' },
    good: [['key_1-2.3', 'key_1-2.3']],
    bad: ['', 'two words', 'line\nbreak', 'clé'],
  },
  boolean: {
    setting: { ...common, type: 'boolean', default: false },
    good: [
      ['true', true],
      ['false', false],
    ],
    bad: ['', 'yes', '1', 'TRUE', 'truefalse'],
  },
  enum: {
    setting: { ...common, type: 'enum', values: ['one', 'two'], default: 'one' },
    good: [['two', 'two']],
    bad: ['', 'three', 'ONE', 'one,two'],
  },
  'enum-list': {
    setting: { ...common, type: 'enum-list', values: ['one', 'two', 'three'], default: ['one'] },
    good: [
      ['two', ['two']],
      ['three, one', ['one', 'three']],
      ['two,two', ['two']],
    ],
    bad: ['', ',', 'four', 'one,four', 'one two'],
  },
  'cidr-list': {
    setting: { ...common, type: 'cidr-list', default: [], example: '10.0.0.0/8' },
    good: [
      ['', []],
      ['10.0.0.0/8, fd00::/8', ['10.0.0.0/8', 'fd00::/8']],
      ['10.0.0.0/8,10.0.0.0/8', ['10.0.0.0/8']],
    ],
    bad: ['10.0.0.0', '10.0.0.1/8', '10.0.0.0/8 fd00::/8', '10.0.0.0/8,everything'],
  },
  url: {
    setting: { ...common, type: 'url', default: 'http://localhost' },
    good: [['https://example.com/x', 'https://example.com/x']],
    bad: ['', 'example.com', 'localhost:7420', 'postgres://db/d'],
  },
  'url-secret': {
    setting: { ...common, type: 'url-secret', secret: true, default: 'postgres://db/d' },
    good: [['postgresql://u:p@db/d', 'postgresql://u:p@db/d']],
    bad: ['', 'db', 'https://db/d', 'postgres://u:p@ss@db/d'],
  },
}

const everyCase = Object.entries(casesByType).map(([type, cases]) => ({ type, ...cases }))

describe.each(everyCase)('a value of type $type', ({ setting, good, bad }) => {
  it.each(good)('reads "%s"', (text, value) => {
    expect(parseValue(setting, text, cwd)).toEqual({ value })
  })

  it.each(bad)('refuses "%s"', (text) => {
    expect(parseValue(setting, text, cwd)).toBeUndefined()
  })

  it('says what is expected', () => {
    expect(expectation(setting)).toMatch(/\w{2,}/)
  })
})

describe('every setting of the table', () => {
  it.each(settingList)('$key has a default that its own parser accepts', ({ setting }) => {
    const value = defaultValue(setting, cwd)
    if (value === undefined) expect(setting).toHaveProperty('absent')
    else expect(parseValue(setting, [value].flat().join(','), cwd)).toEqual({ value })
  })

  it.each(settingList)('$key shows an example that its own parser accepts', ({ setting }) => {
    const example = setting.example ?? displayValue(setting, setting.default)
    expect(parseValue(setting, example, cwd)).toBeDefined()
  })

  const numeric = settingList.filter(
    (row): row is typeof row & { setting: NumberSetting } => 'min' in row.setting,
  )

  it.each(numeric)('$key takes its bounds and nothing beyond', ({ setting }) => {
    const accepts = (value: number) => parseValue(setting, String(value), cwd) !== undefined
    expect([setting.min, setting.max].map(accepts)).toEqual([true, true])
    expect([setting.min - 1, setting.max + 1].map(accepts)).toEqual([false, false])
    expect(expectation(setting)).toContain(`from ${setting.min} to ${setting.max}`)
  })

  it('has no name and no flag twice', () => {
    const names = settingList.flatMap(({ setting }) => [
      setting.env,
      setting.flag ?? `none of ${setting.env}`,
    ])
    expect(new Set(names).size).toBe(names.length)
  })

  it.each(settingList)('$key is explained in one sentence', ({ setting }) => {
    expect(setting.doc.replaceAll(/`[^`]+`/g, 'code')).toMatch(/^[^.]+\.$/)
  })

  it.each(numeric)('$key depends, if at all, on a setting that is a number', ({ setting }) => {
    const other = settingList.find(({ key }) => key === setting.fit?.to)
    expect(setting.fit === undefined || typeof other?.setting.default === 'number').toBe(true)
  })

  it('marks as client settings exactly those of the group Client', () => {
    const marked = settingList.filter(({ setting }) => setting.audience === 'client').map(({ key }) => key)
    const grouped = settingList.filter(({ setting }) => setting.group === 'Client').map(({ key }) => key)
    expect(marked).toEqual(grouped)
  })
})

describe('displayValue', () => {
  const hidden: Setting = { ...common, type: 'string', secret: true, default: 'x' }

  it('hides a secret whole and a URL only its password', () => {
    expect(displayValue(hidden, 'key-1234')).toBe('****')
    expect(displayValue(casesByType['url-secret'].setting, 'postgres://u:p@db/d')).toBe(
      'postgres://u:****@db/d',
    )
    expect(displayValue(casesByType.url.setting, 'http://u:p@host')).toBe('http://u:****@host')
  })

  it('says what a missing value means', () => {
    const optional: Setting = {
      ...common,
      type: 'path',
      default: undefined,
      absent: 'no tasks',
      example: 'a.js',
    }
    expect(displayValue(optional, undefined)).toBe('(no tasks)')
    expect(displayValue(casesByType['cidr-list'].setting, [])).toBe('(none)')
  })
})
