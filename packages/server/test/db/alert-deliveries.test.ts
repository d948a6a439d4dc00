import { describe, expect, test } from 'vitest'
import { Alerting } from '../kit/alerting.js'
import { Tenant } from '../kit/tenants.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const day = 86_400_000

/** A job that failed three times, which nobody was told of yet. */
async function failing() {
  const node = await house().node()
  const alerting = new Alerting(house())
  // The node of the test says nothing while time passes.
  await alerting.rule('no_scheduler', { enabled: false })
  await alerting.rule('partition_stalled', { enabled: false })
  const job = await node.register({ schedule: '0 0 1 1 *', tags: ['billing'] })
  for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
  await alerting.look()
  return { node, alerting, job }
}

async function recover(alerting: Alerting, job: { key: number }): Promise<void> {
  await alerting.ended(job)
  await alerting.look()
}

async function silence(
  fields: { kind?: string; job?: number; tag?: string; ms?: number } = {},
): Promise<void> {
  const { kind = null, job = null, tag = null, ms = 3_600_000 } = fields
  await house().query(
    `INSERT INTO carillon.alert_silences (silence, tenant, kind, job, tag, until, reason, created_by)
     VALUES (gen_random_uuid(), 1, $1, $2, $3, carillon.now_ms() + $4::bigint, 'r', 'ann')`,
    [kind, job, tag, ms],
  )
}

describe('a channel', () => {
  test('is told once that an alert fires and, half a minute after its end, that it is over', async () => {
    const { alerting, job } = await failing()
    await alerting.channel()
    expect(await alerting.tell()).toMatchObject([
      { event: 'firing', kind: 'failed_in_row', jobId: job.job_id, jobName: job.name, tenant: 'default' },
    ])
    await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    expect(await alerting.tell()).toEqual([])
    await recover(alerting, job)
    await house().clock.advance(29_000)
    expect(await alerting.tell()).toEqual([])
    await house().clock.advance(1_000)
    expect(await alerting.tell()).toMatchObject([{ event: 'resolved', count: 2 }])
    expect(await alerting.tell()).toEqual([])
  })

  test('hears nothing of what comes back before its end was told, and hears again of what comes later', async () => {
    const { alerting, job } = await failing()
    await alerting.channel()
    await alerting.tell()
    await recover(alerting, job)
    for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    await house().clock.advance(60_000)
    expect(await alerting.tell()).toEqual([])
    await recover(alerting, job)
    await house().clock.advance(60_000)
    expect(await alerting.tell()).toMatchObject([{ event: 'resolved' }])
    for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    const [again] = await alerting.tell()
    expect(again).toMatchObject({ event: 'firing' })
    expect(new Set(alerting.sent.map(({ id }) => id)).size).toBe(3)
  })

  test('is not told of what came and went before anybody was to be told', async () => {
    const { alerting, job } = await failing()
    await recover(alerting, job)
    await alerting.channel()
    await house().clock.advance(60_000)
    expect(await alerting.tell()).toEqual([])
  })

  test('is told only of what matters enough to it, of its own tenant, and of what rules name it for', async () => {
    const { alerting } = await failing()
    const other = await Tenant.make(house())
    await house().query(
      `INSERT INTO carillon.alert_channels (channel, tenant, name, type, settings, min_severity)
       VALUES (gen_random_uuid(), $1, 'theirs', 'webhook', '{}', 'info'), (gen_random_uuid(), 1, 'pager', 'webhook', '{}', 'critical')`,
      [other.key],
    )
    const quiet = await alerting.channel('webhook', 'quiet')
    const chosen = await alerting.channel('webhook', 'chosen')
    await alerting.rule('failed_in_row')
    await house().query('UPDATE carillon.alert_rules SET channels = ARRAY[$1::uuid]', [chosen])
    await alerting.tell()
    const rows = await house().query<{ channel: string }>('SELECT channel FROM carillon.alert_notifications')
    expect(rows).toEqual([{ channel: chosen }])
    expect(quiet).not.toBe(chosen)
  })

  test('of type alertmanager is told again for as long as the alert goes on, and then that it is over', async () => {
    const { alerting, job } = await failing()
    await alerting.channel('alertmanager')
    expect(await alerting.tell()).toHaveLength(1)
    await house().clock.advance(59_000)
    expect(await alerting.tell()).toEqual([])
    await house().clock.advance(1_000)
    expect(await alerting.tell()).toMatchObject([{ event: 'firing' }])
    await recover(alerting, job)
    await house().clock.advance(30_000)
    expect(await alerting.tell()).toMatchObject([{ event: 'resolved' }])
    await house().clock.advance(300_000)
    expect(await alerting.tell()).toEqual([])
  })
})

