import { readFileSync } from 'node:fs'
import type { OracleRule, OracleSource } from './oracle.mjs'

// The worked examples of the documentation, as the tests read them: a fenced block `ticks` with a setting a line, a
// line of three dashes, and the ticks that follow, as local times with their offset.

export interface Example {
  line: number
  title: string
  source: OracleSource
  after: number
  ticks: { at: number; local: string }[]
  /** Wall times that the schedule names and does not run. */
  dropped: number[]
  /** Whether no tick follows the last one. */
  ends: boolean
}

export function examplesOf(page: URL): Example[] {
  const text = readFileSync(page, 'utf8')
  return [...text.matchAll(/^```ticks\n([^]*?)^```$/gm)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length
    return readExample(match[1] ?? '', line)
  })
}

function readExample(block: string, line: number): Example {
  const [settings = '', expected = ''] = block.split('---\n')
  const given = settings
    .trim()
    .split('\n')
    .map((setting) => [setting.split(' ')[0] ?? '', setting.slice(setting.indexOf(' ') + 1)] as const)
  const all = (name: string) => given.filter(([key]) => key === name).map(([, value]) => value)
  const one = (name: string) => all(name)[0]
  const lines = expected
    .trim()
    .split('\n')
    .map((entry) => entry.replace(/\s+#.*/, ''))
  const unknown = given.find(([key]) => !known.includes(key))
  if (unknown) throw new Error(`line ${line}: '${unknown[0]}' is not a setting of an example`)
  return {
    line,
    title: given.map(([key, value]) => `${key} ${value}`).join(', '),
    source: sourceOf(all, one),
    after: Date.parse(one('after') ?? ''),
    ticks: lines.filter((entry) => /^\d/.test(entry)).map((local) => ({ at: Date.parse(local), local })),
    dropped: lines
      .filter((entry) => entry.startsWith('dropped '))
      .map((entry) => Date.parse(`${entry.slice('dropped '.length)}Z`)),
    ends: lines.at(-1) === 'end',
  }
}

const known = [
  'rule',
  'every',
  'anchor',
  'rrule',
  'dtstart',
  'zone',
  'after',
  'dst_gap',
  'dst_overlap',
  'exclude',
  'on_excluded',
  'starts_at',
  'ends_at',
]

function sourceOf(all: (name: string) => string[], one: (name: string) => string | undefined): OracleSource {
  const rules: (string | OracleRule)[] = [
    ...all('rule'),
    ...all('every').map((every) => ({ every, anchor: one('anchor') ?? '' })),
    ...all('rrule').map((rrule) => ({ rrule, dtstart: one('dtstart') ?? '' })),
  ]
  const [only] = rules
  const pick = (name: 'dst_gap' | 'dst_overlap' | 'on_excluded' | 'starts_at' | 'ends_at') => {
    const value = one(name)
    return value === undefined ? {} : { [name]: value }
  }
  return {
    schedule: rules.length === 1 && only !== undefined ? only : rules,
    timezone: one('zone') ?? '',
    anchor: 0,
    ...(all('exclude').length > 0 ? { exclude: all('exclude') } : {}),
    ...pick('dst_gap'),
    ...pick('dst_overlap'),
    ...pick('on_excluded'),
    ...pick('starts_at'),
    ...pick('ends_at'),
  }
}
