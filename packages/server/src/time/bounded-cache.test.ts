import { expect, it } from 'vitest'
import { BoundedCache } from './bounded-cache.js'

it.each([
  ['abacab', 'abcb'],
  ['aabaca', 'abc'],
  ['ababcb', 'abc'],
])('drops the value that was unused for longest, and no other: of %s it makes %s', (used, expected) => {
  const cache = new BoundedCache<string>(2)
  const made: string[] = []
  const use = (key: string) =>
    cache.getOrMake(key, () => {
      made.push(key)
      return key
    })
  for (const key of used) use(key)
  expect(made.join('')).toBe(expected)
})

it('stores nothing when a value cannot be made', () => {
  const cache = new BoundedCache<string>(2)
  expect(() =>
    cache.getOrMake('a', () => {
      throw new Error('cannot be made')
    }),
  ).toThrow('cannot be made')
  expect(cache.getOrMake('a', () => 'made')).toBe('made')
})
