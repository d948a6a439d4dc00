import { describe, expect, it } from 'vitest'
import { Flow } from './flow.js'

/** As many ticks in each second from the first to the last. */
function flowOf(perSecond: readonly number[], fromSecond = 1_000): Flow {
  const flow = new Flow()
  perSecond.forEach((count, at) => {
    for (let tick = 0; tick < count; tick++) flow.add((fromSecond + at) * 1_000 + (tick % 1_000))
  })
  return flow
}

describe('an even flow of ticks', () => {
  it('is what started in each of the last four seconds', () => {
    expect(flowOf([50, 50, 50, 50]).perSecond(1_004_000)).toBe(50)
    expect(flowOf([50, 40, 60, 50]).perSecond(1_004_999)).toBe(40)
  })

  it('is none until there were four of them, and none of a crowd', () => {
    expect(new Flow().perSecond(1_004_000)).toBe(0)
    expect(flowOf([50, 50, 50]).perSecond(1_003_500)).toBe(0)
    expect(flowOf([0, 0, 9_000, 0]).perSecond(1_004_000)).toBe(0)
    expect(flowOf([50, 50, 9_000, 50]).perSecond(1_004_000)).toBe(50)
  })

  it('does not count the second that is not over, nor those that are still to come', () => {
    const flow = flowOf([50, 50, 50, 50, 10])
    for (let second = 1_005; second < 1_065; second++) flow.add(second * 1_000)
    expect(flow.perSecond(1_004_800)).toBe(50)
    expect(flow.perSecond(1_005_000)).toBe(10)
  })

  it('ends when nothing comes any more, however long it was', () => {
    const flow = flowOf(Array.from({ length: 300 }, () => 20))
    expect(flow.perSecond(1_300_000)).toBe(20)
    expect(flow.perSecond(1_301_000)).toBe(0)
    // 128 seconds later its places are those of the same seconds again.
    expect(flow.perSecond(1_428_000)).toBe(0)
  })

  it('is not disturbed by ticks of long ago that are made up for', () => {
    const flow = flowOf([50, 50, 50, 50], 1_000)
    for (let second = 872; second < 876; second++) flow.add(second * 1_000)
    expect(flow.perSecond(1_004_000)).toBe(50)
  })

  it('is counted after 2038 as well', () => {
    const second = 2 ** 31 + 10
    expect(flowOf([7, 7, 7, 7], second).perSecond((second + 4) * 1_000)).toBe(7)
  })
})
