import { describe, expect, it } from 'vitest'
import { engineOf } from '../../../test/oracle/engine.js'
import { examplesOf } from '../../../test/oracle/examples.js'
import { oracleTicks } from '../../../test/oracle/oracle.mjs'
import { DAY, readWall } from '../../../test/oracle/wall-clock.mjs'

const page = new URL('../../../../../docs/concepts/time.md', import.meta.url)
const examples = examplesOf(page)
const iso = (instants: number[]) => instants.map((instant) => new Date(instant).toISOString())

describe('the worked examples of docs/concepts/time.md', () => {
  it('are many, and each names a tick', () => {
    expect(examples.length).toBeGreaterThan(25)
    for (const { ticks, after } of examples) {
      expect(ticks.length).toBeGreaterThan(0)
      expect(after).not.toBeNaN()
    }
  })

  describe.each(examples.map((example) => [example.line, example.title, example] as const))(
    'line %i: %s',
    (_line, _title, { source, after, ticks, dropped, ends }) => {
      const last = ticks.at(-1)?.at ?? after

      it('holds in the engine', () => {
        const schedule = engineOf(source)
        const found: number[] = []
        let tick = schedule?.next(after) ?? null
        while (tick !== null && tick <= last) {
          found.push(tick)
          tick = schedule?.next(tick) ?? null
        }
        expect(iso(found)).toEqual(iso(ticks.map(({ at }) => at)))
        expect(
          schedule
            ?.dropped(after, last)
            .filter(({ reason }) => reason === 'dst_gap')
            .map(({ wall }) => wall),
        ).toEqual(dropped)
        if (ends) expect(tick).toBeNull()
        expect(schedule?.count(after + 1, last)).toBe(ticks.length)
      })

      it('holds in the oracle, as far as it reads', () => {
        const to = Math.min(last, after + 130 * DAY)
        expect(iso(oracleTicks(source, after + 1, to))).toEqual(
          iso(ticks.map(({ at }) => at).filter((at) => at <= to)),
        )
      })

      it('is written as the wall of the zone shows it', () => {
        for (const { at, local } of ticks) {
          expect(new Date(readWall(source.timezone, at)).toISOString().slice(0, 16)).toBe(local.slice(0, 16))
        }
      })
    },
  )
})
