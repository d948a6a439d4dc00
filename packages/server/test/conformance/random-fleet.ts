import { describe, expect, test } from 'vitest'
import type { Lease } from '../../src/cluster/coordination.js'
import { type Fleet, Member, times } from './fleet.js'

const steps = 60
/** Few, so that members are in each other's way. */
const contested = [0, 1, 2, 100, 254, 255]

interface Dice {
  action: number
  partitions: ReadonlySet<number>
}

interface Trusted {
  member: Member
  id: number
  lease: Lease
  until: number
}

/** Several members that do anything at any time, and what each of them may believe at every moment. */
class RandomFleet {
  private members: Member[] = []
  private asleep = new Set<Member>()
  private trusted: Trusted[] = []
  private readonly highest = new Map<number, number>()
  private readonly granted = new Set<string>()
  private now = 0
  private state: number
  /** How often each thing came about: a run in which nothing happens would prove nothing. */
  readonly counts = { granted: 0, renewed: 0, crashed: 0, rejoined: 0 }

  constructor(
    private readonly fleet: Fleet,
    seed: number,
  ) {
    this.state = seed
  }

  async run(): Promise<void> {
    for (let at = 0; at < 4; at++) this.members.push(await Member.join(this.fleet))
    for (let step = 0; step < steps; step++) {
      const before = new Map(this.highest)
      // All at once: the store alone decides who comes first.
      const awake = this.members.filter((member) => !this.asleep.has(member))
      const plans = awake.map((member) => ({ member, dice: this.dice() }))
      const grants = (await Promise.all(plans.map(({ member, dice }) => this.act(member, dice)))).flat()
      for (const lease of grants) this.checkGrant(lease, before)
      await this.checkTrust()
      await this.turn()
    }
  }

  /** One thing that a member does. Answers what it was granted. */
  private async act(member: Member, dice: Dice): Promise<Lease[]> {
    if ((await member.beat()) === null) {
      this.trusted = this.trusted.filter((trust) => trust.member !== member)
      await member.rejoin()
      this.counts.rejoined += 1
      return []
    }
    const { id } = member
    const sentAt = this.now
    const held = this.trusted.filter((trust) => trust.member === member).map(({ lease }) => lease)
    switch (dice.action) {
      case 0: {
        const some = held.filter(({ partition }) => dice.partitions.has(partition))
        this.forget(member, some)
        await member.release(some)
        return []
      }
      case 1: {
        const renewed = await member.renew(held)
        this.counts.renewed += renewed.length
        this.forget(member, held)
        this.trust(member, id, renewed, sentAt)
        return []
      }
      default: {
        const mine = new Set(held.map(({ partition }) => partition))
        const taken = await member.take([...dice.partitions].filter((partition) => !mine.has(partition)))
        this.trust(member, id, taken, sentAt)
        return taken
      }
    }
  }

  /** Time passes; now and then somebody crashes, falls asleep or wakes up. */
  private async turn(): Promise<void> {
    const ms = [0, times.heartbeatMs, 1_000, 3_000, times.leaseTtlMs][Math.floor(this.random() * 5)] ?? 0
    await this.fleet.advance(ms)
    this.now += ms
    this.trusted = this.trusted.filter(({ until }) => until > this.now)
    const one = this.members[Math.floor(this.random() * this.members.length)]
    if (one === undefined) return
    const chance = this.random()
    if (chance < 0.1) {
      this.members = this.members.filter((member) => member !== one)
      this.asleep.delete(one)
      this.trusted = this.trusted.filter(({ member }) => member !== one)
      await one.crash()
      this.counts.crashed += 1
      this.members.push(await Member.join(this.fleet))
    } else if (chance < 0.25) this.asleep.add(one)
    else this.asleep.delete(one)
  }

  private trust(member: Member, id: number, leases: readonly Lease[], sentAt: number): void {
    for (const lease of leases) this.trusted.push({ member, id, lease, until: sentAt + times.leaseTtlMs })
  }

  private forget(member: Member, leases: readonly Lease[]): void {
    const gone = new Set(leases.map(({ partition }) => partition))
    this.trusted = this.trusted.filter((trust) => trust.member !== member || !gone.has(trust.lease.partition))
  }

  private checkGrant(lease: Lease, before: ReadonlyMap<number, number>): void {
    const { partition, epoch } = lease
    this.counts.granted += 1
    expect(epoch, `epoch of partition ${partition}`).toBeGreaterThan(before.get(partition) ?? 0)
    expect(this.granted, 'epochs given out before').not.toContain(`${partition}/${epoch}`)
    this.granted.add(`${partition}/${epoch}`)
    this.highest.set(partition, Math.max(epoch, this.highest.get(partition) ?? 0))
  }

  /** Whoever may believe in a lease is let fire by the database; so nobody else may believe in the same. */
  private async checkTrust(): Promise<void> {
    const fences = await this.fleet.fences()
    for (const { id, lease } of this.trusted) {
      expect(fences[lease.partition]).toMatchObject({ owner: id, epoch: lease.epoch })
    }
    const partitions = this.trusted.map(({ lease }) => lease.partition)
    expect(new Set(partitions).size).toBe(partitions.length)
  }

  /** Thrown before anything is sent: what a seed stands for must not depend on whose answer is first. */
  private dice(): Dice {
    return {
      action: Math.floor(this.random() * 4),
      partitions: new Set(contested.filter(() => this.random() < 0.6)),
    }
  }

  private random(): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0
    return this.state / 2 ** 32
  }
}

export function randomFleetTests(fleet: () => Fleet): void {
  describe('whatever several processes do at once', () => {
    test.each([11, 22, 33, 44, 55])(
      'a lease that may be trusted is the one that fences, and epochs are never given out twice (seed %i)',
      async (seed) => {
        const random = new RandomFleet(fleet(), seed)
        await random.run()
        expect(random.counts.granted).toBeGreaterThan(20)
        expect(random.counts.renewed).toBeGreaterThan(5)
        expect(random.counts.crashed).toBeGreaterThan(1)
      },
    )
  })
}
