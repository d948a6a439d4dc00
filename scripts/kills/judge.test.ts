import { describe, expect, it } from 'vitest'
import { judge } from './judge.mjs'

const delivery = (tick: string, attempt = 1, more: object = {}) => ({
  at: attempt * 1_000,
  tick,
  key: `key of ${tick}`,
  attempt,
  token: attempt,
  ...more,
})
const closed = (tick: string, more: object = {}) => ({
  tick,
  final: true,
  outcome: 'success',
  attempt: 1,
  token: 1,
  ...more,
})
const good = {
  deliveries: [delivery('a'), delivery('b'), delivery('b', 2)],
  ledger: [
    closed('a'),
    closed('b', { final: false, outcome: 'failed' }),
    closed('b', { attempt: 2, token: 2 }),
  ],
  open: [] as string[],
  kills: [{ at: 1_500, inFlight: ['b'] }],
}

function wrong(seen: Partial<typeof good>): string[] {
  const { violations } = judge({ ...good, ...seen })
  return Object.entries(violations).flatMap(([name, list]) => (list.length > 0 ? [name] : []))
}

describe('the judge of the kills', () => {
  it('finds nothing wrong with a run that was delivered again because its worker was killed', () => {
    expect(wrong({})).toEqual([])
    expect(judge(good)).toMatchObject({
      runs: 2,
      deliveries: 3,
      extra_deliveries: 1,
      extra_deliveries_bound: 1,
      redelivery_ms: { count: 1, p50: 500 },
    })
  })

  it('sees a run that was never closed', () => {
    expect(wrong({ open: ['c'] })).toEqual(['not_closed'])
  })

  it('sees a run that was closed twice', () => {
    expect(wrong({ ledger: [...good.ledger, closed('a')] })).toEqual(['closed_twice'])
  })

  it('sees a run that ended in another way', () => {
    expect(wrong({ ledger: [closed('a', { outcome: 'dead' }), closed('b')] })).toEqual(['not_succeeded'])
  })

  it('sees a delivery that the ledger does not know, and a run that never arrived', () => {
    expect(wrong({ deliveries: [...good.deliveries, delivery('c')] })).toEqual(['delivered_but_unknown'])
    expect(wrong({ ledger: [...good.ledger, closed('c')] })).toEqual(['closed_but_not_delivered'])
  })

  it('sees a run whose key changed, and two that share one', () => {
    expect(wrong({ deliveries: [delivery('a'), delivery('b'), delivery('b', 2, { key: 'other' })] })).toEqual(
      ['another_key'],
    )
    const shared = { key: 'one key' }
    expect(wrong({ deliveries: [delivery('a', 1, shared), delivery('b', 1, shared)] })).toEqual([
      'shared_key',
    ])
  })

  it('sees a token that did not grow', () => {
    expect(wrong({ deliveries: [delivery('a'), delivery('b'), delivery('b', 2, { token: 1 })] })).toEqual([
      'token_not_grown',
    ])
  })

  it('sees a second delivery that no kill explains', () => {
    expect(wrong({ kills: [{ at: 1_500, inFlight: ['a'] }] })).toEqual(['delivered_again_without_a_kill'])
    expect(wrong({ kills: [] })).toEqual(['delivered_again_without_a_kill', 'more_extra_than_in_flight'])
  })
})
