import { describe, expect, it } from 'vitest'
import { engineOf } from '../../../test/oracle/engine.js'
import { rfcExamples, wallTimes } from '../../../test/oracle/rfc5545.js'
import { readWall } from '../../../test/oracle/wall-clock.mjs'

const timezone = 'America/New_York'

describe('the examples of RFC 5545', () => {
  it.each(rfcExamples)('%s from %s', (rrule, dtstart, times, end) => {
    const schedule = engineOf({ schedule: { rrule, dtstart }, timezone, anchor: 0 })
    const expected = wallTimes(times)
    const found: string[] = []
    let tick = schedule?.next(Date.UTC(1996, 0, 1)) ?? null
    while (tick !== null && found.length < expected.length) {
      found.push(new Date(readWall(timezone, tick)).toISOString().slice(0, 16))
      tick = schedule?.next(tick) ?? null
    }
    expect(found).toEqual(expected)
    expect(tick === null).toBe(end === 'ends')
  })
})
