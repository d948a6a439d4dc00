import { describe, expect, test } from 'vitest'
import { parseStatement } from '../../src/db/statement.js'
import { putRuns, queueOf } from '../kit/rows.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** What a process meets that was stopped for a while, or whose database was. */
describe('after a pause', () => {
  test('a worker whose runs went to others meanwhile starts none of them', async () => {
    const stopped = await house().node({ leaseAheadMs: 5_000 })
    const job = await stopped.register({ schedule: '@every 1h' })
    await putRuns(house(), job, { availableAt: (await house().now()) + 3_000 })
    await stopped.worker.leaseOnce()
    expect(stopped.worker.inFlight).toBe(1)
    // Declared dead by a peer while it slept; its heartbeat has not told it yet.
    await house().query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
      [stopped.membership.incarnation],
    )
    const other = await house().node()
    await other.rescue.runOnce()
    await house().clock.advance(3_500)
    await house().finished(stopped)
    expect(stopped.delivered).toEqual([])
    expect(stopped.worker.inFlight).toBe(0)
    await other.membership.heartbeat()
    await other.worker.leaseOnce()
    await house().finished(other)
    expect(other.delivered).toHaveLength(1)
  })

  test('a worker that was declared dead starts nothing, although it can look again before it learns that', async () => {
    let away = false
    const node = await house().node({
      leaseAheadMs: 5_000,
      between: (ports) => ({
        revoked: (holder) =>
          away ? Promise.reject(new Error('the database is away')) : ports.revoked(holder),
      }),
    })
    const job = await node.register({ schedule: '@every 1h' })
    await putRuns(house(), job, { availableAt: (await house().now()) + 1_500 })
    await node.worker.leaseOnce()
    away = true
    await house().clock.advance(2_000)
    // The others took its runs back, as they do after a second of silence; then a look of its own, before its next life sign.
    await house().query("UPDATE carillon.incarnations SET state = 'dead', ended_at = carillon.now_ms()")
    await house().query('UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL')
    away = false
    await node.worker.lookOnce()
    for (let look = 0; look < 20; look++) await house().clock.advance(100)
    expect(node.delivered).toEqual([])
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 1 }])
  })

  test('a lease that nobody knows of is found and given back, but not one whose answer is on its way', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    await putRuns(house(), job, { availableAt: (await house().now()) + 60_000 })
    await house().query('UPDATE carillon.queue SET holder = $1, token = 77, leased_at = 1 WHERE job = $2', [
      node.membership.incarnation,
      job.key,
    ])
    await node.worker.strays.lookOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ token: 77 }])
    await node.worker.strays.lookOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ token: null, attempt: 1 }])
  })

  test('a run that was given back is not started when the answer that leased it comes after all', async () => {
    let arrive: () => void = () => undefined
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const late = await house().node({
      between: (ports) => ({
        lease: async (holder, most) => {
          const runs = await ports.lease(holder, most)
          await arrived
          return runs
        },
      }),
    })
    const job = await late.register({ schedule: '@every 1h' })
    await putRuns(house(), job, { availableAt: await house().now() })
    const leasing = late.worker.leaseOnce()
    await until('the run is leased', async () => (await queueOf(house(), job))[0]?.token !== null)
    await late.worker.strays.lookOnce()
    await late.worker.strays.lookOnce()
    const other = await house().node()
    await other.worker.leaseOnce()
    await house().finished(other)
    expect(other.delivered).toHaveLength(1)
    // Nobody asked to cancel anything, and it has just looked: that says nothing about whose the run is.
    await late.worker.lookOnce()
    arrive()
    await leasing
    await house().finished(late)
    expect(late.delivered).toEqual([])
    expect(late.worker.inFlight).toBe(0)
  })

  test('a peer is not declared dead for the time in which nobody could hear it', async () => {
    const [first, second] = await house().fleet(2)
    await house().clock.advance(60_000)
    await first?.membership.heartbeat()
    await second?.membership.heartbeat()
    const states = await house().query<{ state: string }>(
      'SELECT state FROM carillon.incarnations WHERE incarnation = ANY ($1)',
      [[first?.membership.incarnation, second?.membership.incarnation]],
    )
    expect(states).toEqual([{ state: 'alive' }, { state: 'alive' }])
  })
})

test('a transaction whose connection is cut rejects, and the process lives on', async () => {
  const { database } = house().database
  const backend = parseStatement<Record<string, never>, { pid: number }>(
    'pid.sql',
    'SELECT pg_backend_pid() AS pid',
  )
  const nap = parseStatement<Record<string, never>, { pid: number }>('nap.sql', 'SELECT 1 AS pid')
  await expect(
    database.transaction(async (runner) => {
      const [row] = await runner.run(backend, {})
      await house().query('SELECT pg_terminate_backend($1)', [row?.pid])
      await runner.run(nap, {})
    }),
  ).rejects.toThrow()
  expect(await database.run(nap, {})).toEqual([{ pid: 1 }])
})
