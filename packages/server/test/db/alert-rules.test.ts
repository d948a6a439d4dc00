import type { JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { LongRuns } from '../../src/pipeline/alert/long-runs.js'
import { Alerting, settledMs } from '../kit/alerting.js'
import { putRuns } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

async function setUp(job: Partial<JobInput> = {}) {
  const node = await house().node()
  const alerting = new Alerting(house())
  return { node, alerting, job: await node.register({ schedule: '0 0 1 1 *', ...job }) }
}

describe('failed_in_row', () => {
  test('is raised by the third failure in a row, counted once, and over with a success', async () => {
    const { alerting, job } = await setUp()
    await alerting.ended(job, { outcome: 'dead' })
    await alerting.ended(job, { outcome: 'failed' })
    await alerting.look()
    expect(await alerting.alerts()).toEqual([])
    await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    await alerting.look()
    expect(await alerting.open()).toMatchObject([
      {
        kind: 'failed_in_row',
        severity: 'warning',
        tenant: 1,
        count: 1,
        subject: `${job.name} failed 3 times in a row`,
        detail: { job_id: job.job_id, failures: 3, error: 'boom' },
      },
    ])
    await alerting.ended(job)
    await alerting.look()
    expect(await alerting.open()).toEqual([])
    await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    expect(await alerting.open()).toEqual([])
  })

  test('counts failures since the last success only, also within one look', async () => {
    const { alerting, job } = await setUp()
    for (const outcome of ['dead', 'dead', 'success', 'dead', 'dead'] as const)
      await alerting.ended(job, { outcome })
    await alerting.look()
    expect(await alerting.alerts()).toEqual([])
    await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    expect(await alerting.open()).toMatchObject([{ detail: { failures: 3 } }])
  })

  test('forgets failures with a success that nothing else is to be said of', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '0 0 1 1 *' })
    const alerting = new Alerting(house())
    for (const outcome of ['dead', 'dead', 'success', 'dead'] as const) {
      await alerting.ended(job, { outcome })
      await alerting.look()
      expect(await alerting.open('failed_in_row')).toEqual([])
    }
    for (const open of [0, 1]) {
      await alerting.ended(job, { outcome: 'dead' })
      await alerting.look()
      expect(await alerting.open('failed_in_row')).toHaveLength(open)
    }
  })

  test('goes by the narrowest rule: of the job, of a tag, of the tenant', async () => {
    const { node, alerting, job } = await setUp({ tags: ['billing'] })
    const other = await node.register({ schedule: '0 0 1 1 *', tags: ['billing'] })
    const third = await node.register({ schedule: '0 0 1 1 *' })
    await alerting.rule('failed_in_row', { params: { times: 5 } })
    await alerting.rule('failed_in_row', { params: { times: 2 }, tag: 'billing' })
    await alerting.rule('failed_in_row', { enabled: false, job: other.key })
    for (const one of [job, other, third])
      for (let n = 0; n < 4; n++) await alerting.ended(one, { outcome: 'dead' })
    await alerting.look()
    expect((await alerting.open()).map(({ detail }) => detail['job_id'])).toEqual([job.job_id])
  })
})

describe('missed_tick', () => {
  test.each([
    ['passed over', { outcome: 'skipped', reason: 'missed', ticks: 4 } as const],
    ['caught up later', { outcome: 'success', catchUp: true } as const],
  ])('is raised for ticks that were %s, and over when a later one runs at its time', async (_, how) => {
    const { alerting, job } = await setUp()
    const due = await alerting.ended(job, how)
    await alerting.look()
    expect(await alerting.open()).toMatchObject([{ kind: 'missed_tick', count: 'ticks' in how ? 4 : 1 }])
    await alerting.ended(job, { due: due - 1 })
    await alerting.look()
    expect(await alerting.open()).toHaveLength(1)
    await alerting.ended(job)
    await alerting.look()
    expect(await alerting.open()).toEqual([])
  })
})

describe('late_start', () => {
  const expect5 = { expect: { start_within_seconds: 5 } }

  test('is raised for a run that started too late, and over when a later one starts in time', async () => {
    const { alerting, job } = await setUp(expect5)
    await alerting.ended(job, { lag: 5_000 })
    await alerting.look()
    expect(await alerting.alerts()).toEqual([])
    await alerting.ended(job, { lag: 5_001 })
    await alerting.look()
    expect(await alerting.open()).toMatchObject([
      { kind: 'late_start', detail: { expected_ms: 5_000, waited_ms: 5_001 } },
    ])
    await alerting.ended(job, { lag: 1_200 })
    await alerting.look()
    expect(await alerting.open()).toEqual([])
  })

  test('is raised while a run waits in the queue, and while nobody fires its tick', async () => {
    const { node, alerting, job } = await setUp(expect5)
    const unfired = await node.register({ schedule: '* * * * *', ...expect5 })
    const content = await node.register({ schedule: '* * * * *' })
    await putRuns(house(), job)
    await putRuns(house(), content)
    await house().clock.advance(4_000)
    await alerting.lookAtOnce()
    expect(await alerting.open('late_start')).toEqual([])
    await house().clock.advance(2 * minute)
    await alerting.lookAtOnce()
    const found = (await alerting.open('late_start')).map(({ detail }) => detail['job_id'])
    expect(found.sort()).toEqual([job.job_id, unfired.job_id].sort())
  })

  test('is not raised for jobs that expect nothing, unless a rule says what to expect', async () => {
    const { alerting, job } = await setUp()
    await alerting.ended(job, { lag: 60_000 })
    await alerting.look()
    expect(await alerting.alerts()).toEqual([])
    await alerting.rule('late_start', { params: { start_within_seconds: 30 } })
    await alerting.ended(job, { lag: 60_000 })
    await alerting.look()
    expect(await alerting.open()).toMatchObject([{ kind: 'late_start', detail: { expected_ms: 30_000 } }])
  })
})

