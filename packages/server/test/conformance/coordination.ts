import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { everyPartition, type Fleet, fireable, Member, partitionsOf, pass, times } from './fleet.js'
import { randomFleetTests } from './random-fleet.js'

/**
 * What every implementation of the seam `coordination` promises. Called by a test file per implementation, with a way
 * to open a fleet over an empty store.
 */
export function coordinationConformance(open: () => Promise<Fleet>): void {
  let fleet: Fleet
  beforeEach(async () => {
    fleet = await open()
  })
  afterEach(() => fleet.close())

  /** Members that know of each other's latest life sign. */
  async function members(count: number): Promise<Member[]> {
    const joined: Member[] = []
    for (let at = 0; at < count; at++) joined.push(await Member.join(fleet))
    for (const member of [...joined].reverse()) await member.beat()
    return joined
  }
  const two = async () => (await members(2)) as [Member, Member]
  const some = [3, 77, 255]

  describe('membership', () => {
    test('a process is live to itself at once, and to the others at their next look', async () => {
      const first = await Member.join(fleet)
      const second = await Member.join(fleet)
      const both = [first.id, second.id].sort((a, b) => a - b)
      expect(second.live()).toEqual(both)
      expect(first.live()).toEqual([first.id])
      expect(await first.beat()).toEqual([])
      expect(first.live()).toEqual(both)
    })

    test('the roles it can do now are those of its last life sign', async () => {
      const [one, other] = await two()
      await other.beat({ roles: ['worker'] })
      await one.beat()
      expect(one.live()).toEqual([one.id])
      expect(one.live('worker')).toEqual([other.id])
    })

    test('a good-bye is known at the next look, once to each', async () => {
      const [one, another, leaving] = (await members(3)) as [Member, Member, Member]
      await leaving.leave()
      for (const member of [one, another]) {
        expect(await member.beat()).toEqual([leaving.id])
        expect(await member.beat()).toEqual([])
        expect(member.live()).not.toContain(leaving.id)
      }
    })

    test('a crash is noticed by a hint, long before any lease ends, by all', async () => {
      const [one, another, crashed] = (await members(3)) as [Member, Member, Member]
      expect(fleet.crashNoticedWithinMs).toBeLessThan(times.leaseTtlMs / 4)
      await crashed.crash()
      await pass(fleet, [one, another], fleet.crashNoticedWithinMs + times.heartbeatMs)
      for (const member of [one, another])
        expect(member.live()).toEqual([one.id, another.id].sort((a, b) => a - b))
    })

    test('one that hangs is counted on for a lease time and no longer', async () => {
      const [one, hung] = await two()
      await pass(fleet, [one], times.leaseTtlMs - times.heartbeatMs)
      expect(one.live()).toContain(hung.id)
      await pass(fleet, [one], times.heartbeatMs)
      expect(one.live()).toEqual([one.id])
    })

    test('one that hangs is gone after the run lease, not before, and is told so when it wakes', async () => {
      const [one, hung] = await two()
      expect(await pass(fleet, [one], times.runLeaseMs - times.heartbeatMs)).toEqual(new Set())
      expect(await pass(fleet, [one], times.heartbeatMs)).toEqual(new Set([hung.id]))
      expect(await hung.beat()).toBeNull()
    })

    test('one that hung for less comes back as who it was', async () => {
      const [one, hung] = await two()
      await pass(fleet, [one], 2 * times.leaseTtlMs)
      expect(await hung.beat()).not.toBeNull()
      await one.beat()
      expect(one.live()).toContain(hung.id)
    })

    test('those that give life signs are never found gone', async () => {
      const all = await members(3)
      expect(await pass(fleet, all, 2 * times.runLeaseMs)).toEqual(new Set())
      expect(all.every((member) => member.live().length === 3)).toBe(true)
    })

    test('gone once is gone for ever: neither a life sign nor a good-bye brings an id back', async () => {
      const [one, hung] = await two()
      await pass(fleet, [one], times.runLeaseMs)
      expect(await hung.beat()).toBeNull()
      await hung.leave()
      expect(await hung.beat()).toBeNull()
      await one.beat()
      expect(one.live()).toEqual([one.id])
    })

    test('a rejoin has a new id and none of the old leases', async () => {
      const [one, hung] = await two()
      const old = { id: hung.id, leases: await hung.take(some) }
      await pass(fleet, [one], times.runLeaseMs)
      await hung.rejoin()
      expect(hung.id).not.toBe(old.id)
      expect(await hung.renew(old.leases)).toEqual([])
      expect(await fireable(fleet, hung.id, old.leases)).toEqual([])
      await one.beat()
      expect(one.live()).toEqual([one.id, hung.id].sort((a, b) => a - b))
    })
  })

  describe('taking', () => {
    test('gives every free partition, and what it gives can be fired under', async () => {
      const [one] = (await members(1)) as [Member]
      const leases = await one.take(everyPartition)
      expect(partitionsOf(leases)).toEqual(everyPartition)
      expect(await fireable(fleet, one.id, leases)).toEqual(everyPartition)
    })

    test('takes nothing that was not asked for', async () => {
      const [one] = (await members(1)) as [Member]
      expect(partitionsOf(await one.take(some))).toEqual(some)
      const owned = (await fleet.fences()).flatMap(({ partition, owner }) =>
        owner === one.id ? partition : [],
      )
      expect(owned).toEqual(some)
    })

    test('takes nothing from a living peer', async () => {
      const [one, other] = await two()
      const leases = await one.take(some)
      expect(await other.take(some)).toEqual([])
      expect(await fireable(fleet, one.id, leases)).toEqual(some)
    })

    test('by two at once gives each partition to one of them', async () => {
      const [one, other] = await two()
      for (let round = 0; round < 5; round++) {
        const [mine, its] = await Promise.all([one.take(everyPartition), other.take(everyPartition)])
        expect(partitionsOf([...mine, ...its])).toEqual(everyPartition)
        expect(await fireable(fleet, one.id, mine)).toEqual(partitionsOf(mine))
        expect(await fireable(fleet, other.id, its)).toEqual(partitionsOf(its))
        await Promise.all([one.release(mine), other.release(its)])
      }
    })

    test('takes what a peer held that is gone, before its leases end', async () => {
      const [one, crashed] = await two()
      const old = await crashed.take(some)
      await crashed.crash()
      expect(await one.take(some)).toEqual([])
      await pass(fleet, [one], fleet.crashNoticedWithinMs + times.heartbeatMs)
      const taken = await one.take(some)
      expect(partitionsOf(taken)).toEqual(some)
      expect(await fireable(fleet, crashed.id, old)).toEqual([])
    })

    test('takes what a hung peer held once its lease has ended, not before', async () => {
      const [one, hung] = await two()
      const old = await hung.take(some)
      await pass(fleet, [one], times.leaseTtlMs - times.heartbeatMs)
      expect(await one.take(some)).toEqual([])
      expect(await fireable(fleet, hung.id, old)).toEqual(some)
      await pass(fleet, [one], times.heartbeatMs)
      expect(partitionsOf(await one.take(some))).toEqual(some)
      expect(await fireable(fleet, hung.id, old)).toEqual([])
    })

    test('of one’s own, where an answer was lost, gives a new epoch and ends the old one', async () => {
      const [one] = (await members(1)) as [Member]
      const lost = await one.take(some)
      const again = await one.take(some)
      expect(partitionsOf(again)).toEqual(some)
      expect(await fireable(fleet, one.id, lost)).toEqual([])
      expect(await fireable(fleet, one.id, again)).toEqual(some)
    })

    test('in the name of an incarnation that is gone gives nothing', async () => {
      const [one, hung] = await two()
      await pass(fleet, [one], times.runLeaseMs)
      expect(await hung.take(some)).toEqual([])
      const left = await Member.join(fleet)
      await left.leave()
      expect(await left.take(some)).toEqual([])
      expect(partitionsOf(await one.take(some))).toEqual(some)
    })
  })

  describe('renewing', () => {
    test('keeps a lease for as long as it is done, under the same epoch', async () => {
      const [one, other] = await two()
      const leases = await one.take(some)
      for (let round = 0; round < 8; round++) {
        await pass(fleet, [one, other], times.leaseTtlMs / 2)
        expect(partitionsOf(await one.renew(leases))).toEqual(some)
        expect(await other.take(some)).toEqual([])
      }
      expect(await fireable(fleet, one.id, leases)).toEqual(some)
    })

    test('counts from the renewal', async () => {
      const [one, other] = await two()
      const leases = await one.take(some)
      await pass(fleet, [one, other], times.leaseTtlMs / 2)
      await one.renew(leases.slice(0, 1))
      await pass(fleet, [one, other], times.leaseTtlMs / 2)
      const kept = leases[0]?.partition ?? -1
      expect(partitionsOf(await other.take(some))).toEqual(some.filter((partition) => partition !== kept))
    })

    test('after the lease has ended is refused, though nobody has taken it', async () => {
      const [one] = (await members(1)) as [Member]
      const leases = await one.take(some)
      await pass(fleet, [one], times.leaseTtlMs)
      expect(await one.renew(leases)).toEqual([])
    })

    test('after a takeover is refused, and so is the old epoch of one’s own', async () => {
      const [one, other] = await two()
      const old = await one.take(some)
      await pass(fleet, [one, other], times.leaseTtlMs)
      await other.take(some)
      expect(await one.renew(old)).toEqual([])
      const mine = await one.take([9])
      await one.take([9])
      expect(await one.renew(mine)).toEqual([])
    })

    test('of another’s lease, or in the name of an incarnation that is gone, is refused', async () => {
      const [one, other] = await two()
      const leases = await one.take(some)
      expect(await other.renew(leases)).toEqual([])
      await one.leave()
      expect(await one.renew(leases)).toEqual([])
    })
  })

  describe('releasing', () => {
    test('hands over at once, under a higher epoch', async () => {
      const [one, other] = await two()
      const old = await one.take(some)
      await one.release(old)
      expect(await fireable(fleet, one.id, old)).toEqual([])
      const fresh = await other.take(some)
      expect(partitionsOf(fresh)).toEqual(some)
      for (const { partition, epoch } of fresh)
        expect(epoch).toBeGreaterThan(old.find((lease) => lease.partition === partition)?.epoch ?? Infinity)
    })

    test('of an old epoch, or of another’s lease, gives nothing back', async () => {
      const [one, other] = await two()
      const old = await one.take(some)
      const fresh = await one.take(some)
      await one.release(old)
      await other.release(fresh)
      expect(await fireable(fleet, one.id, fresh)).toEqual(some)
      expect(await other.take(some)).toEqual([])
    })

    test('is also what a good-bye amounts to', async () => {
      const [one, leaving] = await two()
      await leaving.take(some)
      await leaving.leave()
      expect(partitionsOf(await one.take(some))).toEqual(some)
    })
  })

  describe('epochs', () => {
    test('grow with every change of hands', async () => {
      const [one, other] = await two()
      let last = 0
      for (let round = 0; round < 6; round++) {
        const [lease] = await (round % 2 === 0 ? one : other).take([5])
        expect(lease?.epoch).toBeGreaterThan(last)
        last = lease?.epoch ?? 0
        await (round % 2 === 0 ? one : other).release(lease === undefined ? [] : [lease])
      }
    })

    test('after a failover are above all that were ever given out, also those that it lost', async () => {
      const [one, other] = await two()
      let given: number[] = []
      for (let round = 0; round < 5; round++) given = (await one.take(some)).map(({ epoch }) => epoch)
      await fleet.failOver()
      await pass(fleet, [one, other], times.leaseTtlMs)
      const fresh = await other.take(some)
      expect(partitionsOf(fresh)).toEqual(some)
      for (const { epoch } of fresh) expect(epoch).toBeGreaterThan(Math.max(...given))
    })
  })

  randomFleetTests(() => fleet)
}
