import { expect, it } from 'vitest'
import { BoundedCache } from './bounded-cache.js'

it('drops the value that was unused for longest, and no other', () => {
  const cache = new BoundedCache<string>(2)
  const made: string[] = []
  const use = (key: string) =>
    cache.getOrMake(key, () => {
      made.push(key)
      return key
    })
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) use(key)
  expect(made).toEqual(['a', 'b', 'c', 'b'])
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