describe('slow_run', () => {
  test('is raised by what the job expects, and over when a later attempt ends in time', async () => {
    const { alerting, job } = await setUp({ expect: { finish_within_seconds: 20 } })
    await alerting.ended(job, { took: 20_000 })
    await alerting.look()
    expect(await alerting.alerts()).toEqual([])
    await alerting.ended(job, { took: 20_001 })
    await alerting.look()
    expect(await alerting.open()).toMatchObject([
      { kind: 'slow_run', detail: { bound_ms: 20_000, p95_ms: null } },
    ])
    await alerting.ended(job, { took: 15_000 })
    await alerting.look()
    expect(await alerting.open()).toEqual([])
  })

  test('is raised by twice the p95 that was learned, once there are enough samples', async () => {
    const { node, alerting, job } = await setUp()
    const young = await node.register({ schedule: '0 0 1 1 *' })
    for (let n = 0; n < 20; n++) await alerting.ended(job, { took: 30_000 + n })
    for (let n = 0; n < 18; n++) await alerting.ended(young, { took: 30_000 })
    await alerting.look()
    await alerting.ended(job, { took: 61_000 })
    await alerting.ended(young, { took: 61_000 })
    await alerting.look()
    const open = await alerting.open('slow_run')
    expect(open).toMatchObject([{ detail: { job_id: job.job_id, p95_ms: 30_018, bound_ms: 60_036 } }])
  })

  test('of a job that usually takes no time at all is over when it takes none again', async () => {
    const { alerting, job } = await setUp()
    for (let n = 0; n < 20; n++) await alerting.ended(job, { took: 500 })
    await alerting.ended(job, { took: 31_000 })
    await alerting.look()
    expect(await alerting.open()).toMatchObject([{ kind: 'slow_run' }])
    await alerting.ended(job, { took: 500 })
    await alerting.look()
    expect(await alerting.open()).toEqual([])
  })

  test('of a run under way is learned of only once it could be slow, and said again where it was not kept', async () => {
    const { node, alerting, job } = await setUp()
    for (let n = 0; n < 20; n++) await alerting.ended(job, { took: 500 })
    const startedAt = await house().now()
    let asked = 0
    const { database } = node
    const counted = new Proxy(database, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name)
        if (name !== 'run' || typeof value !== 'function') return value
        return (...given: [{ name?: string; text?: string }, unknown]) => {
          if (JSON.stringify(given[0]).includes('percentile_disc')) asked += 1
          return (value as (...all: unknown[]) => unknown).apply(of, given)
        }
      },
    })
    const longRuns = new LongRuns({
      ...{ database: counted, clock: house().clock, remote: false },
      underWay: () => [{ job: job.key, due: startedAt, startedAt }],
    })
    await house().clock.advance(9_000)
    await longRuns.runOnce()
    expect(asked).toBe(0)
    await house().clock.advance(22_000)
    await house().query('ALTER TABLE carillon.alerts RENAME TO alerts_away')
    await expect(longRuns.runOnce()).rejects.toThrow('alerts')
    expect(asked).toBe(1)
    await house().query('ALTER TABLE carillon.alerts_away RENAME TO alerts')
    await longRuns.runOnce()
    expect(await alerting.open()).toMatchObject([{ kind: 'slow_run' }])
  })

  test('is raised while the run is under way, once, by the process whose worker has it', async () => {
    const { node, alerting, job } = await setUp({ expect: { finish_within_seconds: 10 } })
    const startedAt = await house().now()
    const longRuns = new LongRuns({
      database: node.database,
      clock: house().clock,
      underWay: () => [{ job: job.key, due: startedAt, startedAt }],
      remote: false,
    })
    await house().clock.advance(10_000)
    await longRuns.runOnce()
    expect(await alerting.open()).toEqual([])
    await house().clock.advance(1)
    await longRuns.runOnce()
    await longRuns.runOnce()
    expect(await alerting.open()).toMatchObject([{ kind: 'slow_run', count: 1, detail: { took_ms: 10_001 } }])
    // Its own end is no relief; the next one in time is.
    await alerting.ended(job, { due: startedAt, took: 10_500 })
    await alerting.look()
    expect(await alerting.open()).toHaveLength(1)
    await alerting.ended(job, { took: 5_000 })
    await alerting.look()
    expect(await alerting.open()).toEqual([])
  })
})

