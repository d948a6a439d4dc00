import { expect, test } from 'vitest'
import { FreshNames } from './create-fresh.js'

test('names are taken for free, but for sixteen statements of a tenant after one that had a name taken', () => {
  const names = new FreshNames()
  expect(names.likely(1)).toBe(true)
  names.wasTaken(1)
  expect(names.likely(2)).toBe(true)
  const seen = Array.from({ length: 18 }, () => names.likely(1))
  expect(seen).toEqual([...Array.from({ length: 16 }, () => false), true, true])
})

test('another taken name begins the sixteen again', () => {
  const names = new FreshNames()
  names.wasTaken(1)
  for (let at = 0; at < 10; at++) names.likely(1)
  names.wasTaken(1)
  expect(Array.from({ length: 16 }, () => names.likely(1))).not.toContain(true)
  expect(names.likely(1)).toBe(true)
})