describe('an Alertmanager', () => {
  test('that missed one telling after hours of others is told again soon, and never given up for its age', async () => {
    const { alerting } = await failing()
    await alerting.channel('alertmanager')
    await alerting.tell()
    for (let n = 0; n < 12; n++) {
      await house().clock.advance(60_000)
      await alerting.tell()
    }
    expect(alerting.sent).toHaveLength(13)
    await house().clock.advance(day)
    await alerting.tell()
    alerting.take = () => Promise.reject(new Error('away'))
    await house().clock.advance(60_000)
    await alerting.tell()
    alerting.take = () => Promise.resolve()
    await house().clock.advance(5_000)
    expect(await alerting.tell()).toMatchObject([{ event: 'firing' }])
    expect(await house().query('SELECT given_up_at FROM carillon.alert_notifications')).toEqual([
      { given_up_at: null },
    ])
  })

  test('that is away is tried as often as it would be told again, or more often', async () => {
    const { alerting } = await failing()
    await alerting.channel('alertmanager')
    let tries = 0
    alerting.take = () => Promise.reject(new Error(`away ${++tries}`))
    for (let n = 0; n < 8; n++) {
      await alerting.tell()
      await house().clock.advance(60_000)
    }
    expect(tries).toBe(8)
  })
})

describe('a channel that does not answer', () => {
  test('holds up nothing of the others, and has a few on their way at most', async () => {
    const { node, alerting } = await failing()
    for (let n = 0; n < 9; n++) {
      const job = await node.register({ schedule: '0 0 1 1 *' })
      for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
    }
    await alerting.look()
    await alerting.channel('webhook', 'hole', { url: 'http://127.0.0.1:9/hole' })
    await alerting.channel('webhook', 'good', { url: 'http://127.0.0.1:9/good' })
    let held = 0
    let release = () => undefined as void
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    alerting.take = ({ settings }) => {
      if (settings.url?.endsWith('good') === true) return Promise.resolve()
      held += 1
      return released
    }
    expect(await alerting.tell()).toHaveLength(10)
    expect(held).toBe(4)
    release()
    await until('all have it', async () => {
      await alerting.tell()
      return alerting.sent.length === 20
    })
  })
})

test('that an alert is over is not said after it was told anew that it goes on', async () => {
  const { alerting, job } = await failing()
  await alerting.channel()
  await alerting.tell()
  await recover(alerting, job)
  await house().clock.advance(30_000)
  alerting.take = () => Promise.reject(new Error('away'))
  await alerting.tell()
  for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
  await alerting.look()
  alerting.take = () => Promise.resolve()
  await house().clock.advance(day)
  await alerting.tell()
  await house().clock.advance(day)
  await alerting.tell()
  expect(alerting.sent.map(({ event }) => event)).toEqual(['firing', 'firing'])
  await recover(alerting, job)
  await house().clock.advance(30_000)
  expect(await alerting.tell()).toMatchObject([{ event: 'resolved' }])
})

test('an alert that a process of the release before raised and closed is told, and its end as well', async () => {
  const { alerting } = await failing()
  await house().query('DELETE FROM carillon.alerts')
  await alerting.channel()
  await house().query(
    "INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail) VALUES (1, 'breaker_open', 'b', 's', '{}')",
  )
  expect(await alerting.tell()).toMatchObject([{ event: 'firing', kind: 'breaker_open' }])
  await house().query('UPDATE carillon.alerts SET resolved_at = carillon.now_ms()')
  expect(await alerting.tell()).toMatchObject([{ event: 'resolved' }])
  expect(await alerting.tell()).toEqual([])
})

describe('a notification', () => {
  test('whose sender died between sending and saying so is sent again by another, under the same id', async () => {
    const { alerting } = await failing()
    await alerting.channel()
    // It is sent, and then the process is gone: nothing is ever marked.
    const first = new Alerting(house())
    const taken: string[] = []
    let release = () => undefined as void
    first.take = (_channel, { id }) => {
      taken.push(id)
      return new Promise((resolve) => {
        release = resolve
      })
    }
    void first.tell()
    await until('it was sent', () => Promise.resolve(taken.length === 1))
    expect(await alerting.tell()).toEqual([])
    await house().clock.advance(20_000)
    expect((await alerting.tell()).map(({ id }) => id)).toEqual(taken)
    // What the first says in the end, if it lives after all, changes nothing.
    release()
    await house().clock.advance(60_000)
    expect(await alerting.tell()).toEqual([])
  })

  test('that is not taken is tried again, ever less often; people hear of the channel elsewhere', async () => {
    const { alerting } = await failing()
    await alerting.channel('webhook', 'broken')
    await alerting.channel('webhook', 'good')
    let broken = true
    const tried: string[] = []
    alerting.take = ({ settings }, { kind }) => {
      const name = (settings as { name?: string }).name ?? 'good'
      tried.push(`${name} ${kind}`)
      return broken && name === 'broken' ? Promise.reject(new Error('answered 500')) : Promise.resolve()
    }
    await house().query(
      `UPDATE carillon.alert_channels SET settings = '{"name":"broken"}' WHERE name = 'broken'`,
    )
    await alerting.tell()
    await alerting.tell()
    expect(tried.sort()).toEqual(['broken failed_in_row', 'good failed_in_row'])
    for (const wait of [5_000, 10_000]) {
      await house().clock.advance(wait)
      await alerting.tell()
    }
    await until('it is raised', async () => (await alerting.open('channel_failing')).length === 1)
    await alerting.tell()
    expect(tried.filter((what) => what.endsWith('channel_failing'))).toEqual(['good channel_failing'])
    broken = false
    await house().clock.advance(20_000)
    await alerting.tell()
    await until('it is over', async () => (await alerting.open('channel_failing')).length === 0)
  })

  test('is given up after a day, and that can be seen', async () => {
    const { alerting } = await failing()
    await alerting.channel()
    let tries = 0
    alerting.take = () => {
      tries += 1
      return Promise.reject(new Error('answered 500'))
    }
    await alerting.tell()
    await house().clock.advance(day - 1)
    await alerting.tell()
    expect(tries).toBe(2)
    await house().clock.advance(600_001)
    await alerting.tell()
    expect(tries).toBe(3)
    const rows = await house().query('SELECT next_at, given_up_at, error FROM carillon.alert_notifications')
    expect(rows).toMatchObject([{ next_at: null, given_up_at: await house().now(), error: 'answered 500' }])
    await house().clock.advance(day)
    await alerting.tell()
    expect(tries).toBe(3)
  })

  test('of an end never goes before that of its beginning', async () => {
    const { alerting, job } = await failing()
    await alerting.channel()
    let away = true
    alerting.take = () => (away ? Promise.reject(new Error('away')) : Promise.resolve())
    await alerting.tell()
    await recover(alerting, job)
    await house().clock.advance(31_000)
    away = false
    // Both are waiting by now.
    await house().query(
      "UPDATE carillon.alert_notifications SET next_at = carillon.now_ms() + 600000 WHERE event = 'firing'",
    )
    expect(await alerting.tell()).toEqual([])
    await house().clock.advance(600_000)
    await alerting.tell()
    await alerting.tell()
    expect(alerting.sent.map(({ event }) => event)).toEqual(['firing', 'resolved'])
  })
})

