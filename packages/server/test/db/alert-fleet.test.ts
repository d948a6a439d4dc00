import { describe, expect, test } from 'vitest'
import { DeadMan } from '../../src/pipeline/alert/dead-man.js'
import { LetterWatch } from '../../src/pipeline/intervene/letter-watch.js'
import { Alerting } from '../kit/alerting.js'
import { die } from '../kit/letters.js'
import { silentLog } from '../kit/test-database.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** Time passes, and the schedulers that are alive say so. */
async function pass(ms: number): Promise<void> {
  await house().clock.advance(ms)
  for (const node of house().nodes) if (!node.gone) await node.beat()
}

describe('no_scheduler', () => {
  test('is raised when none has been alive for 30 s, whoever looks, and over when one is', async () => {
    const node = await house().node()
    const alerting = new Alerting(house())
    await alerting.lookAtOnce()
    await node.crash()
    await house().clock.advance(29_999)
    await alerting.lookAtOnce()
    expect(await alerting.open('no_scheduler')).toEqual([])
    await house().clock.advance(1)
    await alerting.lookAtOnce()
    expect(await alerting.open('no_scheduler')).toMatchObject([{ tenant: null, severity: 'critical' }])
    await house().node()
    await alerting.lookAtOnce()
    expect(await alerting.open('no_scheduler')).toEqual([])
  })

  test('is raised where there never was one', async () => {
    await house().query(
      `INSERT INTO carillon.incarnations (incarnation, host, pid, roles, code_version) VALUES (7, 'h', 1, '{api}', '0')`,
    )
    const alerting = new Alerting(house())
    await house().clock.advance(30_000)
    await alerting.lookAtOnce()
    expect(await alerting.open()).toMatchObject([{ kind: 'no_scheduler' }])
  })

  test('goes by the rule of the tenant default', async () => {
    const node = await house().node()
    const alerting = new Alerting(house())
    await alerting.rule('no_scheduler', { params: { seconds: 300 } })
    await node.crash()
    await house().clock.advance(299_999)
    await alerting.lookAtOnce()
    expect(await alerting.open('no_scheduler')).toEqual([])
    await house().clock.advance(1)
    await alerting.lookAtOnce()
    expect(await alerting.open('no_scheduler')).toHaveLength(1)
  })
})

describe('partition_stalled', () => {
  test('is raised when due timers wait for 30 s although there is an owner, and over when they fire', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const alerting = new Alerting(house())
    const due = (await house().now()) + 1_000
    await house().query(
      'UPDATE carillon.timers SET due = $1::bigint, start_at = $1::bigint, accounted_through = $1::bigint - 1 WHERE job = $2',
      [due, job.key],
    )
    await pass(1_000 + 29_999)
    await alerting.lookAtOnce()
    expect(await alerting.open()).toEqual([])
    await pass(1)
    await alerting.lookAtOnce()
    expect(await alerting.open()).toMatchObject([
      { kind: 'partition_stalled', severity: 'critical', detail: { stalled: 1, without_owner: 0 } },
    ])
    await house().query('UPDATE carillon.timers SET due = $1::bigint, start_at = $1::bigint', [
      due + 3_600_000,
    ])
    await alerting.lookAtOnce()
    expect(await alerting.open()).toEqual([])
  })

  test('is raised when partitions with jobs have had no owner for 30 s, remembered from process to process', async () => {
    const node = await house().node()
    await node.register({ schedule: '@every 1h' })
    await node.leave()
    await new Alerting(house()).lookAtOnce()
    await house().clock.advance(29_999)
    await new Alerting(house()).lookAtOnce()
    expect(await new Alerting(house()).open('partition_stalled')).toEqual([])
    await house().clock.advance(1)
    await new Alerting(house()).lookAtOnce()
    expect(await new Alerting(house()).open('partition_stalled')).toMatchObject([
      { detail: { stalled: 1, without_owner: 1 } },
    ])
    await house().node()
    await new Alerting(house()).lookAtOnce()
    expect(await new Alerting(house()).open('partition_stalled')).toEqual([])
  })
})

test('partitions that change hands are none that have had no owner for long', async () => {
  const node = await house().node()
  for (let n = 0; n < 6; n++) await node.register({ schedule: '@every 1h' })
  const alerting = new Alerting(house())
  const timed = await house().query<{ partition: number }>(
    'SELECT DISTINCT partition FROM carillon.timers ORDER BY partition LIMIT 2',
  )
  expect(timed).toHaveLength(2)
  for (let n = 0; n < 4; n++) {
    await pass(20_000)
    await house().query(
      'UPDATE carillon.partitions SET expires_at = carillon.now_ms() + CASE WHEN partition = $1 THEN 0 ELSE 600000 END',
      [timed[n % 2]?.partition],
    )
    await alerting.lookAtOnce()
    expect(await alerting.open('partition_stalled')).toEqual([])
  }
  await pass(30_000)
  await house().query('UPDATE carillon.partitions SET expires_at = carillon.now_ms() WHERE partition = $1', [
    timed[1]?.partition,
  ])
  await alerting.lookAtOnce()
  expect(await alerting.open('partition_stalled')).toMatchObject([{ detail: { without_owner: 1 } }])
})

