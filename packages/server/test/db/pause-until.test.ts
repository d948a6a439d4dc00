import { describe, expect, test } from 'vitest'
import { ResumeDue } from '../../src/pipeline/register/resume-due.js'
import { expectAccounted, iso, jobRow } from '../kit/changes.js'
import { silentLog } from '../kit/test-database.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

describe('a pause with an end', () => {
  const loop = (node: TestNode, page?: number) =>
    new ResumeDue({
      database: node.database,
      log: silentLog,
      onChanged: () => undefined,
      ...(page !== undefined && { page }),
    })

  test('ends by itself when it has come, and not before', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    const until = iso((await house().now()) + 25_000)
    await node.registry.pause(1, job.job_id, { until })
    await house().clock.advance(24_999)
    await loop(node).runOnce()
    expect(await jobRow(house(), job)).toMatchObject({ state: 'paused' })
    await house().clock.advance(1)
    await loop(node).runOnce()
    expect(await jobRow(house(), job)).toMatchObject({ state: 'active', paused_until: null })
    await expectAccounted(house(), job)
  })

  test('does not end where it was made longer meanwhile', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await node.registry.pause(1, job.job_id, { until: iso((await house().now()) + 1_000) })
    await house().clock.advance(1_000)
    const keeper = await house().session()
    await keeper.query('BEGIN')
    await keeper.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [job.key])
    const resuming = loop(node).runOnce()
    await house().lockWaits(1)
    await keeper.query('UPDATE carillon.jobs SET paused_until = paused_until + 60000 WHERE job = $1', [
      job.key,
    ])
    await keeper.query('COMMIT')
    await resuming
    expect(await jobRow(house(), job)).toMatchObject({ state: 'paused' })
  })

  test.each(['{"schedule": "?"}', '{"timezone": 7}'])(
    'of many jobs ends for all, though one has %s',
    async (damage) => {
      const node = await house().node()
      const until = iso((await house().now()) + 1_000)
      const jobs = []
      for (let at = 0; at < 5; at++) jobs.push(await node.register({ schedule: '@every 10s' }))
      for (const { job_id } of jobs) await node.registry.pause(1, job_id, { until })
      await house().query('UPDATE carillon.jobs SET definition = definition || $2::jsonb WHERE job = $1', [
        jobs[1]?.key,
        damage,
      ])
      await house().clock.advance(1_000)
      await loop(node, 2).runOnce()
      const states = []
      for (const job of jobs) states.push((await jobRow(house(), job)).state)
      expect(states).toEqual(['active', 'paused', 'active', 'active', 'active'])
    },
  )
})