describe('cadence_drift', () => {
  test('is raised when every 20 s became 60 s, and over when runs are short again', async () => {
    const { alerting, job } = await setUp()
    const skip = () => alerting.ended(job, { outcome: 'skipped', reason: 'overlap', period: 20_000 })
    await alerting.ended(job)
    await skip()
    await skip()
    await alerting.look()
    expect(await alerting.alerts()).toEqual([])
    await alerting.ended(job)
    await skip()
    await skip()
    await alerting.look()
    expect(await alerting.open()).toMatchObject([
      {
        kind: 'cadence_drift',
        subject: `${job.name}: every 20 seconds became about 60 seconds`,
        detail: { period_ms: 20_000, effective_period_ms: 60_000 },
      },
    ])
    for (let n = 0; n < 8; n++) await alerting.ended(job)
    await alerting.look()
    expect(await alerting.open()).toHaveLength(1)
    for (let n = 0; n < 10; n++) await alerting.ended(job)
    await alerting.look()
    expect(await alerting.open()).toEqual([])
  })

  test('is not raised while most ticks still run', async () => {
    const { alerting, job } = await setUp()
    for (let n = 0; n < 5; n++) await alerting.ended(job)
    for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'skipped', reason: 'overlap' })
    await alerting.look()
    expect(await alerting.alerts()).toEqual([])
  })

  test('forgets a job that is well', async () => {
    const { alerting, job } = await setUp()
    await alerting.ended(job, { outcome: 'skipped', reason: 'overlap' })
    for (let n = 0; n < 30; n++) await alerting.ended(job)
    await alerting.look()
    for (let n = 0; n < 30; n++) await alerting.ended(job)
    await alerting.look()
    expect(await house().query('SELECT job FROM carillon.job_health')).toEqual([])
  })
})

describe('what was found of a job', () => {
  test('is over when the job has ended and nothing of it is in flight', async () => {
    const { node, alerting, job } = await setUp()
    for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    await putRuns(house(), job, { availableAt: (await house().now()) + 10 * minute })
    await house().query("UPDATE carillon.jobs SET state = 'ended', ended_at = 1 WHERE job = $1", [job.key])
    await alerting.look()
    expect(await alerting.open()).toHaveLength(1)
    await house().query('DELETE FROM carillon.queue')
    await alerting.look()
    expect(await alerting.open()).toEqual([])
    expect(node.gone).toBe(false)
  })

  test('is looked at once: two processes that look at the same time raise it once', async () => {
    const { job } = await setUp()
    const [one, two] = [new Alerting(house()), new Alerting(house())]
    for (let n = 0; n < 3; n++) await one.ended(job, { outcome: 'dead' })
    await house().clock.advance(settledMs + 1)
    await Promise.all([one.lookAtOnce(), two.lookAtOnce(), one.lookAtOnce(), two.lookAtOnce()])
    expect(await one.alerts()).toMatchObject([{ count: 1 }])
  })

  test('stays unsaid when the pass fails, and is said by the next', async () => {
    const { alerting, job } = await setUp()
    for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
    await house().query(
      `CREATE FUNCTION carillon_test.gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    )
    await house().query(
      'CREATE TRIGGER gate BEFORE UPDATE ON carillon.alert_watch FOR EACH ROW EXECUTE FUNCTION carillon_test.gate()',
    )
    await expect(alerting.look()).rejects.toThrow('no')
    expect(await alerting.alerts()).toEqual([])
    await house().query('DROP FUNCTION carillon_test.gate() CASCADE')
    await alerting.look()
    expect(await alerting.alerts()).toMatchObject([{ count: 1, detail: { failures: 3 } }])
  })

  test('of a great many jobs is told as one, and those that have an alert keep it', async () => {
    const { node, alerting } = await setUp()
    await alerting.rule('failed_in_row', { params: { times: 1 } })
    const other = await Tenant.make(house())
    const theirs = await other.register(node)
    await alerting.ended(theirs, { outcome: 'dead' })
    await alerting.ended(theirs, { outcome: 'dead' })
    await alerting.ended(theirs, { outcome: 'dead' })
    const jobs = []
    for (let n = 0; n < 60; n++) jobs.push(await node.register({ schedule: '0 0 1 1 *' }))
    for (const job of jobs) await alerting.ended(job, { outcome: 'dead' })
    await alerting.look()
    const own = (await alerting.open()).filter(({ tenant }) => tenant === 1)
    expect(own).toHaveLength(51)
    expect(own.find(({ fingerprint }) => fingerprint === 'failed_in_row:many')).toMatchObject({
      count: 10,
      detail: { jobs: 10 },
    })
    expect((await alerting.open()).filter(({ tenant }) => tenant === other.key)).toHaveLength(1)
    await house().clock.advance(600_000)
    await alerting.lookAtOnce()
    expect((await alerting.open()).some(({ fingerprint }) => fingerprint === 'failed_in_row:many')).toBe(
      false,
    )
  })
})
