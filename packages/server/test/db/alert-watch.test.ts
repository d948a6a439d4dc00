import { afterEach, describe, expect, test } from 'vitest'
import { DeadMan } from '../../src/pipeline/alert/dead-man.js'
import { Alerting } from '../kit/alerting.js'
import { silentLog } from '../kit/test-database.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

afterEach(async () => {
  await house().query('DROP FUNCTION IF EXISTS carillon_test.too_much CASCADE')
  await house().query('DROP TABLE IF EXISTS carillon_test.bearable')
})

/** A look at more than so many jobs is too much for one statement. */
async function bearOnly(jobs: number): Promise<void> {
  await house().query('CREATE TABLE carillon_test.bearable AS SELECT $1::int AS jobs', [jobs])
  await house().query(
    `CREATE FUNCTION carillon_test.too_much() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
     BEGIN
       IF (SELECT count(*) FROM written) > (SELECT jobs FROM carillon_test.bearable) THEN RAISE 'too much'; END IF;
       RETURN NULL;
     END $$`,
  )
  await house().query(
    `CREATE TRIGGER too_much AFTER INSERT ON carillon.job_health REFERENCING NEW TABLE AS written
     FOR EACH STATEMENT EXECUTE FUNCTION carillon_test.too_much()`,
  )
}

async function sliceMs(): Promise<number> {
  const [row] = await house().query<{ slice_ms: number }>('SELECT slice_ms FROM carillon.alert_watch')
  return row?.slice_ms ?? 0
}

describe('a look that fails', () => {
  test('keeps nobody from hearing that no scheduler is alive, nor the outside that one is', async () => {
    const node = await house().node()
    let pings = 0
    const alerting = new Alerting(house(), {
      deadMan: new DeadMan({
        ...{ database: house().database.database, log: silentLog, everyMs: 1_000 },
        call: () => Promise.resolve(void pings++),
      }),
    })
    const job = await node.register({ schedule: '0 0 1 1 *' })
    await bearOnly(0)
    await alerting.ended(job, { outcome: 'dead' })
    await expect(alerting.look()).rejects.toThrow('too much')
    expect(pings).toBe(1)
    await node.crash()
    await house().clock.advance(40_000)
    await expect(alerting.lookAtOnce()).rejects.toThrow('too much')
    expect(await alerting.open()).toMatchObject([{ kind: 'no_scheduler' }])
  })

  test('is followed by smaller ones until one gets through, and then by larger ones', async () => {
    const node = await house().node()
    const alerting = new Alerting(house())
    await alerting.rule('failed_in_row', { params: { times: 1 } })
    await alerting.lookAtOnce()
    const jobs = []
    for (let n = 0; n < 8; n++) jobs.push(await node.register({ schedule: '0 0 1 1 *' }))
    for (const job of jobs) {
      await house().clock.advance(5_000)
      await alerting.ended(job, { outcome: 'dead' })
    }
    await house().clock.advance(10_000)
    await bearOnly(2)
    let failed = 0
    for (let looks = 0; looks < 20; looks++) await alerting.lookAtOnce().catch(() => failed++)
    expect(failed).toBeGreaterThan(0)
    expect(await alerting.open('failed_in_row')).toHaveLength(8)
    await house().query('DROP FUNCTION carillon_test.too_much() CASCADE')
    for (let looks = 0; looks < 20; looks++) await alerting.look()
    expect(await sliceMs()).toBe(60_000)
  })
})

test('a look takes so many rows of the ledger at most, and the rest is looked at by those that follow', async () => {
  const node = await house().node()
  const alerting = new Alerting(house())
  await alerting.lookAtOnce()
  const job = await node.register({ schedule: '0 0 1 1 *' })
  const from = await house().now()
  await house().query(
    `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version, epoch, catch_up,
                                  ticks, available_at, started_at, finished_at, partition)
     SELECT $1::bigint + n / 10, tenant, job, $1::bigint + n, 0, 0, 'failed', true, 0, 1, 1, 0, false, 1, $1, $1, $1, partition
     FROM carillon.jobs, generate_series(0, 24999) n WHERE job = $2`,
    [from, job.key],
  )
  await house().clock.advance(10_000)
  const looks: number[] = []
  const failures = async () => {
    const [row] = await house().query<{ failures: number }>('SELECT failures FROM carillon.job_health')
    return row?.failures ?? 0
  }
  for (let more = true; more; ) {
    more = await alerting.lookOnce()
    looks.push(await failures())
  }
  expect(looks).toEqual([10_000, 20_000, 25_000, ...looks.slice(3).map(() => 25_000)])
})

test('an alert that was found more often than can be counted is raised all the same', async () => {
  const node = await house().node()
  const alerting = new Alerting(house())
  const job = await node.register({ schedule: '0 0 1 1 *' })
  await alerting.ended(job, { outcome: 'skipped', reason: 'missed', ticks: 5 })
  await alerting.look()
  await house().query('UPDATE carillon.alerts SET count = 2147483640')
  await alerting.ended(job, { outcome: 'skipped', reason: 'missed', ticks: 50 })
  await alerting.look()
  expect(await alerting.open()).toMatchObject([{ count: 2_147_483_647 }])
  await alerting.ended(job)
  await alerting.look()
  await alerting.ended(job, { outcome: 'skipped', reason: 'missed', ticks: 50 })
  await alerting.look()
  expect(await alerting.open()).toMatchObject([{ count: 2_147_483_647 }])
})
