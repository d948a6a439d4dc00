import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import type { Look } from './look.js'
import { duration, relative, when, whenInZone } from './time.js'

const look: Look = {
  colors: pc.createColors(false),
  width: 80,
  now: new Date('2026-12-01T08:57:00Z'),
  timeZone: 'Europe/Madrid',
}

describe('when', () => {
  it('shows local time and the distance', () => {
    expect(when('2026-12-01T09:00:00.000Z', look)).toBe('2026-12-01 10:00:00 (in 3 min)')
    expect(whenInZone('2026-12-01T08:00:00Z', look)).toBe('2026-12-01 09:00:00 Europe/Madrid (57 min ago)')
  })

  it('shows a dash where there is no instant', () => {
    expect(when(null, look)).toBe('–')
  })

  it('shows what is no instant as it came, made harmless', () => {
    expect(when('soon\u001b[2J', look)).toBe('soon\\u001b[2J')
  })
})

describe('relative', () => {
  it.each([
    [0, 'now'],
    [-499, 'now'],
    [1_000, 'in 1 s'],
    [59_400, 'in 59 s'],
    [59_600, 'in 1 min'],
    [-3_570_000, '1 h ago'],
    [(4 * 60 + 36) * 60_000, 'in 4 h 36 min'],
    [(11 * 60 + 36) * 60_000, 'in 11 h'],
    [47 * 3_600_000, 'in 47 h'],
    [-48 * 3_600_000, '2 d ago'],
    [400 * 86_400_000, 'in 400 d'],
    [1_000 * 86_400_000, 'in 3 y'],
  ])('says %i ms as "%s"', (ms, text) => {
    expect(relative(ms)).toBe(text)
  })
})

describe('duration', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_440, '1.4 s'],
    [59_949, '59.9 s'],
    [59_960, '1 min 0 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
  ])('says %i ms as "%s"', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })
})