describe('a silence', () => {
  test.each([
    ['of everything', () => ({})],
    ['of its kind', () => ({ kind: 'failed_in_row' })],
    ['of its job', (job: { key: number }) => ({ job: job.key })],
    ['of a tag of its job', () => ({ tag: 'billing' })],
  ])('%s keeps an alert from being told until it ends', async (_, matcher) => {
    const { alerting, job } = await failing()
    await alerting.channel()
    await silence(matcher(job))
    expect(await alerting.tell()).toEqual([])
    expect(await alerting.open()).toMatchObject([{ silenced_by: expect.any(String) as string }])
    await house().clock.advance(3_599_999)
    expect(await alerting.tell()).toEqual([])
    await house().clock.advance(1)
    expect(await alerting.tell()).toMatchObject([{ event: 'firing' }])
    expect(await alerting.open()).toMatchObject([{ silenced_by: null }])
  })

  test.each([
    ['another kind', () => ({ kind: 'slow_run' })],
    ['another job', () => ({ job: 4_711 })],
    ['another tag', () => ({ tag: 'other' })],
  ])('of %s keeps nothing', async (_, matcher) => {
    const { alerting } = await failing()
    await alerting.channel()
    await silence(matcher())
    expect(await alerting.tell()).toHaveLength(1)
  })

  test('stops what an Alertmanager is told again and again', async () => {
    const { alerting } = await failing()
    await alerting.channel('alertmanager')
    await alerting.tell()
    await silence({})
    await house().query('UPDATE carillon.alerts SET route_at = carillon.now_ms()')
    await alerting.route()
    await house().clock.advance(120_000)
    expect(await alerting.tell()).toEqual([])
  })

  test('of what is over meanwhile is told by nobody', async () => {
    const { alerting, job } = await failing()
    await alerting.channel()
    await silence({})
    await alerting.tell()
    await recover(alerting, job)
    await house().clock.advance(2 * 3_600_000)
    expect(await alerting.tell()).toEqual([])
  })
})

test('an alert whose rule is switched off is none: who was told of it hears that it is over', async () => {
  const { alerting } = await failing()
  await alerting.channel()
  await alerting.tell()
  await alerting.rule('failed_in_row', { enabled: false })
  await house().query('UPDATE carillon.alerts SET route_at = carillon.now_ms()')
  expect(await alerting.tell()).toMatchObject([{ event: 'resolved' }])
  expect(await alerting.open()).toMatchObject([{ muted: true }])
})

test('what a run said when it failed is told without the secrets in it', async () => {
  const { alerting, job } = await failing()
  await alerting.channel()
  await house().query('UPDATE carillon.alerts SET resolved_at = carillon.now_ms() - 3600000')
  const key = `car_${'k'.repeat(43)}`
  const error = `no answer of "postgres://app:hunter2@db/x" with Authorization: Bearer hunter2, \\ https://h/?token=hunter2 ${key}`
  for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead', error })
  await alerting.look()
  const [told] = await alerting.tell()
  const text = JSON.stringify(told)
  expect(text).toContain('no answer of')
  expect(text).not.toContain('hunter2')
  expect(text).not.toContain(key)
  expect(JSON.stringify(await alerting.open())).not.toContain('hunter2')
})
