import { describe, expect, it } from 'vitest'
import { Flow } from './flow.js'

const hour = 3_600_000

/** As many ticks in each second from the first on, staged two seconds before; those of a job a period apart. */
function flowOf(perSecond: readonly number[], { from = 1_000, periodMs = hour } = {}): Flow {
  const flow = new Flow([2_000, 60_000])
  perSecond.forEach((count, at) => {
    const second = (from + at) * 1_000
    for (let tick = 0; tick < count; tick++) flow.add(second + (tick % 1_000), periodMs, second - 2_000)
  })
  return flow
}

describe('an even flow of ticks', () => {
  it('is what started in each of the last four seconds', () => {
    expect(flowOf([50, 50, 50, 50]).at(1_004_000).perSecond).toBe(50)
    expect(flowOf([50, 40, 60, 50]).at(1_004_999).perSecond).toBe(40)
  })

  it('is none until there were four of them, and none of what came at one instant', () => {
    expect(new Flow([1_000]).at(1_004_000)).toEqual({ perSecond: 0, within: [0] })
    expect(flowOf([50, 50, 50]).at(1_003_500).perSecond).toBe(0)
    expect(flowOf([0, 0, 9_000, 0]).at(1_004_000).perSecond).toBe(0)
    expect(flowOf([50, 50, 9_000, 50]).at(1_004_000).perSecond).toBe(50)
  })

  it('does not count the second that is not over, nor those that are still to come', () => {
    const flow = flowOf([50, 50, 50, 50, 10])
    for (let second = 1_005; second < 1_065; second++) flow.add(second * 1_000, hour, 1_004_000)
    expect(flow.at(1_004_800).perSecond).toBe(50)
    expect(flow.at(1_005_000).perSecond).toBe(10)
  })

  it('has as many timers within a span as come in it, or in a period where that is shorter', () => {
    expect(flowOf([50, 50, 50, 50]).at(1_004_000).within).toEqual([100, 3_000])
    expect(flowOf([50, 50, 50, 50], { periodMs: 10_000 }).at(1_004_000).within).toEqual([100, 500])
    expect(flowOf([50, 50, 50, 50], { periodMs: 1_000 }).at(1_004_000).within).toEqual([50, 50])
    // Of jobs that do not come again nothing is known of before they came.
    expect(flowOf([50, 50, 50, 50], { periodMs: 0 }).at(1_004_000)).toEqual({ perSecond: 50, within: [0, 0] })
  })

  it('ends when nothing comes any more, however long it was', () => {
    const flow = flowOf(Array.from({ length: 300 }, () => 20))
    expect(flow.at(1_300_000).perSecond).toBe(20)
    expect(flow.at(1_301_000).perSecond).toBe(0)
    // 128 seconds later its places are those of the same seconds again.
    expect(flow.at(1_428_000).perSecond).toBe(0)
  })

  it('is not disturbed by ticks of long ago that are made up for, nor by those that start much later', () => {
    const flow = flowOf([50, 50, 50, 50])
    for (let second = 1_000; second < 1_004; second++) {
      flow.add((second - 128) * 1_000, hour, 1_004_000)
      flow.add((second + 128) * 1_000, hour, 1_004_000)
    }
    expect(flow.at(1_004_000).perSecond).toBe(50)
  })

  it('is counted anew after the clock was set back', () => {
    const flow = flowOf([50, 50, 50, 50], { from: 9_000 })
    for (let second = 5_000; second < 5_004; second++) flow.add(second * 1_000, hour, second * 1_000)
    expect(flow.at(5_004_000).perSecond).toBe(1)
  })

  it('is counted after 2038 as well', () => {
    const from = 2 ** 31 + 10
    expect(flowOf([7, 7, 7, 7], { from }).at((from + 4) * 1_000).perSecond).toBe(7)
  })
})
