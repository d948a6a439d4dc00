import type { RedriveFilter } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { lease } from '../kit/attempts.js'
import { Gate } from '../kit/gate.js'
import { die, endAll, hands, placesOf, redriving } from '../kit/letters.js'
import { queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** A job with so many dead letters. */
async function deadJob(node: TestNode, letters: number, error = 'boom') {
  const job = await node.register({ schedule: '@every 1h' })
  const ids = await die(
    house(),
    node,
    job,
    Array.from({ length: letters }, () => ({ error })),
  )
  return { ...job, ids }
}

const start = (node: TestNode, filter: RedriveFilter = {}) => hands(node).deadLetters.startRedrive(1, filter)
const show = (node: TestNode, number: number) => hands(node).deadLetters.getRedrive(1, number)

/** Lets so much time pass, and the loop look once. */
async function pass(node: TestNode, ms: number): Promise<void> {
  await house().clock.advance(ms)
  await redriving(node).runOnce()
}

describe('a re-drive of many', () => {
  test('moves as many as its pace allows, the first to die first, and ends when none is left', async () => {
    const node = await house().node()
    const job = await deadJob(node, 5)
    const { redrive, total } = await start(node, { per_second: 2 })
    expect(total).toBe(5)
    await pass(node, 0)
    expect(await placesOf(house(), job)).toMatchObject({ queued: 1, dead: 4 })
    await pass(node, 499)
    expect(await placesOf(house(), job)).toMatchObject({ queued: 1 })
    await pass(node, 1)
    expect(await placesOf(house(), job)).toMatchObject({ queued: 2 })
    await pass(node, 1_000)
    expect(await placesOf(house(), job)).toMatchObject({ queued: 4, dead: 1 })
    expect(await show(node, redrive)).toMatchObject({ state: 'running', moved: 4, total: 5, ended_at: null })
    expect((await hands(node).deadLetters.list(1, { limit: 9, cursor: null })).data).toMatchObject([
      { run_id: job.ids[4] },
    ])
    await pass(node, 500)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', moved: 5 })
    expect(await placesOf(house(), job)).toEqual({ queued: 5, dead: 0, ended: 5 })
  })

  test('does not make up for an outage with a burst', async () => {
    const node = await house().node()
    const job = await deadJob(node, 9)
    await start(node, { per_second: 2 })
    await pass(node, 0)
    await pass(node, 3_600_000)
    expect((await placesOf(house(), job))['queued']).toBeLessThanOrEqual(3)
  })

  test('goes on after the database’s clock was set back', async () => {
    const node = await house().node()
    const job = await deadJob(node, 3)
    await start(node, { per_second: 1 })
    await pass(node, 0)
    await house().clock.stepDatabase(-600_000)
    await redriving(node).runOnce()
    await pass(node, 1_000)
    expect((await placesOf(house(), job))['queued']).toBeGreaterThanOrEqual(2)
    await house().clock.stepDatabase(600_000)
  })

  test('shares one pace among schedulers, and moves no letter twice', async () => {
    const nodes = await house().fleet(3)
    const [node] = nodes as [TestNode]
    const job = await deadJob(node, 12)
    const { redrive } = await start(node, { per_second: 2 })
    for (let second = 0; second < 3; second++) {
      await house().clock.advance(second === 0 ? 0 : 1_000)
      await Promise.all(nodes.map((each) => redriving(each).runOnce()))
      expect(await placesOf(house(), job)).toMatchObject({ queued: 1 + 2 * second, dead: 11 - 2 * second })
    }
    expect(await show(node, redrive)).toMatchObject({ moved: 5 })
  })

  test('takes what the filter names and nothing else', async () => {
    const node = await house().node()
    const one = await deadJob(node, 2, 'disk full')
    const other = await deadJob(node, 1, 'no route')
    const third = await deadJob(node, 1, 'disk full')
    const { fingerprint } = await hands(node).deadLetters.get(1, one.ids[0] ?? '')
    const { redrive } = await start(node, { fingerprint, job_id: one.job_id, per_second: 1_000 })
    await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({
      state: 'done',
      total: 2,
      moved: 2,
      fingerprint,
      job_id: one.job_id,
    })
    expect(await placesOf(house(), one)).toMatchObject({ queued: 2 })
    expect(await placesOf(house(), other)).toMatchObject({ queued: 0 })
    expect(await placesOf(house(), third)).toMatchObject({ queued: 0 })
  })

  test('does not take a second time what dies again, nor what dies meanwhile', async () => {
    const node = await house().node()
    const job = await deadJob(node, 2)
    const { redrive } = await start(node, { per_second: 1 })
    await pass(node, 0)
    await house().clock.advance(10)
    await endAll(house(), node, job, { outcome: 'failed', retryable: false })
    await die(house(), node, job)
    for (let second = 0; second < 4; second++) await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', moved: 2 })
    expect(await placesOf(house(), job)).toMatchObject({ queued: 1, dead: 2 })
  })

  test('takes what was dead when it was asked for, however much its pace allows', async () => {
    const node = await house().node()
    const job = await deadJob(node, 2)
    const { redrive } = await start(node, { per_second: 1_000 })
    await die(house(), node, job)
    await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', moved: 2 })
    expect(await placesOf(house(), job)).toMatchObject({ queued: 2, dead: 1 })
  })

  test('leaves out deleted jobs and other tenants, and is not held up by them', async () => {
    const node = await house().node()
    const tenant = await Tenant.make(house())
    const foreign = await tenant.register(node)
    await die(house(), node, foreign)
    const [gone, job] = [await deadJob(node, 2), await deadJob(node, 1)]
    await node.registry.delete(1, gone.job_id)
    const { redrive, total } = await start(node, { per_second: 1_000 })
    expect(total).toBe(1)
    await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', moved: 1 })
    expect(await placesOf(house(), job)).toMatchObject({ queued: 1 })
    expect(await placesOf(house(), gone)).toMatchObject({ queued: 0, dead: 2 })
    expect(await placesOf(house(), foreign)).toMatchObject({ queued: 0, dead: 1 })
  })

  test('parks the runs of paused jobs, and goes on with the others', async () => {
    const node = await house().node()
    const [paused, job] = [await deadJob(node, 1), await deadJob(node, 1)]
    await node.registry.pause(1, paused.job_id, {})
    await start(node, { per_second: 1_000 })
    await pass(node, 1_000)
    expect((await lease(node)).map((run) => run.job)).toEqual([job.key])
    expect(await queueOf(house(), paused)).toMatchObject([{ holder: null }])
  })

  test.each([
    [6, 7],
    [null, 4],
  ])('runs jobs as they are now where that is asked for (max_retries %s)', async (retries, attempts) => {
    const node = await house().node()
    const job = await deadJob(node, 2)
    await node.registry.edit(1, job.job_id, { max_retries: retries, payload: { better: 1 } })
    const { redrive } = await start(node, { version: 'current', per_second: 1_000 })
    await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({ version: 'current', state: 'done' })
    expect(await queueOf(house(), job)).toMatchObject([
      { version: 2, max_attempts: attempts },
      { version: 2, max_attempts: attempts },
    ])
  })

  test('skips a letter that somebody has in hand, and takes it the next time', async () => {
    const node = await house().node()
    const job = await deadJob(node, 2)
    const holder = await house().session()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM carillon.dead_letters ORDER BY dead_at LIMIT 1 FOR UPDATE')
    const { redrive } = await start(node, { per_second: 1_000 })
    await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({ state: 'running', moved: 1 })
    await holder.query('ROLLBACK')
    await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', moved: 2 })
    expect(await placesOf(house(), job)).toMatchObject({ queued: 2, dead: 0 })
  })

  test('of nothing is done at once', async () => {
    const node = await house().node()
    const { redrive } = await start(node, { canary: 3 })
    await pass(node, 0)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', total: 0, moved: 0 })
  })
})

describe('a canary', () => {
  test('goes first, and the rest follows when all of it has succeeded', async () => {
    const node = await house().node()
    const job = await deadJob(node, 5)
    const { redrive } = await start(node, { canary: 2, per_second: 1_000 })
    await pass(node, 0)
    expect(await show(node, redrive)).toMatchObject({
      state: 'watching',
      moved: 2,
      canaries: expect.arrayContaining(job.ids.slice(0, 2)) as string[],
    })
    await pass(node, 5_000)
    expect(await placesOf(house(), job)).toMatchObject({ queued: 2, dead: 3 })
    await endAll(house(), node, job)
    await pass(node, 0)
    expect(await show(node, redrive)).toMatchObject({ state: 'running' })
    await pass(node, 1_000)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', moved: 5 })
  })

  test('that dies again stops the re-drive: the rest stays, and the reason says why', async () => {
    const node = await house().node()
    const job = await deadJob(node, 5)
    const { redrive } = await start(node, { canary: 2, per_second: 1_000 })
    await pass(node, 0)
    const [first] = await lease(node, 1)
    expect(first).toBeDefined()
    await house().query('UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL')
    await house().query(`UPDATE carillon.queue SET max_attempts = 1 WHERE due = $1`, [first?.due])
    await endAll(house(), node, job, { outcome: 'failed', retryAfterMs: 60_000 })
    await pass(node, 0)
    expect(await show(node, redrive)).toMatchObject({
      state: 'stopped',
      reason: 'canary_failed',
      moved: 2,
      ended_at: expect.any(String) as string,
    })
    await pass(node, 5_000)
    expect(await placesOf(house(), job)).toMatchObject({ dead: 4, queued: 1 })
  })

  test('is awaited while one of it is still at its retries', async () => {
    const node = await house().node()
    const job = await deadJob(node, 3)
    const { redrive } = await start(node, { canary: 1, per_second: 1_000 })
    await pass(node, 0)
    await endAll(house(), node, job, { outcome: 'failed', retryAfterMs: 60_000 })
    await pass(node, 30_000)
    expect(await show(node, redrive)).toMatchObject({ state: 'watching', moved: 1 })
  })

  test('that is cancelled by a person stops the re-drive as well', async () => {
    const node = await house().node()
    const job = await deadJob(node, 3)
    const { redrive } = await start(node, { canary: 1, per_second: 1_000 })
    await pass(node, 0)
    await hands(node).runs.cancel(1, job.ids[0] ?? '')
    await pass(node, 0)
    expect(await show(node, redrive)).toMatchObject({ state: 'stopped' })
  })

  test('as large as all there is ends the re-drive with its success', async () => {
    const node = await house().node()
    const job = await deadJob(node, 2)
    const { redrive } = await start(node, { canary: 10 })
    await pass(node, 0)
    await endAll(house(), node, job)
    await pass(node, 0)
    await pass(node, 0)
    expect(await show(node, redrive)).toMatchObject({ state: 'done', moved: 2 })
  })
})

describe('cancelling a re-drive', () => {
  test('leaves what is moved in the queue, and the rest dead', async () => {
    const node = await house().node()
    const job = await deadJob(node, 4)
    const { redrive } = await start(node, { per_second: 1 })
    await pass(node, 0)
    expect(await hands(node).deadLetters.cancelRedrive(1, redrive)).toMatchObject({
      state: 'cancelled',
      moved: 1,
    })
    await pass(node, 10_000)
    expect(await placesOf(house(), job)).toMatchObject({ queued: 1, dead: 3 })
    await expect(hands(node).deadLetters.cancelRedrive(1, redrive)).rejects.toMatchObject({
      code: 'redrive_ended',
    })
  })

  test('waits for the batch under way, which then counts', async () => {
    const node = await house().node()
    const job = await deadJob(node, 2)
    const { redrive } = await start(node, { per_second: 1 })
    const gate = await Gate.closeBefore(house(), 'DELETE', 'dead_letters')
    const batch = redriving(node).runOnce()
    await house().lockWaits(1)
    const cancelled = hands(node).deadLetters.cancelRedrive(1, redrive)
    await house().lockWaits(2)
    await gate.open()
    await batch
    expect(await cancelled).toMatchObject({ state: 'cancelled', moved: 1 })
    expect(await placesOf(house(), job)).toMatchObject({ queued: 1, dead: 1 })
  })

  test('is for those of the own tenant only', async () => {
    const node = await house().node()
    const tenant = await Tenant.make(house())
    const { redrive } = await hands(node).deadLetters.startRedrive(tenant.key, {})
    const missing = { code: 'redrive_not_found' }
    await expect(show(node, redrive)).rejects.toMatchObject(missing)
    await expect(hands(node).deadLetters.cancelRedrive(1, redrive)).rejects.toMatchObject(missing)
    expect((await hands(node).deadLetters.listRedrives(1)).data).toEqual([])
    expect((await hands(node).deadLetters.listRedrives(tenant.key)).data).toHaveLength(1)
  })
})
