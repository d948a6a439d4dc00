import { describe, expect, it } from 'vitest'
import { depthFor, type Lane, lanesToAsk } from './lanes.js'

const lane = (route: number, given: Partial<Lane> = {}): Lane => ({
  ...{ route, tenant: 1, priority: 5, ready: 100, waiting: null, blocked: false },
  ...given,
})
const many = (count: number, given: (at: number) => Partial<Lane>) =>
  Array.from({ length: count }, (_, at) => lane(at + 1, given(at)))
const asking = { most: 20, now: 1_000, stepMs: 60_000, spentBy: () => 0 }
const routes = (lanes: readonly Lane[]) => lanes.map(({ route }) => route).sort((a, b) => a - b)

describe('the lanes that are asked', () => {
  it('are all that are not blocked, where they are few', () => {
    expect(routes(lanesToAsk([lane(1), lane(2, { blocked: true }), lane(3)], asking))).toEqual([1, 3])
  })

  it('are those of the tenants with the smallest accounts, where they are many', () => {
    const lanes = many(50, (at) => ({ tenant: at }))
    const asked = lanesToAsk(lanes, { ...asking, spentBy: (tenant) => -tenant })
    expect(routes(asked)).toEqual(Array.from({ length: 20 }, (_, at) => 31 + at))
  })

  it('are of each tenant those that are due first, by priority, and never one that is not due before one that is', () => {
    const lanes = [
      ...many(30, (at) => ({ ready: 900 - at })),
      lane(98, { ready: 999, priority: 9 }),
      lane(99, { ready: 1_500, priority: 9 }),
    ]
    const asked = routes(lanesToAsk(lanes, asking))
    expect(asked).toHaveLength(20)
    expect(asked).toContain(98)
    expect(asked).not.toContain(99)
  })

  it('do not lose their part to tenants whose runs only wait for a place', () => {
    const stuck = many(40, (at) => ({ tenant: at + 2, ready: null, waiting: 1 }))
    const asked = lanesToAsk([...stuck, lane(99)], { ...asking, spentBy: (tenant) => (tenant === 1 ? 5 : 0) })
    expect(routes(asked)).toContain(99)
  })
})

describe('the depth of a look', () => {
  it('is all that is wanted from few lanes, and little from many', () => {
    expect([
      depthFor(1, 100),
      depthFor(4, 100),
      depthFor(8, 100),
      depthFor(1_000, 100),
      depthFor(50, 5),
    ]).toEqual([100, 100, 50, 10, 5])
  })
})
