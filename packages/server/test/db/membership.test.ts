import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { Membership } from '../../src/cluster/membership.js'
import { PostgresCoordination } from '../../src/cluster/postgres/coordination.js'
import { statement } from '../../src/db/statement.js'
import { meddleWith } from '../kit/meddle.js'
import { usePeers } from '../kit/peers.js'
import { silentLog } from '../kit/test-database.js'
import { type TestNode, times } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const { processOf, fleet, live, goneCount } = usePeers(house)

describe('a process that joins', () => {
  test('has a row of its own that says who it is and what it serves', async () => {
    const node = await house().node({ tasks: ['report'] })
    expect(await processOf(node.membership.incarnation)).toMatchObject({
      state: 'alive',
      host: hostname(),
      pid: process.pid,
      roles: ['api', 'scheduler', 'worker'],
      tasks: ['report'],
      ended_at: null,
    })
  })

  test('has an id that nobody had before, and none that was used is ever taken again', async () => {
    const [one, other] = await fleet(2)
    expect(one?.membership.incarnation).not.toBe(other?.membership.incarnation)
    const join = statement<object, { now: number }>(
      new URL('../../src/cluster/postgres/join.sql', import.meta.url),
    )
    const again = { host: 'h', pid: 1, roles: [], tasks: [], commands: false, code_version: 'test' }
    await expect(
      one?.database.run(join, { incarnation: other?.membership.incarnation, ...again }),
    ).rejects.toMatchObject({ code: '23505' })
  })

  test('knows the database clock from its first answer', async () => {
    const node = await house().node()
    expect(node.databaseClock.atLeast()).toBe(await house().now())
  })

  test('is seen by the others at their next look, and sees them at once', async () => {
    const first = await house().node()
    const second = await house().node()
    const both = [first.membership.incarnation, second.membership.incarnation].sort()
    expect(second.membership.live('scheduler').sort()).toEqual(both)
    expect(first.membership.live('scheduler')).toEqual([first.membership.incarnation])
    await first.membership.heartbeat()
    expect(first.membership.live('scheduler').sort()).toEqual(both)
    expect(first.membership.live('no such role')).toEqual([])
  })

  test('and cannot leaves no row that looks alive and no connection behind', async () => {
    const node = await house().node()
    const stop = meddleWith(node.database, 'heartbeat', () => Promise.reject(new Error('away')))
    await node.membership.leave()
    await expect(node.membership.join()).rejects.toThrow('away')
    stop()
    const alive = await house().query("SELECT FROM carillon.incarnations WHERE state = 'alive'")
    expect(alive).toHaveLength(0)
  })
})

describe('a heartbeat', () => {
  test('is counted and dated by the database clock', async () => {
    const node = await house().node()
    const before = await processOf(node.membership.incarnation)
    await house().clock.advance(times.heartbeatMs)
    await node.membership.heartbeat()
    const after = await processOf(node.membership.incarnation)
    expect(after?.beat).toBe((before?.beat ?? 0) + 1)
    expect(after?.beat_at).toBe(await house().now())
    expect(node.databaseClock.atLeast()).toBe(await house().now())
  })

  test('tells which roles the process can do now', async () => {
    const [one, other] = (await fleet(2)) as [TestNode, TestNode]
    one.membership.offer('scheduler', false)
    await live([one, other], times.heartbeatMs)
    expect(other.membership.live('scheduler')).toEqual([other.membership.incarnation])
    expect(other.membership.live('worker')).toHaveLength(2)
    one.membership.offer('scheduler', true)
    await live([one, other], times.heartbeatMs)
    expect(other.membership.live('scheduler')).toHaveLength(2)
  })

  test('carries what the process says of itself, as it is at that moment', async () => {
    const node = await house().node()
    let lagMs = 7
    const { database, databaseClock } = node
    const membership = new Membership({
      coordination: new PostgresCoordination({
        database,
        databaseClock,
        clock: house().clock,
        log: silentLog,
        ...times,
      }),
      log: silentLog,
      roles: ['scheduler'],
      tasks: [],
      codeVersion: 'test',
      report: () => ({ lag_ms: lagMs }),
    })
    const reported = async () => (await processOf(membership.incarnation))?.report
    await membership.join()
    expect(await reported()).toEqual({ lag_ms: 7 })
    lagMs = 8
    await membership.heartbeat()
    expect(await reported()).toEqual({ lag_ms: 8 })
    expect((await processOf(node.membership.incarnation))?.report).toEqual({})
    await membership.leave()
  })
})

describe('a process that leaves', () => {
  test('says good-bye, and the others know at their next look', async () => {
    const [one, other] = (await fleet(2)) as [TestNode, TestNode]
    const gone = goneCount(one)
    await other.leave()
    expect(await processOf(other.membership.incarnation)).toMatchObject({
      state: 'left',
      ended_at: await house().now(),
    })
    await one.membership.heartbeat()
    expect(gone()).toBe(1)
    expect(one.membership.live('scheduler')).toEqual([one.membership.incarnation])
    await one.membership.heartbeat()
    expect(gone()).toBe(1)
  })

  test('and cannot say so still lets go of its connection', async () => {
    const node = await house().node()
    const stop = meddleWith(node.database, 'leave', () => Promise.reject(new Error('away')))
    await expect(node.membership.leave()).rejects.toThrow('away')
    stop()
    const sessions = await house().query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'carillon session lock'",
    )
    expect(sessions).toHaveLength(0)
  })
})
