import { describe, expect, it } from 'vitest'
import { countOf, inputOf, leadOf, periodOf } from './options.js'

describe('how many', () => {
  it.each([
    ['250000', 250_000],
    ['10k', 10_000],
    ['1M', 1_000_000],
  ])('reads %s', (text, count) => expect(countOf(text)).toBe(count))

  it.each(['0', '-1', '1.5', 'many', '', '1000M', '10kk'])('refuses "%s"', (text) =>
    expect(() => countOf(text)).toThrow('--n is'),
  )
})

describe('how often each fires', () => {
  it('is once a day, in a time that is said, or by the firings of all together', () => {
    expect(periodOf(1_000, {})).toBe(86_400)
    expect(periodOf(1_000, { over: '30m' })).toBe(1_800)
    expect(periodOf(1_000_000, { rate: '1000' })).toBe(1_000)
    expect(periodOf(100, { rate: '0.5' })).toBe(200)
  })

  it.each([
    [{ rate: '10', over: '1h' }, 'give one of them'],
    [{ rate: 'fast' }, '--rate is "fast"'],
    [{ rate: '0' }, '--rate is "0"'],
    [{ rate: '101' }, '100 times a second at most'],
    [{ over: 'soon' }, '--over is "soon"'],
  ])('refuses %j', (flags, said) => expect(() => periodOf(100, flags)).toThrow(said))
})

describe('what they are', () => {
  const flags = { n: '1', name: 'seed' }

  it('is a task that does nothing, or what was asked for', () => {
    expect(inputOf(flags, 60)).toMatchObject({
      schedule: '@every 60s',
      target: { type: 'task', task: 'noop' },
    })
    expect(inputOf({ ...flags, http: 'https://x.example/' }, 60)).toMatchObject({ target: { type: 'http' } })
    expect(inputOf({ ...flags, payload: '{"a":1}' }, 60)).toMatchObject({ payload: { a: 1 } })
  })

  it.each(['a b', 'a\tb', 'a\\b', '', 'x'.repeat(101)])('refuses %j as the beginning of names', (name) =>
    expect(() => inputOf({ ...flags, name }, 60)).toThrow('--name'),
  )

  it('refuses two targets', () =>
    expect(() => inputOf({ ...flags, task: 't', http: 'https://x.example/' }, 60)).toThrow('one target'))
})

it('waits with the first tick until all are loaded, unless told, or beside servers that fire meanwhile', () => {
  expect(leadOf(1_200_000, { beside: false })).toBe(105)
  expect(leadOf(1_200_000, { beside: true })).toBe(5)
  expect(leadOf(1_200_000, { beside: false, firstIn: '10m' })).toBe(600)
})
