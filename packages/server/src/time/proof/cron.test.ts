import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  casesAround,
  cronRules,
  policies,
  probesOf,
  scenes,
  secondRules,
} from '../../../test/oracle/arbitraries.js'
import { cronMatcher, partsOf } from '../../../test/oracle/cron-matcher.mjs'
import { engineOf, expectAgreement, patience, sample } from '../../../test/oracle/engine.js'
import { cronDropped, lookAround } from '../../../test/oracle/views.mjs'
import { DAY, HOUR, MINUTE } from '../../../test/oracle/wall-clock.mjs'

const anchor = Date.UTC(1970, 0, 1)

describe('cron rules, against an oracle that reads the wall clock minute by minute', () => {
  it(
    'have the same ticks around the clock changes of every zone, under every policy',
    () => {
      let ticks = 0
      const drawn = casesAround(scenes(30 * HOUR), (scene) =>
        fc.tuple(cronRules(scene.near), policies, probesOf(scene)),
      )
      fc.assert(
        fc.property(drawn, ({ scene: { zone, from, to }, cases }) => {
          for (const [rule, policy, probes] of cases) {
            ticks += expectAgreement({ schedule: rule, timezone: zone, anchor, ...policy }, from, to, probes)
          }
        }),
        sample(250),
      )
      expect(ticks).toBeGreaterThan(0)
    },
    patience,
  )

  it(
    'have the same ticks second by second where they have a seconds field',
    () => {
      const drawn = casesAround(scenes(90 * MINUTE), (scene) =>
        fc.tuple(secondRules(scene.near), policies, probesOf(scene)),
      )
      fc.assert(
        fc.property(drawn, ({ scene: { zone, from, to }, cases }) => {
          for (const [rule, policy, probes] of cases) {
            expectAgreement({ schedule: rule, timezone: zone, anchor, ...policy }, from, to, probes)
          }
        }),
        sample(30),
      )
    },
    patience,
  )

  // Long enough for every L, W and # to come up several times; one with a leap day.
  const seasons = [
    ['Europe/Madrid', Date.UTC(2028, 1, 10)],
    ['Australia/Lord_Howe', Date.UTC(2026, 8, 5)],
    ['America/Santiago', Date.UTC(2022, 7, 1)],
  ] as const

  it.each(seasons)(
    'have the same ticks over three months of %s',
    (timezone, from) => {
      const drawn = fc.tuple(cronRules(partsOf(from + 50 * DAY)), policies)
      fc.assert(
        fc.property(drawn, ([rule, policy]) => {
          // A rule of every minute says nothing more over months than over days.
          fc.pre(!/^(\*|\*\/1) /.test(rule))
          expectAgreement({ schedule: rule, timezone, anchor, ...policy }, from, from + 90 * DAY)
        }),
        sample(80),
      )
    },
    patience,
  )

  it(
    'take day_match: and as they take a plus before the weekday',
    () => {
      const from = Date.UTC(2026, 0, 1)
      for (const cron of ['0 9 13 * FRI', '0 9 1-7 * MON', '0 9 L * 1-5', '0 9 15W * 3']) {
        const source = { timezone: 'Europe/Lisbon', anchor }
        expectAgreement({ ...source, schedule: { cron, day_match: 'and' } }, from, from + 90 * DAY)
        expectAgreement({ ...source, schedule: { cron, day_match: 'or' } }, from, from + 90 * DAY)
      }
    },
    patience,
  )

  it(
    'report every wall time that dst_gap: skip drops, at the instant of the jump',
    () => {
      let dropped = 0
      const drawn = casesAround(scenes(12 * HOUR), (scene) => cronRules(scene.near))
      fc.assert(
        fc.property(drawn, ({ scene: { zone, from, to }, cases }) => {
          for (const rule of cases) {
            const schedule = engineOf({ schedule: rule, timezone: zone, anchor, dst_gap: 'skip' })
            const expected = cronDropped(lookAround(zone, from, to), cronMatcher(rule))
            const said = schedule?.dropped(from - 1, to) ?? []
            expect(said.length).toBe(Math.min(100, expected.length))
            for (const { at, wall, reason } of said) {
              expect(reason).toBe('dst_gap')
              expect(expected).toContainEqual({ at, wall })
            }
            expect(new Set(said.map(({ wall }) => wall)).size).toBe(said.length)
            dropped += said.length
          }
        }),
        sample(60),
      )
      expect(dropped).toBeGreaterThan(0)
    },
    patience,
  )

  it('drop nothing under dst_gap: run_after', () => {
    const schedule = engineOf({ schedule: '30 2 * * *', timezone: 'Europe/Madrid', anchor })
    expect(schedule?.dropped(Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1))).toEqual([])
  })
})
