import { describe, expect, test } from 'vitest'
import { statement } from '../../src/db/statement.js'
import { meddleWith, pretendServerAge } from '../kit/meddle.js'
import { usePeers } from '../kit/peers.js'
import { type TestNode, times } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const { processOf, stateOf, fleet, partitionsOf, live, goneCount, endSessionLock } = usePeers(house)
const day = 86_400_000
const reconnectMs = 1_000

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

  test('with others frees all their partitions at once, of whom none gave a life sign meanwhile', async () => {
    const [one, ...others] = (await fleet(4)) as [TestNode, TestNode, TestNode, TestNode]
    for (const node of others) await node.ownership.runOnce()
    const [first, slow, last] = others
    const owned = await partitionsOf(slow)
    await Promise.all([first.crash(), endSessionLock(slow), last.crash()])
    let statements = 0
    meddleWith(one.database, 'disown', async (send) => {
      statements += 1
      await slow.membership.heartbeat()
      return send()
    })
    await live([one], 2 * times.heartbeatMs)
    expect(statements).toBe(1)
    expect(await Promise.all(others.map(partitionsOf))).toEqual([0, owned, 0])
    expect(owned).toBeGreaterThan(0)
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
