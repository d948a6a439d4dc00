import { expect, test } from 'vitest'
import { crowd } from '../kit/crowd.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const perPass = 5_000

test('in a crowd the statements of one pass go on beside the next, and every tick is fired once', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const count = 2 * perPass + 700
  const startAt = (await house().now()) + 500
  const jobs = await crowd(house(), job, { count, startAt })
  const { horizon } = node.tier
  while (await horizon.refresh());
  const partitions = await house().query<{ job: number; partition: number }>(
    'SELECT job, partition FROM carillon.timers WHERE job = ANY ($1)',
    [jobs],
  )
  await node.firing.runOnce()
  // Whatever the wheel hears of those that are under way, and scans find of them: none is proposed again.
  for (const { job: key, partition } of partitions) horizon.startsAt(key, partition, startAt)
  for (let pass = 1; (await node.firing.runOnce()) || pass < 3; pass++) expect(pass).toBeLessThan(20)
  const [fired] = await house().query<{ runs: number; jobs: number; moved: number }>(
    `SELECT (SELECT count(*)::int FROM carillon.queue) AS runs, (SELECT count(DISTINCT job)::int FROM carillon.queue) AS jobs,
            (SELECT count(*)::int FROM carillon.timers WHERE accounted_through = $1::bigint) AS moved`,
    [startAt],
  )
  expect(fired).toEqual({ runs: count, jobs: count, moved: count })
  const { values } = await node.metrics.ticks.get()
  const seen = values.filter(({ value }) => value > 0)
  expect(seen.map(({ labels, value }) => [labels.decision, value])).toEqual([['fired', count]])
})

test('a crowd that is behind does not keep out those that come up for the first time', async () => {
  const node = await house().node()
  const { horizon } = node.tier
  const now = await house().now()
  await horizon.refresh()
  for (let key = 1; key <= 100; key++) horizon.lookAgainAt(key, { partition: 1, startAt: now - 1_000 }, now)
  for (let key = 201; key <= 300; key++) horizon.startsAt(key, 1, now + 1)
  const taken = [...horizon.take(now, 2_000, 40).keys()]
  expect(taken.filter((key) => key <= 100)).toHaveLength(20)
  expect(taken.filter((key) => key > 200)).toHaveLength(20)
  // Where there are fewer of one kind, the others have their places.
  expect(horizon.take(now, 2_000, 170).size).toBe(160)
})
