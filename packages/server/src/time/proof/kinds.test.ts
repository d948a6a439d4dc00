import fc from 'fast-check'
import { describe, it } from 'vitest'
import {
  casesAround,
  cronRules,
  policies,
  probesOf,
  type Scene,
  scenes,
} from '../../../test/oracle/arbitraries.js'
import { cronMatcher } from '../../../test/oracle/cron-matcher.mjs'
import { expectAgreement, patience, sample } from '../../../test/oracle/engine.js'
import type { OracleRule, OracleSource } from '../../../test/oracle/oracle.mjs'
import { recurrences } from '../../../test/oracle/recurrences.js'
import { DAY, HOUR, MINUTE, readWall, SECOND } from '../../../test/oracle/wall-clock.mjs'

// Some rules begin months before their window, and nothing begins before 1970.
const around = scenes(30 * HOUR).filter(({ at }) => at > Date.UTC(1970, 6, 1))
const local = (wall: number) => new Date(wall).toISOString().slice(0, 19)
const date = (wall: number) => new Date(wall).toISOString().slice(0, 10)

/** An interval whose anchor may lie before, inside or after the window. */
const intervals = ({ at }: Scene): fc.Arbitrary<{ every: string | number; anchor: string }> =>
  fc
    .tuple(
      fc.oneof(
        fc.integer({ min: 60, max: 20_000 }),
        fc.integer({ min: 1, max: 900 }).map((minutes) => `${minutes}m`),
        fc
          .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 59 }))
          .map(([h, m]) => `${h}h${m}m`),
      ),
      fc.integer({ min: -3 * DAY, max: DAY }),
    )
    .map(([every, by]) => ({
      every,
      anchor: new Date(Math.max(0, Math.floor((at + by) / SECOND) * SECOND)).toISOString(),
    }))

/** A local time close to the jump: shown once, twice, or never. */
const instants = ({ zone, at }: Scene): fc.Arbitrary<{ at: string }> =>
  fc
    .integer({ min: -180, max: 180 })
    .map((minutes) => ({ at: local(readWall(zone, at) + minutes * MINUTE).slice(0, 16) + ':00' }))

const anyRule = (scene: Scene): fc.Arbitrary<string | OracleRule> =>
  fc.oneof(cronRules(scene.near), intervals(scene), instants(scene))

/** Such a rule follows the wall: it has no time of day to keep. */
const everyHour = (rule: string) => cronMatcher(rule).everyHour

/** Draws what a schedule and its settings are, and compares every question about it. */
function holds(
  settingsOf: (scene: Scene) => fc.Arbitrary<Omit<OracleSource, 'timezone' | 'anchor'>>,
  windows: number,
): void {
  const drawn = casesAround(around, (scene) => fc.tuple(settingsOf(scene), policies, probesOf(scene)))
  fc.assert(
    fc.property(drawn, ({ scene: { zone, from, to }, cases }) => {
      for (const [settings, policy, probes] of cases) {
        expectAgreement({ timezone: zone, anchor: 0, ...policy, ...settings }, from, to, probes)
      }
    }),
    sample(windows),
  )
}

describe('the other kinds, against the oracle', () => {
  it(
    'intervals count elapsed time, whatever the clocks do',
    () => {
      holds((scene) => intervals(scene).map((schedule) => ({ schedule })), 50)
    },
    patience,
  )

  it(
    'a local time without an offset follows the policies as a fixed time does',
    () => {
      holds((scene) => instants(scene).map((schedule) => ({ schedule })), 50)
    },
    patience,
  )

  it(
    'recurrence rules follow the wall and the policies',
    () => {
      holds((scene) => recurrences(scene).map((schedule) => ({ schedule })), 50)
    },
    patience,
  )

  it(
    'a union has the ticks of its rules, coinciding ones once',
    () => {
      holds(
        (scene) =>
          fc.array(anyRule(scene), { minLength: 1, maxLength: 4 }).map((rules) => {
            // The same rule twice is the plainest way for ticks to coincide.
            return { schedule: rules.length > 2 ? [...rules, ...rules.slice(0, 1)] : rules }
          }),
        60,
      )
    },
    patience,
  )

  it(
    'excluded dates take away exactly the ticks on those dates of the zone',
    () => {
      holds((scene) => {
        const day = fc.integer({ min: -3, max: 3 }).map((by) => readWall(scene.zone, scene.at) + by * DAY)
        const entry = fc.oneof(
          day.map(date),
          fc
            .tuple(day, fc.nat({ max: 2 }))
            .map(([first, days]) => `${date(first)}/${date(first + days * DAY)}`),
        )
        const exclude = fc.array(entry, { minLength: 1, maxLength: 3 })
        return fc.record({ schedule: anyRule(scene), exclude })
      }, 60)
    },
    patience,
  )

  it(
    'excluded ticks move to the business day before or after, at the time the rule names',
    () => {
      holds((scene) => {
        const day = fc.integer({ min: -3, max: 3 }).map((by) => readWall(scene.zone, scene.at) + by * DAY)
        const entry = fc
          .tuple(day, fc.nat({ max: 2 }))
          .map(([first, days]) => `${date(first)}/${date(first + days * DAY)}`)
        return fc.record({
          schedule: cronRules(scene.near).filter((rule) => !everyHour(rule)),
          exclude: fc.array(entry, { minLength: 1, maxLength: 2 }),
          on_excluded: fc.constantFrom('next_business_day' as const, 'previous_business_day' as const),
        })
      }, 12)
    },
    patience,
  )

  it(
    'bounds let through what is at or after starts_at and before ends_at',
    () => {
      holds((scene) => {
        const bounds = fc
          .uniqueArray(fc.integer({ min: -600, max: 600 }), { minLength: 2, maxLength: 2 })
          .map(([one = 0, other = 0]) =>
            [Math.min(one, other), Math.max(one, other)].map((minutes) =>
              new Date(Math.floor(scene.at / MINUTE + minutes) * MINUTE).toISOString(),
            ),
          )
        return fc
          .tuple(anyRule(scene), bounds, fc.constantFrom('starts', 'ends', 'both'))
          .map(([schedule, [starts_at = '', ends_at = ''], which]) => ({
            schedule,
            ...(which === 'ends' ? {} : { starts_at }),
            ...(which === 'starts' ? {} : { ends_at }),
          }))
      }, 60)
    },
    patience,
  )
})
