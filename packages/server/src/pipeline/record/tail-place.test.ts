import { describe, expect, it } from 'vitest'
import { placeFrom, placeText, type TailPlace } from './tail-place.js'
import { TailReach } from './tail-reach.js'

const place: TailPlace = {
  at: 1_700_000_000_000,
  since: 1_699_999_998_000,
  seen: '10:20:10,12',
  within: null,
}

describe('a place in the stream', () => {
  it.each([place, { ...place, seen: '7:7:' }, { ...place, within: { upTo: '20:30:', told: 3 } }])(
    'is the same after it was written and read: %j',
    (one) => {
      expect(placeFrom(placeText(one))).toEqual(one)
    },
  )

  it.each([
    '',
    'x',
    '1_2',
    '1_2_20:10:',
    '1_2_10:20:12,11',
    '1_2_10:20:20',
    '1_2_10:20:9',
    '1_2_0:0:',
    '1_2_10:20:;DROP',
    '1_2_10:20:_30',
    '1_2_10:20:_20:30:_x',
    '1_2_10:20:_20:30:_2000000',
    '1_2_10:20:_20:30:_1_1',
    `1_2_${'9'.repeat(19)}:${'9'.repeat(19)}:`,
    `1_2_1:900000:${Array.from({ length: 2_000 }, (_, n) => n + 1).join(',')}`,
  ])('is not %j', (text) => {
    expect(placeFrom(text)).toBeNull()
  })
})

describe('how far back the next look reads', () => {
  it('is a little before this one while no transaction is under way', () => {
    const reach = new TailReach()
    expect(reach.note(100_000, '50:50:')).toBe(98_000)
    expect(reach.note(101_000, '60:60:')).toBe(99_000)
  })

  it('is before the transaction that has been under way longest', () => {
    const reach = new TailReach()
    reach.note(100_000, '50:50:')
    reach.note(101_000, '50:52:50')
    expect(reach.note(110_000, '50:80:50')).toBe(98_000)
    expect(reach.note(111_000, '80:90:80')).toBe(108_000)
  })

  it('has an end, and begins there where it is not known when a transaction began', () => {
    expect(new TailReach().note(1_000_000, '50:52:50')).toBe(938_000)
    const reach = new TailReach()
    reach.note(100_000, '50:50:')
    expect(reach.note(1_000_000, '50:52:50')).toBe(938_000)
  })
})
