import type { Coordination, Introduction, Lease, Life, LifeSign } from '../../src/cluster/coordination.js'

export const partitionCount = 256
export const everyPartition = Array.from({ length: partitionCount }, (_, partition) => partition)

/** The times that the suite's fleets run with. */
export const times = { heartbeatMs: 250, leaseTtlMs: 10_000, runLeaseMs: 30_000 }

/** What a fire checks, per partition, in carillon.partitions: whatever elects, this fences. */
export interface Fence {
  partition: number
  epoch: number
  owner: number | null
}

/** A store with a clock that the suite turns. Several processes coordinate through it. */
export interface Fleet {
  /** An implementation with connections of its own, as another process has it. */
  process(): Promise<Process>
  /** Lets time pass, for the store and for every process. */
  advance(ms: number): Promise<void>
  /** All partitions as the firing statement would find them now, in order. */
  fences(): Promise<Fence[]>
  /** Postgres loses its primary with the latest commits, among them takings; a standby goes on. */
  failOver(): Promise<void>
  /** How soon the others know of a crash, by whatever hint the store gives. Must be well below the lease time. */
  crashNoticedWithinMs: number
  close(): Promise<void>
}

export interface Process {
  coordination: Coordination
  /** Ends without a word, as a killed process does: every connection breaks. */
  crash(life: Life): Promise<void>
}

const introduction: Introduction = {
  host: 'host',
  pid: 1,
  roles: ['scheduler'],
  tasks: [],
  codeVersion: 'test',
}

/** A process that has joined: the calls of the seam, with its own id filled in. */
export class Member {
  /** Crashed or left. */
  ended = false

  private constructor(
    readonly process: Process,
    public life: Life,
  ) {}

  static async join(fleet: Fleet): Promise<Member> {
    const process = await fleet.process()
    const member = new Member(process, await process.coordination.join(introduction))
    await member.beat()
    return member
  }

  get id(): number {
    return this.life.incarnation
  }

  /** One life sign and one look around; answers who is gone, or null where this one is itself. */
  async beat(sign: Partial<LifeSign> = {}): Promise<readonly number[] | null> {
    const alive = await this.life.beat({ roles: introduction.roles, report: {}, ...sign })
    return alive ? this.life.look() : null
  }

  async rejoin(): Promise<void> {
    await this.life.drop()
    this.life = await this.process.coordination.join(introduction)
    await this.beat()
  }

  live(role = 'scheduler'): number[] {
    return this.life
      .live()
      .filter(({ roles }) => roles.includes(role))
      .map(({ incarnation }) => incarnation)
      .sort((a, b) => a - b)
  }

  take(wanted: readonly number[]): Promise<Lease[]> {
    return this.process.coordination.take(this.id, wanted, times.leaseTtlMs)
  }

  renew(held: readonly Lease[]): Promise<Lease[]> {
    return this.process.coordination.renew(this.id, held, times.leaseTtlMs)
  }

  release(held: readonly Lease[]): Promise<void> {
    return this.process.coordination.release(this.id, held)
  }

  async crash(): Promise<void> {
    this.ended = true
    await this.process.crash(this.life)
  }

  async leave(): Promise<void> {
    this.ended = true
    await this.life.leave()
  }
}

/** Which of these leases the database would let this incarnation fire under. */
export async function fireable(fleet: Fleet, id: number, leases: readonly Lease[]): Promise<number[]> {
  const fences = await fleet.fences()
  return leases
    .filter(({ partition, epoch }) => fences[partition]?.owner === id && fences[partition]?.epoch === epoch)
    .map(({ partition }) => partition)
    .sort((a, b) => a - b)
}

/** Lets time pass, with a life sign of these members at every heartbeat. Answers all that any of them found gone. */
export async function pass(fleet: Fleet, members: readonly Member[], ms: number): Promise<Set<number>> {
  const gone = new Set<number>()
  for (let passed = 0; passed < ms; passed += times.heartbeatMs) {
    await fleet.advance(Math.min(times.heartbeatMs, ms - passed))
    for (const member of members) for (const one of (await member.beat()) ?? []) gone.add(one)
  }
  return gone
}

export function partitionsOf(leases: readonly Lease[]): number[] {
  return leases.map(({ partition }) => partition).sort((a, b) => a - b)
}
