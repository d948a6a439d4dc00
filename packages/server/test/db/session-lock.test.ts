import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { SessionLock } from '../../src/cluster/postgres/session-lock.js'
import { pretendServerAge } from '../kit/meddle.js'
import { silentLog } from '../kit/test-database.js'
import { type TestNode, times } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Claim {
  state: string
  session_lock: boolean
}

async function claimOf(node: TestNode): Promise<Claim | undefined> {
  const [row] = await house().query<Claim>(
    'SELECT state, session_lock FROM carillon.incarnations WHERE incarnation = $1',
    [node.membership.incarnation],
  )
  return row
}

/** Whether any session holds the lock of this key, as the server says. */
async function isLocked(key: number): Promise<boolean> {
  const [row] = await house().query<{ locked: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
       AND classid::bigint << 32 | objid::bigint = $1) AS locked`,
    [key],
  )
  return row?.locked ?? false
}

function lockSessions(): Promise<{ pid: number }[]> {
  return house().query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'carillon session lock'`,
  )
}

/** Ends sessions of the nodes, as a crash of a backend does to all of them: the server recovers, and lives on. */
async function endSessions(like: string): Promise<void> {
  await house().query(
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE $1`,
    [like],
  )
}

function lockOf(node: TestNode): SessionLock {
  return (node.membership as unknown as { life: { lock: SessionLock } }).life.lock
}

async function noticed(...nodes: TestNode[]): Promise<void> {
  await until('the nodes notice that their locks are lost', () =>
    nodes.every((node) => !lockOf(node).isHeld()),
  )
}

/** The pool may hand out a connection that is dead already before it has a new one. */
async function beatAgain(node: TestNode): Promise<void> {
  await until('a heartbeat gets through', () =>
    node.membership.heartbeat().then(
      () => true,
      () => false,
    ),
  )
}

async function twoNodes(): Promise<[TestNode, TestNode]> {
  const [one, other] = (await house().fleet(2)) as [TestNode, TestNode]
  for (const node of [one, other]) pretendServerAge(node.database, 86_400_000)
  // The first one looks last: it knows the latest beat of the other.
  for (const node of [other, one]) await node.membership.heartbeat()
  return [one, other]
}

describe('the session lock of a process', () => {
  test('is claimed from the moment it has joined, also until it is taken again: a crash in between is noticed as soon', async () => {
    const node = await house().node()
    expect(await isLocked(node.membership.incarnation)).toBe(true)
    expect(await claimOf(node)).toMatchObject({ session_lock: true })
    await endSessions('carillon session lock')
    await noticed(node)
    await node.membership.heartbeat()
    expect(await claimOf(node)).toMatchObject({ session_lock: true })
  })

  test('is freed by the server when the process crashes, and by the process when it leaves', async () => {
    const [one, other] = await twoNodes()
    await one.crash()
    await other.leave()
    await until('the server frees both locks', async () => (await lockSessions()).length === 0)
    expect(await isLocked(one.membership.incarnation)).toBe(false)
    expect(await isLocked(other.membership.incarnation)).toBe(false)
  })

  test('is taken again after its connection broke', async () => {
    const node = await house().node()
    await endSessions('carillon session lock')
    await noticed(node)
    await node.membership.heartbeat()
    await until('the lock is taken again', () => isLocked(node.membership.incarnation))
    await until('the process knows', () => lockOf(node).isHeld())
    await node.membership.heartbeat()
    expect(await claimOf(node)).toMatchObject({ state: 'alive', session_lock: true })
  })

  test('is asked for again as long as somebody else has it, over one connection', async () => {
    const session = await house().session()
    await session.query('SELECT pg_advisory_lock(4711)')
    const lock = new SessionLock(house().database.database, 4711, silentLog)
    await lock.ensure()
    const before = await lockSessions()
    await lock.ensure()
    expect(lock.isHeld()).toBe(false)
    expect(await lockSessions()).toEqual(before)
    await session.query('SELECT pg_advisory_unlock(4711)')
    await lock.ensure()
    expect(lock.isHeld()).toBe(true)
    await lock.release()
  })

  test('is not taken any more once it was released', async () => {
    const lock = new SessionLock(house().database.database, 4712, silentLog)
    const taking = lock.ensure()
    await lock.release()
    await taking
    await lock.ensure()
    expect(lock.isHeld()).toBe(false)
    await until('the connection is closed', async () => (await lockSessions()).length === 0)
  })

  test('is given up and taken anew when the server does not know it, though the connection looks alive', async () => {
    const node = await house().node()
    const { client } = lockOf(node) as unknown as { client: pg.Client }
    await client.query('SELECT pg_advisory_unlock_all()')
    await node.membership.heartbeat()
    expect(lockOf(node).isHeld()).toBe(false)
    await node.membership.heartbeat()
    await until('the lock is taken again', () => isLocked(node.membership.incarnation))
  })
})

describe('a life sign', () => {
  test('does not wait for a lock connection that hangs', async () => {
    const node = await house().node()
    const { database } = node
    const dedicated = database.dedicated.bind(database)
    let letGo = () => undefined as void
    database.dedicated = (name) => {
      const client = dedicated(name)
      client.connect = () => new Promise<never>((_, reject) => (letGo = () => reject(new Error('gave up'))))
      return client
    }
    await endSessions('carillon session lock')
    await noticed(node)
    await node.membership.heartbeat()
    await node.membership.heartbeat()
    expect(lockOf(node).isHeld()).toBe(false)
    expect(await claimOf(node)).toMatchObject({ state: 'alive' })
    database.dedicated = dedicated
    letGo()
    await until('the lock is taken again', async () => {
      await node.membership.heartbeat()
      return isLocked(node.membership.incarnation)
    })
  })
})

describe('when the server lost every session at once and recovered', () => {
  test('the first process that comes back takes nobody for dead', async () => {
    const [one, other] = await twoNodes()
    await endSessions('carillon%node')
    await endSessions('carillon session lock')
    await noticed(one, other)
    await house().clock.advance(3 * times.heartbeatMs)
    await beatAgain(one)
    expect(await claimOf(other)).toMatchObject({ state: 'alive' })
    await beatAgain(other)
    expect(await claimOf(other)).toMatchObject({ state: 'alive' })
  })

  test('nor does one whose own connection still looks alive', async () => {
    const [one, other] = await twoNodes()
    const { client } = lockOf(one) as unknown as { client: pg.Client }
    await client.query('SELECT pg_advisory_unlock_all()')
    await lockOf(other).release()
    await house().clock.advance(3 * times.heartbeatMs)
    await one.membership.heartbeat()
    expect(await claimOf(other)).toMatchObject({ state: 'alive' })
  })

  test('lost locks count again after one lease time', async () => {
    const [one, other] = await twoNodes()
    await endSessions('carillon session lock')
    await noticed(one, other)
    await lockOf(other).release()
    for (let passed = 0; passed < times.leaseTtlMs; passed += times.heartbeatMs) {
      await one.membership.heartbeat()
      expect(await claimOf(other)).toMatchObject({ state: 'alive' })
      await house().clock.advance(times.heartbeatMs)
    }
    await one.membership.heartbeat()
    expect(await claimOf(other)).toMatchObject({ state: 'dead' })
  })
})

describe('behind a connection pooler', () => {
  /** The protocol names a backend, but another one answers: that is what a pooler looks like from here. */
  async function pooledNode(): Promise<TestNode> {
    const node = await house().node()
    const { database } = node
    const dedicated = database.dedicated.bind(database)
    database.dedicated = (name) => {
      const client = dedicated(name)
      Object.defineProperty(client, 'processID', { get: () => 1, set: () => undefined })
      return client
    }
    await node.membership.leave()
    await node.membership.join()
    pretendServerAge(database, 86_400_000)
    return node
  }

  test('no lock is taken or claimed, and no connection is kept for it', async () => {
    const node = await pooledNode()
    await node.membership.heartbeat()
    expect(await isLocked(node.membership.incarnation)).toBe(false)
    expect(await claimOf(node)).toEqual({ state: 'alive', session_lock: false })
    await until('the connection is closed', async () => (await lockSessions()).length === 0)
  })

  test('a crash is noticed by time, not sooner', async () => {
    const crashed = await pooledNode()
    const observer = await house().node()
    pretendServerAge(observer.database, 86_400_000)
    await crashed.crash()
    for (let passed = 0; passed < times.runLeaseMs; passed += times.heartbeatMs) {
      expect(await claimOf(crashed)).toMatchObject({ state: 'alive' })
      await house().clock.advance(times.heartbeatMs)
      await observer.membership.heartbeat()
    }
    expect(await claimOf(crashed)).toMatchObject({ state: 'dead' })
  })
})
