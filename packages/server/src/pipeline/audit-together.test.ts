import { describe, expect, it } from 'vitest'
import { newUuid } from '../platform/ids.js'
import { latestTogether, notedTogether } from './audit-together.js'

const at = (ms: number, rest = '7000-8000-000000000000') => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-${rest}`
}
const now = 1_790_000_000_000

describe('jobs that are noted together', () => {
  it('are those that were named one after the other', () => {
    expect(notedTogether(Array.from({ length: 1_000 }, newUuid))).toBe(true)
    expect(notedTogether([at(now), at(now + 60_000)])).toBe(true)
  })

  it.each([
    ['one alone', [at(now)]],
    ['none', []],
    ['more than there are numbers for', Array.from({ length: 1_001 }, newUuid)],
    ['ids that do not ascend', [at(now), at(now + 2), at(now + 1), at(now + 3)]],
    ['an id twice', [at(now), at(now)]],
    ['ids of more than a minute', [at(now), at(now + 60_001)]],
  ])('are not %s', (_what, uuids) => {
    expect(notedTogether(uuids)).toBe(false)
  })

  it('are all found by the first of them, at its latest', () => {
    expect(latestTogether(at(now)) >= at(now + 60_000, '7fff-bfff-ffffffffffff')).toBe(true)
    expect(latestTogether(at(now)) < at(now + 60_001)).toBe(true)
  })
})
