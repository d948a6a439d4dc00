import type { JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import type { DatabaseClock } from '../../db/database-clock.js'
import { Alike } from './alike.js'
import { type CandidateOptions, candidateOf, viewOf } from './candidate.js'

const noon = 1_794_830_400_000
const terms = { minInterval: null }

function alikeAt(clock: { now: number }) {
  const options: CandidateOptions = {
    databaseClock: { atLeast: () => clock.now } as DatabaseClock,
    minIntervalMs: 1_000,
    maxJobBytes: 2_000,
    checkTarget: () => undefined,
  }
  return { options, alike: new Alike(options, terms) }
}

const target = { type: 'http', url: 'https://example.com/hook' } as const
const inputs: JobInput[] = [
  { name: 'a', schedule: '0 9 * * *', target, payload: { n: 1 } },
  { name: 'b"\n', schedule: '0 9 * * *', target, payload: ['x'] },
  { name: 'c', schedule: '0 9 * * *', target },
  { name: 'd', schedule: '0 9 * * *', target, payload: null },
  { name: 'e', schedule: '0 9 * * *', timezone: 'Europe/Madrid', target, payload: { n: 1 } },
  { name: 'f', schedule: '0 9 * * *', timezone: 'Europe/Madrid', target, payload: { n: 2 } },
  { name: 'g', schedule: '0 9 * * *', target, payload: 0, priority: 1, max_retries: 7 },
  { name: 'h', schedule: '0 9 * * *', target, payload: 0, priority: 2, max_retries: 7 },
  { name: 'i', schedule: { every: '90s' }, target },
  { name: 'j', schedule: { every: '90s' }, target, payload: true },
  { name: 'k', schedule: '2026-11-17T12:00:00Z', target },
  { name: 'l', schedule: '2026-11-17T12:00:00Z', target, jitter_seconds: 60 },
  { name: 'm', schedule: '0 9 * * *' },
  { name: 'n', schedule: '0 9 * * *' },
  { name: 'o', schedule: '0 9 * * *', target, jitter_seconds: 600 },
  { name: 'p', schedule: '0 9 * * *', target, jitter_seconds: 600 },
]

describe('jobs of one call', () => {
  const { options, alike } = alikeAt({ now: noon })
  test.each(inputs)('$name is what it would be alone', (input) => {
    const together = alike.candidate(input)
    const alone = candidateOf(options, input, terms, together.uuid)
    expect(together.text).toBe(alone.text)
    expect(together.startAt).toBe(alone.startAt)
    const { definition: _one, ...kind } = together.kind
    const { definition: _other, ...own } = alone.kind
    expect(kind).toEqual(own)
    expect(viewOf(together, true)).toEqual(viewOf(alone, true))
    expect(together.answer()).toEqual(alone.answer())
  })

  test('have one kind where they differ in name and payload only', () => {
    const [a, b, c] = inputs.map((input) => alike.candidate(input).kind)
    expect(b).toBe(a)
    expect(c).toBe(a)
    expect(new Set(inputs.map((input) => alike.candidate(input).kind)).size).toBe(10)
  })

  test('are refused each for itself, also after others of their kind', () => {
    expect(alike.candidate({ name: 'small', schedule: '0 9 * * *', target }).jobId).toMatch(/^job_/)
    const large = { name: 'large', schedule: '0 9 * * *', target, payload: 'x'.repeat(3_000) }
    expect(() => alike.candidate(large)).toThrow(/bytes/)
    const unreadable = { name: 'never', schedule: 'now and then', target }
    for (let time = 0; time < 2; time++) expect(() => alike.candidate(unreadable)).toThrow()
  })

  test('have one kind also where many kinds share schedule and target', () => {
    const { alike: fresh } = alikeAt({ now: noon })
    const kindsOf = (round: string) =>
      Array.from({ length: 9 }, (_, n) => {
        const input = { name: `${round}${n}`, schedule: '0 9 * * *', target, payload: round, tags: [`t${n}`] }
        return fresh.candidate(input).kind
      })
    const [first, second] = [kindsOf('one'), kindsOf('two')]
    expect(new Set(first).size).toBe(9)
    for (const [n, kind] of second.entries()) expect(kind).toBe(first[n])
  })

  test('are not compared with what is large', () => {
    const { alike: fresh } = alikeAt({ now: noon })
    const looked: string[] = []
    const watched = (body: object) =>
      new Proxy(body, {
        ownKeys(list) {
          looked.push('all')
          return Reflect.ownKeys(list)
        },
      })
    const job = (name: string, body: unknown): JobInput => ({
      name,
      schedule: '0 9 * * *',
      target: { type: 'http', url: 'https://example.com/hook', body },
    })
    const large = watched(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field${n}`, n])))
    expect(() => fresh.candidate(job('large', large))).toThrow(/bytes/)
    const before = looked.length
    const kinds = [1, 2, 1].map((n) => fresh.candidate(job(`n${looked.length}`, { n })).kind)
    expect(looked.length).toBe(before)
    expect(kinds[2]).toBe(kinds[0])
    expect(kinds[1]).not.toBe(kinds[0])
  })

  test('of which one says that it has no value have kinds of their own', () => {
    const { alike: fresh } = alikeAt({ now: noon })
    const base = { schedule: '0 9 * * *', target }
    const one = fresh.candidate({ ...base, name: 'one', tags: undefined as never })
    const other = fresh.candidate({ ...base, name: 'other', description: 'z' })
    expect(other.kind).not.toBe(one.kind)
    expect(other.text).toContain('"description":"z"')
  })

  test('have kinds of their own where a field is missing, or differs deep within', () => {
    const { alike: fresh } = alikeAt({ now: noon })
    const base = { name: 'a', schedule: '0 9 * * *' }
    const hook = { type: 'http', url: 'https://example.com/hook' } as const
    const kinds = [
      { ...base, target: hook },
      { ...base, target: { ...hook, headers: { a: '1' } } },
      { ...base, target: { ...hook, headers: { b: '1' } } },
      { ...base, target: { ...hook, headers: { a: '1', b: '1' } } },
      { ...base, target: hook, schedule: '5 9 * * *', tags: ['x'] },
      { ...base, target: hook, schedule: '5 9 * * *', tags: ['x', 'y'] },
      { ...base, target: hook, schedule: '5 9 * * *', tags: ['y', 'x'] },
    ].map((input) => fresh.candidate(input).kind)
    expect(new Set(kinds).size).toBe(7)
    expect(kinds.map(({ definition }) => definition.tags)).toEqual([
      ...Array.from({ length: 4 }, () => []),
      ['x'],
      ['x', 'y'],
      ['y', 'x'],
    ])
  })

  test('are not taken for alike because of what stands in a value', () => {
    const one = { name: 'one', schedule: '0 9 * * *', description: 'x', managed_by: 'y', target }
    const other = { name: 'other', schedule: '0 9 * * *', description: 'xmanaged_by"1:y', target }
    expect(alike.candidate(other).kind).not.toBe(alike.candidate(one).kind)
    const number = { name: 'number', schedule: '0 9 * * *', target, max_runs: 1 }
    const text = { ...number, name: 'text', max_runs: '1' as never }
    expect(alike.candidate(text).kind).not.toBe(alike.candidate(number).kind)
  })
})

test('what is known of a kind is found anew when it is a second old: a tick may have passed', () => {
  const clock = { now: noon }
  const { alike } = alikeAt(clock)
  const input = { name: 'minutely', schedule: '* * * * *', target }
  const first = alike.candidate(input).kind
  clock.now = noon + 999
  alike.refresh()
  expect(alike.candidate(input).kind).toBe(first)
  clock.now = noon + 60_000
  alike.refresh()
  expect(alike.candidate(input).kind).toMatchObject({
    now: noon + 60_000,
    from: noon + 60_000,
    due: noon + 120_000,
  })
})
