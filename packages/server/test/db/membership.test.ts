import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import type { Life } from '../../src/cluster/coordination.js'
import { Membership } from '../../src/cluster/membership.js'
import { PostgresCoordination } from '../../src/cluster/postgres/coordination.js'
import { statement } from '../../src/db/statement.js'
import { meddleWith, pretendServerAge } from '../kit/meddle.js'
import { silentLog } from '../kit/test-database.js'
import { type TestNode, times } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const longAgo = 86_400_000
const day = 86_400_000
const reconnectMs = 1_000

interface ProcessRow {
  state: string
  beat: number
  beat_at: number
  ended_at: number | null
  host: string
  pid: number
  roles: string[]
  tasks: string[]
  report: unknown
}

async function processOf(incarnation: number): Promise<ProcessRow | undefined> {
  const [row] = await house().query<ProcessRow>(
    'SELECT * FROM carillon.incarnations WHERE incarnation = $1',
    [incarnation],
  )
  return row
}

async function stateOf(node: TestNode): Promise<string | undefined> {
  return (await processOf(node.membership.incarnation))?.state
}

/** A fleet on a server that has run for long, so that lost locks count. Each knows the last beat of those after it. */
async function fleet(count: number): Promise<TestNode[]> {
  const nodes = await house().fleet(count)
  for (const node of nodes) pretendServerAge(node.database, longAgo)
  for (const node of [...nodes].reverse()) await node.membership.heartbeat()
  return nodes
}

async function partitionsOf(node: TestNode): Promise<number> {
  const rows = await house().query('SELECT FROM carillon.partitions WHERE owner = $1', [
    node.membership.incarnation,
  ])
  return rows.length
}

/** Lets time pass, with a life sign of these nodes every quarter of a second. */
async function live(nodes: readonly TestNode[], forMs: number): Promise<void> {
  for (let passed = 0; passed < forMs; passed += times.heartbeatMs) {
    await house().clock.advance(Math.min(times.heartbeatMs, forMs - passed))
    for (const node of nodes) await node.membership.heartbeat()
  }
}

function goneCount(node: TestNode): () => number {
  let count = 0
  node.membership.onPeerGone(() => {
    count += 1
  })
  return () => count
}

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

describe('a process that crashed', () => {
  test('is found dead by its lost connection after a second, long before any lease ends', async () => {
    const [one, other] = (await fleet(2)) as [TestNode, TestNode]
    const gone = goneCount(one)
    await other.crash()
    await live([one], reconnectMs - times.heartbeatMs)
    expect(await stateOf(other)).toBe('alive')
    const toldOfItsPartitions = gone()
    await live([one], times.heartbeatMs)
    expect(await processOf(other.membership.incarnation)).toMatchObject({ state: 'dead' })
    expect(gone()).toBe(toldOfItsPartitions + 1)
    expect(one.membership.live('scheduler')).toEqual([one.membership.incarnation])
  })

  test('is not taken for dead by its lost connection while the server is young', async () => {
    const [one, other] = (await fleet(2)) as [TestNode, TestNode]
    await other.crash()
    const grow = pretendServerAge(one.database, times.leaseTtlMs)
    await live([one], 5_000)
    expect(await stateOf(other)).toBe('alive')
    grow()
    await live([one], times.heartbeatMs)
    expect(await stateOf(other)).toBe('dead')
  })

  test('is declared dead by one of several observers, once', async () => {
    const [one, two, crashed] = (await fleet(3)) as [TestNode, TestNode, TestNode]
    const counts = [goneCount(one), goneCount(two)]
    await crashed.crash()
    await house().clock.advance(reconnectMs)
    await Promise.all([one.membership.heartbeat(), two.membership.heartbeat()])
    await live([one, two], times.heartbeatMs)
    expect(await stateOf(crashed)).toBe('dead')
    expect(counts.map((count) => count())).toEqual([1, 1])
  })

  test('survives when a life sign of it arrives just before the verdict', async () => {
    const [one, slow] = (await fleet(2)) as [TestNode, TestNode]
    await endSessionLock(slow)
    meddleWith(one.database, 'declare-dead', async (send) => {
      await slow.membership.heartbeat()
      return send()
    })
    await live([one], reconnectMs)
    expect(await stateOf(slow)).toBe('alive')
  })

  test('survives when its lock turns out to be held after all', async () => {
    const [one, slow] = (await fleet(2)) as [TestNode, TestNode]
    await endSessionLock(slow)
    const session = await house().session()
    const untouched = await stateOf(slow)
    meddleWith(one.database, 'declare-dead', async (send) => {
      await session.query('SELECT pg_advisory_lock($1)', [slow.membership.incarnation])
      return send()
    })
    await live([one], reconnectMs)
    expect(await stateOf(slow)).toBe(untouched)
  })

  test('and is back within a second keeps its runs and its id; its partitions may be another’s by then', async () => {
    const [one, slow] = (await fleet(2)) as [TestNode, TestNode]
    const me = slow.membership.incarnation
    await slow.ownership.runOnce()
    expect(slow.ownership.current()).not.toEqual([])
    await endSessionLock(slow)
    const gone = goneCount(one)
    await live([one], 2 * times.heartbeatMs)
    expect(gone()).toBe(1)
    expect(one.membership.live('scheduler')).toEqual([one.membership.incarnation])
    expect(await partitionsOf(slow)).toBe(0)
    await live([one], times.heartbeatMs)
    await slow.membership.heartbeat()
    expect(slow.membership.incarnation).toBe(me)
    expect(await stateOf(slow)).toBe('alive')
    await one.membership.heartbeat()
    expect(one.membership.live('scheduler')).toContain(me)
  })

  test('keeps its partitions when a life sign of it arrives just before they are freed', async () => {
    const [one, slow] = (await fleet(2)) as [TestNode, TestNode]
    await slow.ownership.runOnce()
    const owned = await partitionsOf(slow)
    await endSessionLock(slow)
    meddleWith(one.database, 'disown', async (send) => {
      await slow.membership.heartbeat()
      return send()
    })
    await live([one], 2 * times.heartbeatMs)
    expect(await partitionsOf(slow)).toBe(owned)
    expect(owned).toBeGreaterThan(0)
  })
})

