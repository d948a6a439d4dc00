import { expect, test } from 'vitest'
import { Events } from '../../src/pipeline/alert/events.js'
import { Watch } from '../../src/pipeline/alert/watch.js'
import { silentLog } from '../kit/test-database.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface AlertRow {
  tenant: number | null
  kind: string
  subject: string
  detail: unknown
  raised_at: number
  resolved_at: number | null
}

function alerts(fingerprint: string): Promise<AlertRow[]> {
  return house().query<AlertRow>('SELECT * FROM carillon.alerts WHERE fingerprint = $1 ORDER BY alert', [
    fingerprint,
  ])
}

function events(): Events {
  return new Events({ database: house().database.database, log: silentLog })
}

/** Closes what nobody else closes, as every process does it in turn. */
async function settle(): Promise<void> {
  const { database } = house().database
  const watch = new Watch({ database, clock: house().clock, log: silentLog, beatMs: 10_000, everyMs: 0 })
  await watch.runOnce()
}

function step(fingerprint: string, tenant: number | null = null) {
  return { tenant, kind: 'clock_step', fingerprint, subject: 'stepped', detail: { by_ms: -7 } }
}

test('an event is on record with what it is about and when, by the database clock', async () => {
  events().raise(step('one'))
  await until('it is on record', async () => (await alerts('one')).length === 1)
  expect(await alerts('one')).toEqual([
    expect.objectContaining({
      tenant: null,
      kind: 'clock_step',
      subject: 'stepped',
      detail: { by_ms: -7 },
      raised_at: await house().now(),
      resolved_at: null,
    }),
  ])
})

test('raised by several nodes at once, it is open once; of a tenant it is another one', async () => {
  for (let node = 0; node < 5; node++) events().raise(step('many'))
  events().raise(step('many', 1))
  await until('both are on record', async () => (await alerts('many')).length === 2)
  events().raise(step('last'))
  await until('all are written', async () => (await alerts('last')).length === 1)
  expect((await alerts('many')).map(({ tenant }) => tenant).sort()).toEqual([1, null])
})

async function comeAndGone(fingerprint: string): Promise<void> {
  events().raise(step(fingerprint))
  await until('it is open', async () => (await alerts(fingerprint)).length === 1)
  events().resolve(fingerprint)
  await until('it is resolved', async () => (await alerts(fingerprint))[0]?.resolved_at !== null)
}

test('raised again soon after its end, it is the same one, and is counted', async () => {
  await comeAndGone('flapping')
  await house().clock.advance(299_999)
  events().raise(step('flapping'))
  await until('it is open again', async () => (await alerts('flapping'))[0]?.resolved_at === null)
  expect(await alerts('flapping')).toMatchObject([{ count: 2, resolved_by: null }])
})

test('raised again later, it is another one, and both are kept', async () => {
  await comeAndGone('again')
  await house().clock.advance(300_000)
  events().raise(step('again'))
  await until('it is open again', async () => (await alerts('again')).length === 2)
  expect((await alerts('again')).map(({ resolved_at }) => resolved_at === null)).toEqual([false, true])
})

test('a database that is away keeps nobody from working', async () => {
  const failing = { run: () => Promise.reject(new Error('away')) } as never
  expect(() => new Events({ database: failing, log: silentLog }).raise(step('lost'))).not.toThrow()
  await new Promise((resolve) => setImmediate(resolve))
})

test('what was said while the database was away is on record once it is back', async () => {
  const { database } = house().database
  const state = { away: true }
  const flaky = {
    run: (...call: Parameters<typeof database.run>) =>
      state.away ? Promise.reject(new Error('away')) : database.run(...call),
  } as never
  const told = new Events({ database: flaky, log: silentLog })
  events().raise(step('to be closed'))
  await until('it is open', async () => (await alerts('to be closed')).length === 1)
  told.raise(step('raised'))
  told.resolve('to be closed')
  told.raise(step('come and gone'))
  told.resolve('come and gone')
  await expect(told.runOnce()).rejects.toThrow('away')
  state.away = false
  await told.runOnce()
  expect(await alerts('raised')).toMatchObject([{ resolved_at: null }])
  expect(await alerts('to be closed')).toMatchObject([{ resolved_at: await house().now() }])
  expect(await alerts('come and gone')).toEqual([])
})

test('what a process that is gone said of itself is closed; of one that lives it stays open', async () => {
  const [gone, alive] = [await house().node(), await house().node()]
  for (const [name, node] of [['gone', gone] as const, ['alive', alive] as const]) {
    events().raise({ ...step(name), kind: 'overload', detail: { incarnation: node.membership.incarnation } })
    await until('it is on record', async () => (await alerts(name)).length === 1)
  }
  await gone.leave()
  await settle()
  expect(await alerts('gone')).toMatchObject([{ resolved_at: await house().now() }])
  expect(await alerts('alive')).toMatchObject([{ resolved_at: null }])
})

test('a step of the clock is history after an hour', async () => {
  events().raise(step('old'))
  await until('it is on record', async () => (await alerts('old')).length === 1)
  await house().clock.advance(3_599_999)
  await settle()
  expect(await alerts('old')).toMatchObject([{ resolved_at: null }])
  await house().clock.advance(1)
  await settle()
  expect(await alerts('old')).toMatchObject([{ resolved_at: await house().now() }])
})
