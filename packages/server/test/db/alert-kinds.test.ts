import { type AlertKind, alertKindNames, alertKinds } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { type Finding, fingerprintOf } from '../../src/pipeline/alert/finding.js'
import { raise, resolve } from '../../src/pipeline/alert/record.js'
import { Alerting } from '../kit/alerting.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** Something of this kind was found, of whom it is found by its scope. */
async function finding(kind: AlertKind): Promise<Finding> {
  const { scope, severity } = alertKinds[kind]
  const common = { kind, severity, subject: `found: ${kind}`, detail: { of: kind } }
  if (scope !== 'job') return { ...common, tenant: scope === 'fleet' ? null : 1, fingerprint: kind }
  const node = await house().node()
  const job = await node.register({ schedule: '0 0 1 1 *' })
  const fingerprint = fingerprintOf(kind, { uuid: job.job_id })
  return { ...common, tenant: 1, fingerprint, job: job.key }
}

async function silence(kind: string): Promise<void> {
  await house().query(
    `INSERT INTO carillon.alert_silences (silence, tenant, kind, until, reason, created_by)
     VALUES (gen_random_uuid(), 1, $1, carillon.now_ms() + 3600000, 'r', 'ann')`,
    [kind],
  )
}

describe.each(alertKindNames)('%s', (kind) => {
  const over = ({ tenant, fingerprint }: Finding) =>
    resolve(house().database.database, [{ tenant, fingerprint }], 30_000)

  test('found twice is one alert, told once, by its severity, and its end once', async () => {
    const found = await finding(kind)
    const alerting = new Alerting(house())
    await alerting.channel()
    await raise(house().database.database, [found])
    await raise(house().database.database, [found])
    expect(await alerting.open(kind)).toMatchObject([{ count: 2, tenant: found.tenant }])
    expect(await alerting.tell()).toMatchObject([
      { event: 'firing', kind, severity: alertKinds[kind].severity },
    ])
    expect(await alerting.tell()).toEqual([])
    await over(found)
    await over(found)
    await house().clock.advance(30_000)
    expect(await alerting.tell()).toMatchObject([{ event: 'resolved', kind }])
    expect(await alerting.tell()).toEqual([])
  })

  test('silenced is raised and not told, nor is its end', async () => {
    const found = await finding(kind)
    const alerting = new Alerting(house())
    await alerting.channel()
    await silence(kind)
    await raise(house().database.database, [found])
    expect(await alerting.tell()).toEqual([])
    expect(await alerting.open(kind)).toMatchObject([{ silenced_by: expect.any(String) as string }])
    await over(found)
    await house().clock.advance(30_000)
    expect(await alerting.tell()).toEqual([])
  })

  test('whose rule is off is told to nobody', async () => {
    const found = await finding(kind)
    const alerting = new Alerting(house())
    await alerting.channel()
    await alerting.rule(kind, { enabled: false })
    await raise(house().database.database, [found])
    expect(await alerting.tell()).toEqual([])
    expect(await alerting.open(kind)).toMatchObject([{ muted: true }])
  })
})