describe('ownership_churn', () => {
  test('is raised when partitions change hands too often within ten minutes, and over when they rest', async () => {
    const alerting = new Alerting(house())
    const takeAll = () => house().query('UPDATE carillon.partitions SET epoch = epoch + 1')
    await alerting.lookAtOnce()
    for (let n = 0; n < 3; n++) {
      await takeAll()
      await house().clock.advance(60_000)
      await alerting.lookAtOnce()
    }
    expect(await alerting.open('ownership_churn')).toEqual([])
    await takeAll()
    await alerting.lookAtOnce()
    expect(await alerting.open('ownership_churn')).toMatchObject([{ detail: { takeovers: 1024 } }])
    await house().clock.advance(300_000)
    await alerting.lookAtOnce()
    expect(await alerting.open('ownership_churn')).toHaveLength(1)
    await house().clock.advance(400_000)
    await alerting.lookAtOnce()
    expect(await alerting.open('ownership_churn')).toEqual([])
  })
})

test('ownership_churn that was raised goes on until partitions change hands less than half as often', async () => {
  const alerting = new Alerting(house())
  const takeAll = () => house().query('UPDATE carillon.partitions SET epoch = epoch + 1')
  await alerting.lookAtOnce()
  // Four times within ten minutes, a minute apart.
  for (let n = 0; n < 4; n++) {
    await house().clock.advance(60_000)
    await takeAll()
    await alerting.lookAtOnce()
  }
  expect(await alerting.open('ownership_churn')).toMatchObject([{ count: 1 }])
  const afterFirst = 600_000 - 4 * 60_000
  // The first has left the window, then the second: three, and two. Too few to raise it, too many to be over.
  for (const ms of [afterFirst, 60_000]) {
    await house().clock.advance(ms)
    await alerting.lookAtOnce()
    expect(await alerting.open('ownership_churn')).toMatchObject([{ count: 1 }])
  }
  await house().clock.advance(60_000)
  await alerting.lookAtOnce()
  expect(await alerting.open('ownership_churn')).toEqual([])
  // Two more: three within the window. What is over is not raised by as much as kept it open.
  await takeAll()
  await takeAll()
  await alerting.lookAtOnce()
  expect(await alerting.open('ownership_churn')).toEqual([])
})

describe('the dead-man ping', () => {
  test('is sent once an interval while a scheduler is alive, by one of all processes, and stops with the last', async () => {
    const node = await house().node()
    const calls: number[] = []
    const alerting = () =>
      new Alerting(house(), {
        deadMan: new DeadMan({
          database: house().database.database,
          log: silentLog,
          everyMs: 60_000,
          call: async () => void calls.push(await house().now()),
        }),
      })
    await Promise.all([alerting().lookAtOnce(), alerting().lookAtOnce()])
    await alerting().lookAtOnce()
    expect(calls).toHaveLength(1)
    await pass(60_000)
    await alerting().lookAtOnce()
    expect(calls).toHaveLength(2)
    await node.crash()
    await house().clock.advance(60_000)
    await alerting().lookAtOnce()
    await house().clock.advance(60_000)
    await alerting().lookAtOnce()
    expect(calls).toHaveLength(2)
  })

  test('that was not taken is sent again at the next look', async () => {
    await house().node()
    let tries = 0
    const alerting = new Alerting(house(), {
      deadMan: new DeadMan({
        database: house().database.database,
        log: silentLog,
        everyMs: 60_000,
        call: () => (++tries === 1 ? Promise.reject(new Error('away')) : Promise.resolve()),
      }),
    })
    await alerting.lookAtOnce()
    await alerting.lookAtOnce()
    await alerting.lookAtOnce()
    expect(tries).toBe(2)
  })
})

describe('dead_letter', () => {
  test('that a person resolved stays so until there is a newer letter', async () => {
    const node = await house().node()
    const alerting = new Alerting(house())
    const watch = new LetterWatch({
      database: node.database,
      raise: (event) => alerting.events.raise(event),
      resolve: (fingerprint, tenant) => alerting.events.resolve(fingerprint, tenant),
    })
    const job = await node.register({ schedule: '0 0 1 1 *', max_retries: 0 })
    await die(house(), node, job)
    await watch.runOnce()
    await until('it is raised', async () => (await alerting.open('dead_letter')).length === 1)
    expect(await alerting.open('dead_letter')).toMatchObject([{ detail: { job_id: job.job_id } }])
    await house().query("UPDATE carillon.alerts SET resolved_at = carillon.now_ms(), resolved_by = 'ann'")
    await watch.runOnce()
    await alerting.events.runOnce()
    expect(await alerting.open('dead_letter')).toEqual([])
    await die(house(), node, job)
    await watch.runOnce()
    await until('it is raised again', async () => (await alerting.open('dead_letter')).length === 1)
  })
})
