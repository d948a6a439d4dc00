import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.js'

const now = Date.UTC(1994, 10, 6, 8, 49, 0)

test.each([
  ['0', 0],
  [' 30 ', 30_000],
  ['86401', 86_400_000],
  ['9'.repeat(400), 86_400_000],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
  ['Sun Nov  6 08:49:37 1994', 37_000],
  ['Sat, 05 Nov 1994 08:49:37 GMT', 0],
  ['Sun, 06 Nov 2094 08:49:37 GMT', 86_400_000],
])('%j is a wait of %i ms', (header, wait) => {
  expect(retryAfterMs(header, now)).toBe(wait)
})

test.each([
  undefined,
  '',
  '-5',
  '1.5',
  '1 day',
  'soon 5',
  'Sun, 99 Nov 1994 08:49:37 GMT',
  '2026-01-01T00:00:00Z',
])('%j is ignored', (header) => {
  expect(retryAfterMs(header, now)).toBeUndefined()
})
