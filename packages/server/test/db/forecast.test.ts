import { expect, test } from 'vitest'
import { Forecasts } from '../../src/pipeline/forecast/forecasts.js'
import { iso } from '../kit/changes.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

function forecastsOf(node: TestNode, bounds: { mostJobs?: number; sampledJobs?: number } = {}): Forecasts {
  const { clock } = house()
  return new Forecasts({ database: node.database, clock, ...bounds })
}

test('a forecast has 24 hours by the minute and 7 days by the hour, of active jobs and this tenant only', async () => {
  const node = await house().node()
  const minutely = await node.register({ name: 'minutely', schedule: '* * * * *' })
  await node.register({ schedule: '0 * * * *', target: { type: 'http', url: 'https://example.com/' } })
  const paused = await node.register({ schedule: '* * * * *' })
  await node.registry.pause(1, paused.job_id)
  const once = (await house().now()) + 2 * 86_400_000
  await node.register({ schedule: iso(once) })
  const forecasts = forecastsOf(node)
  const day = await forecasts.forecast(1, { by: 'minute' })
  expect(day).toMatchObject({ by: 'minute', jobs: 3, sampled: false })
  expect(day.buckets).toHaveLength(1_440)
  expect(Date.parse(day.to) - Date.parse(day.from)).toBe(86_400_000)
  expect(day.buckets.reduce((sum, { firings }) => sum + firings, 0)).toBe(1_440 + 24)
  expect(day.buckets.filter(({ firings }) => firings === 2)).toHaveLength(24)
  expect(day.hottest[0]).toMatchObject({ firings: 2 })
  expect(day.hottest[0]?.sample).toContainEqual({ job_id: minutely.job_id, name: 'minutely' })
  expect(new Date(day.hottest[0]?.at ?? '').getUTCMinutes()).toBe(0)
  const week = await forecasts.forecast(1, { by: 'hour' })
  expect(week.buckets).toHaveLength(168)
  expect(week.buckets.reduce((sum, { firings }) => sum + firings, 0)).toBe(7 * (1_440 + 24) + 1)
  const http = await forecasts.forecast(1, { by: 'minute', target: 'http:example.com' })
  expect(http).toMatchObject({ jobs: 1 })
  expect(http.buckets.reduce((sum, { firings }) => sum + firings, 0)).toBe(24)
  expect(await forecasts.forecast(2, { by: 'minute' })).toMatchObject({ jobs: 0, hottest: [] })
  await expect(forecasts.forecast(1, { by: 'minute', target: 'smtp' })).rejects.toMatchObject({
    code: 'validation_failed',
  })
})

test('a forecast is of the jobs that have all tags asked for', async () => {
  const node = await house().node()
  await node.register({ schedule: '0 * * * *', tags: ['nightly', 'team:a'] })
  await node.register({ schedule: '0 * * * *', tags: ['nightly'] })
  await node.register({ schedule: '0 * * * *' })
  const forecasts = forecastsOf(node)
  const firings = async (tags?: string[]) => {
    const { jobs, buckets } = await forecasts.forecast(1, { by: 'hour', tags })
    return [jobs, buckets.reduce((sum, bucket) => sum + bucket.firings, 0)]
  }
  expect(await firings()).toEqual([3, 3 * 168])
  expect(await firings(['nightly'])).toEqual([2, 2 * 168])
  expect(await firings(['nightly', 'team:a'])).toEqual([1, 168])
  expect(await firings(['absent'])).toEqual([0, 0])
})

test('a forecast is kept for a minute', async () => {
  const node = await house().node()
  await node.register({ schedule: '0 * * * *' })
  const forecasts = forecastsOf(node)
  const first = await forecasts.forecast(1, { by: 'minute' })
  await node.register({ schedule: '0 * * * *' })
  expect(await forecasts.forecast(1, { by: 'minute' })).toBe(first)
  await house().clock.advance(61_000)
  expect(await forecasts.forecast(1, { by: 'minute' })).toMatchObject({ jobs: 2 })
})

test('of more jobs than are read, a part is scaled up, and it says so', async () => {
  const node = await house().node()
  for (let at = 0; at < 12; at++) await node.register({ schedule: '0 * * * *' })
  const forecast = await forecastsOf(node, { mostJobs: 11, sampledJobs: 4 }).forecast(1, { by: 'minute' })
  expect(forecast).toMatchObject({ jobs: 12, sampled: true })
  expect(forecast.hottest[0]?.firings).toBe(12)
  const whole = await forecastsOf(node, { mostJobs: 12, sampledJobs: 4 }).forecast(1, { by: 'minute' })
  expect(whole).toMatchObject({ jobs: 12, sampled: false })
})

test('jitter is suggested to jobs that start together', async () => {
  const node = await house().node()
  for (let at = 0; at < 15; at++) await node.register({ schedule: '0 * * * *' })
  const suggestion = await forecastsOf(node).suggestion(1)
  expect(suggestion).toMatchObject({
    peak_before: 15,
    suggestions: [{ schedule: '0 * * * *', jobs: 15, before: 15 }],
  })
  expect(suggestion.peak_after).toBeLessThan(5)
})