describe('a process that is silent while its connection stands', () => {
  test('is dead after the run lease and not before', async () => {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    await live([one], times.runLeaseMs - times.heartbeatMs)
    expect(await stateOf(silent)).toBe('alive')
    await live([one], times.heartbeatMs)
    expect(await stateOf(silent)).toBe('dead')
  })

  test('is not killed by a step of the database clock, in either direction', async () => {
    const nodes = (await fleet(2)) as [TestNode, TestNode]
    const [one, silent] = nodes
    await house().clock.stepDatabase(day)
    await live([one], times.heartbeatMs)
    expect(await stateOf(silent)).toBe('alive')
    await house().clock.stepDatabase(-2 * day)
    await live(nodes, times.heartbeatMs)
    expect(await Promise.all(nodes.map(stateOf))).toEqual(['alive', 'alive'])
    expect(one.steps.map(Math.sign)).toEqual([1, -1])
  })

  test('is dead only when the database clock agrees, whatever the observer thinks', async () => {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    await house().clock.stepDatabase(-times.runLeaseMs / 2)
    await live([one], times.runLeaseMs + times.heartbeatMs)
    expect(await stateOf(silent)).toBe('alive')
    await live([one], times.runLeaseMs / 2)
    expect(await stateOf(silent)).toBe('dead')
  })

  test('survives a verdict that rests on an older look', async () => {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    const row = await processOf(silent.membership.incarnation)
    const declareDead = statement<object, object>(
      new URL('../../src/cluster/postgres/declare-dead.sql', import.meta.url),
    )
    const verdict = { incarnation: silent.membership.incarnation, beat: row?.beat }
    const sentence = (expired_before: number) => one.database.run(declareDead, { ...verdict, expired_before })
    expect(await sentence(row?.beat_at ?? 0)).toHaveLength(0)
    expect(await stateOf(silent)).toBe('alive')
    expect(await sentence((row?.beat_at ?? 0) + 1)).toHaveLength(1)
    expect(await stateOf(silent)).toBe('dead')
  })
})

describe('a look around that fails half way', () => {
  test('does not keep those who left from being told at the next one', async () => {
    const [one, leaving, crashed] = (await fleet(3)) as [TestNode, TestNode, TestNode]
    await crashed.crash()
    await live([one, leaving], reconnectMs - times.heartbeatMs)
    const gone = goneCount(one)
    await leaving.leave()
    const heal = meddleWith(one.database, 'declare-dead', () => Promise.reject(new Error('away')))
    await house().clock.advance(times.heartbeatMs)
    await expect(one.membership.heartbeat()).rejects.toThrow('away')
    expect(gone()).toBe(0)
    heal()
    meddleWith(one.database, 'declare-dead', () => Promise.resolve([]))
    await one.membership.heartbeat()
    expect(gone()).toBe(1)
  })
})

describe('a process that was declared dead', () => {
  async function declaredDead() {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    const oldId = silent.membership.incarnation
    await live([one], times.runLeaseMs)
    expect(await stateOf(silent)).toBe('dead')
    return { one, silent, oldId }
  }

  test('drops what it holds and comes back under a new id', async () => {
    const { one, silent, oldId } = await declaredDead()
    const idsAtLoss: number[] = []
    silent.membership.onLost(() => void idsAtLoss.push(silent.membership.incarnation))
    await silent.membership.heartbeat()
    expect(idsAtLoss).toEqual([oldId])
    expect(silent.membership.incarnation).not.toBe(oldId)
    expect(await stateOf(silent)).toBe('alive')
    await one.membership.heartbeat()
    expect(one.membership.live('worker')).toContain(silent.membership.incarnation)
    expect(one.membership.live('worker')).not.toContain(oldId)
  })

  test('stays dead under its old id, whatever comes from it', async () => {
    const { silent, oldId } = await declaredDead()
    const dead = await processOf(oldId)
    await silent.membership.leave()
    expect(await processOf(oldId)).toEqual(dead)
    await silent.membership.heartbeat()
    expect(await processOf(oldId)).toEqual(dead)
    expect(silent.membership.incarnation).not.toBe(oldId)
  })

  test('keeps trying to come back while the database does not let it', async () => {
    const { silent, oldId } = await declaredDead()
    const stop = meddleWith(silent.database, 'join', () => Promise.reject(new Error('away')))
    await expect(silent.membership.heartbeat()).rejects.toThrow('away')
    expect(silent.membership.incarnation).toBe(oldId)
    stop()
    await silent.membership.heartbeat()
    expect(await stateOf(silent)).toBe('alive')
  })

  test('comes back also when its row is gone altogether', async () => {
    const [one] = (await fleet(1)) as [TestNode]
    const oldId = one.membership.incarnation
    await house().query('DELETE FROM carillon.incarnations')
    await one.membership.heartbeat()
    expect(one.membership.incarnation).not.toBe(oldId)
    expect(await stateOf(one)).toBe('alive')
  })
})

/** Ends the session that holds the lock of a node, as a broken network does, and keeps it from coming back. */
async function endSessionLock(node: TestNode): Promise<void> {
  const { life } = node.membership as unknown as { life: Life }
  await life.drop()
}
