import type { StatsHistory } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { StatsPieces } from './stats-pieces.js'

const begin = Date.parse('2026-11-16T09:00:00Z')
const text = (ms: number) => new Date(ms).toISOString()

/** A ledger that gets one run in every piece but the quiet ones, and is counted as far as the test says. */
class Counted {
  through = begin + 3_000
  failing = false
  asked: number[] = []
  quiet = new Set<number>()

  recent = () => this.history(1, 1)
  get = () => Promise.reject(new Error('Nobody asks for it.'))

  history(_tenant: number, minutes: number): Promise<StatsHistory> {
    this.asked.push(minutes)
    if (this.failing) return Promise.reject(new Error('the database is away'))
    const data: StatsHistory['data'] = []
    for (let at = begin; at < this.through; at += 5_000) {
      if (at <= this.through - minutes * 60_000 || this.quiet.has(at)) continue
      const counts = { fired: 1, success: 1, failed: 0, dead: 0, skipped: 0, lag_ms: null }
      data.push({ at: text(at), counts })
    }
    return Promise.resolve({ now: text(this.through), through: text(this.through), step_seconds: 5, data })
  }
}

function setUp() {
  const counted = new Counted()
  const pieces = new StatsPieces(counted, 1, counted.through)
  const told = async () => {
    const next = await pieces.next()
    return (
      next && {
        through: Date.parse(next.through) - begin,
        at: next.data.map(({ at }) => Date.parse(at) - begin),
      }
    )
  }
  return { counted, told }
}

describe('the pieces that a stream tells', () => {
  it('begin with where it stands, and come each once when all of it is counted', async () => {
    const { counted, told } = setUp()
    expect(await told()).toEqual({ through: 0, at: [] })
    counted.through = begin + 4_999
    expect(await told()).toBe(null)
    counted.through = begin + 5_000
    expect(await told()).toEqual({ through: 5_000, at: [0] })
    expect(await told()).toBe(null)
    counted.through = begin + 17_000
    expect(await told()).toEqual({ through: 15_000, at: [5_000, 10_000] })
  })

  it('say that nothing ended in one that is left out', async () => {
    const { counted, told } = setUp()
    await told()
    counted.quiet.add(begin)
    counted.through = begin + 6_000
    expect(await told()).toEqual({ through: 5_000, at: [] })
  })

  it('are all told after looks that failed for minutes', async () => {
    const { counted, told } = setUp()
    await told()
    counted.failing = true
    await expect(told()).rejects.toThrow('away')
    counted.failing = false
    counted.through = begin + 5 * 60_000 + 1_000
    const { at, through } = (await told()) ?? { at: [], through: 0 }
    expect(through).toBe(5 * 60_000)
    expect(at).toEqual(Array.from({ length: 60 }, (_, index) => index * 5_000))
    counted.asked = []
    counted.through += 5_000
    expect((await told())?.at).toEqual([5 * 60_000])
    expect(counted.asked).toEqual([1])
  })

  it('are none that were told, after the clock was set back', async () => {
    const { counted, told } = setUp()
    await told()
    counted.through = begin + 60_000
    await told()
    counted.through = begin + 30_000
    expect(await told()).toBe(null)
    counted.through = begin + 65_000
    expect((await told())?.at).toEqual([60_000])
  })
})
