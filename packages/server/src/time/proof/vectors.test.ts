import { CarillonError } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { cronMatcher } from '../../../test/oracle/cron-matcher.mjs'
import { engineOf } from '../../../test/oracle/engine.js'
import { cronTicks, lookAround } from '../../../test/oracle/views.mjs'
import { published, readings, type Vector } from '../../../test/oracle/vectors.js'
import { DAY } from '../../../test/oracle/wall-clock.mjs'

const utc = (texts: string[]) => texts.map((text) => new Date(text).toISOString())

function engineTicks({ rule, zone = 'UTC', after }: Vector, howMany: number): string[] {
  const schedule = engineOf({ schedule: rule, timezone: zone, anchor: 0 })
  const ticks: string[] = []
  let tick = schedule?.next(Date.parse(after)) ?? null
  while (tick !== null && ticks.length < howMany) {
    ticks.push(new Date(tick).toISOString())
    tick = schedule?.next(tick) ?? null
  }
  return ticks
}

const name = ({ rule, zone, after }: Vector) => `${rule} ${zone ?? ''} after ${after}`

describe.each(Object.entries(published))('what %s publishes', (_source, vectors) => {
  const agreed = vectors.filter((vector) => !vector.ours).map((vector) => [name(vector), vector] as const)
  it.each(agreed)('holds: %s', (_name, vector) => {
    expect(engineTicks(vector, vector.theirs.length)).toEqual(utc(vector.theirs))
  })

  const different = vectors.filter((vector) => vector.ours).map((vector) => [name(vector), vector] as const)
  it.runIf(different.length > 0).each(different)('is answered otherwise, on purpose: %s', (_name, vector) => {
    const ours = vector.ours ?? []
    expect(engineTicks(vector, ours.length)).toEqual(utc(ours))
    expect(utc(vector.theirs)).not.toEqual(utc(ours).slice(0, vector.theirs.length))
    expect(vector.why).toBeTruthy()
  })

  // The far ones (a leap day years ahead) are more minutes than a test should read.
  const near = vectors
    .map((vector) => [name(vector), vector, utc(vector.ours ?? vector.theirs)] as const)
    .filter(([, { after }, ticks]) => Date.parse(ticks.at(-1) ?? '') - Date.parse(after) < 40 * DAY)
  it.each(near)('is what the oracle finds: %s', (_name, { rule, zone = 'UTC', after }, ticks) => {
    const matcher = cronMatcher(rule)
    const bySeconds = matcher.hasSeconds && !rule.startsWith('0 ')
    const [from, to] = [Date.parse(after) + 1, Date.parse(ticks.at(-1) ?? '')]
    const found = cronTicks(lookAround(zone, from, to, bySeconds), matcher, {})
    expect(found.map((tick) => new Date(tick).toISOString())).toEqual(ticks)
  })
})

describe('expressions that others take or refuse', () => {
  it.each(readings)('%s: others %s, Carillon %s', (rule, theirs, ours, why) => {
    const read = () => engineOf({ schedule: rule, timezone: 'UTC', anchor: 0 })
    const refused = () => {
      try {
        return read() === null
      } catch (error) {
        expect(error).toBeInstanceOf(CarillonError)
        return true
      }
    }
    expect(refused() ? 'refuses' : 'takes').toBe(ours)
    expect(Boolean(why)).toBe(theirs !== ours)
  })
})
