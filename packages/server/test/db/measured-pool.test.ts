import { expect, test } from 'vitest'
import { Database } from '../../src/db/pool.js'
import { Metrics } from '../../src/platform/metrics.js'
import { silentLog } from '../kit/test-database.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function valueOf(metrics: Metrics, series: string): Promise<number> {
  const line = (await metrics.render()).split('\n').find((text) => text.startsWith(`${series} `))
  return line === undefined ? Number.NaN : Number(line.slice(series.length + 1))
}

test('calls that wait for a connection of an exhausted pool are seen while they wait, and timed when they have waited', async () => {
  const metrics = new Metrics()
  const database = new Database({
    ...{ url: house().database.url, poolSize: 1, statementTimeoutMs: 20_000 },
    ...{ applicationName: 'carillon api', log: silentLog, metrics },
  })
  house().onEmpty(() => database.close())
  let free: () => void = () => undefined
  const held = new Promise<void>((resolve) => (free = resolve))
  let began: () => void = () => undefined
  const begun = new Promise<void>((resolve) => (began = resolve))
  const holding = database.transaction(async () => {
    began()
    await held
  })
  await begun
  expect(await valueOf(metrics, 'carillon_pool_wait_seconds_count{pool="api"}')).toBeNaN()
  const waiting = database.transaction(() => Promise.resolve())
  await until('one waits', () => database.waiting() === 1)
  expect(await valueOf(metrics, 'carillon_pool_waiting{pool="api"}')).toBe(1)
  expect(await valueOf(metrics, 'carillon_pool_connections{pool="api",state="busy"}')).toBe(1)
  free()
  await Promise.all([holding, waiting])
  expect(await valueOf(metrics, 'carillon_pool_wait_seconds_count{pool="api"}')).toBe(1)
  expect(await valueOf(metrics, 'carillon_pool_waiting{pool="api"}')).toBe(0)
})
