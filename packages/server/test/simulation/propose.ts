import { type OwnedPartition, type Receiver, fireParams } from '../../src/pipeline/fire/fire-statement.js'
import { isPlain, plainParams } from '../../src/pipeline/fire/fire-plain.js'
import { type DueTimer, planTick } from '../../src/pipeline/fire/plan.js'
import type { Dice } from '../kit/dice.js'
import { partitions } from './jobs.js'
import type { QueueRow } from './rows.js'
import type { StatementName } from './statements/index.js'
import type { Store } from './store.js'

export interface Proposal {
  name: StatementName
  params: object
}

/** So that most of what is proposed is about somebody who lives. */
const mostIncarnations = 6
const ahead = { ahead_ms: 1_000, most_per_partition: 500 }

/** Statements as the services could send them by what they know, which may be of long ago. */
export class Proposals {
  /** Leases and runs that were seen at some time. */
  private readonly leases: { owner: number; partition: number; epoch: number }[] = []
  private readonly held: QueueRow[] = []

  constructor(
    private readonly store: Store,
    private readonly dice: Dice,
  ) {}

  /** Remembers what is there now. */
  look(): void {
    const { partitions: owned, queue } = this.store.tables
    for (const { owner, partition, epoch } of owned.values())
      if (
        owner !== null &&
        !this.leases.some((lease) => lease.partition === partition && lease.epoch === epoch)
      )
        this.leases.push({ owner, partition, epoch })
    for (const row of queue.values())
      if (row.token !== null && !this.held.some(({ token }) => token === row.token)) this.held.push(row)
  }

  any(): Proposal {
    const { dice } = this
    const kinds: readonly (readonly [number, () => Proposal | null])[] = [
      ...([
        [3, () => this.join()],
        [4, () => this.heartbeat()],
        [1, () => this.ending()],
      ] as const),
      ...([
        [6, () => this.owning()],
        [3, () => this.looking()],
        [9, () => this.firing()],
      ] as const),
      ...([
        [8, () => this.leasing()],
        [9, () => this.closing()],
        [5, () => this.recovering()],
      ] as const),
    ]
    for (;;) {
      const proposal = dice.weighted(kinds)()
      if (proposal !== null) return proposal
    }
  }

  private someone(): number {
    const all = [...this.store.tables.incarnations.keys()] as number[]
    return all.length === 0 ? 99 : this.dice.pick(all)
  }

  private join(): Proposal | null {
    const incarnation = this.store.tables.incarnations.size + 1
    if (incarnation > mostIncarnations) return null
    const roles = this.dice.chance(0.9) ? ['scheduler', 'worker'] : ['scheduler']
    return {
      name: 'join',
      params: {
        incarnation,
        host: 'here',
        pid: 1,
        roles,
        tasks: ['task'],
        commands: false,
        code_version: 'x',
      },
    }
  }

  private heartbeat(): Proposal {
    const session_lock = this.dice.chance(0.5)
    return {
      name: 'heartbeat',
      params: { incarnation: this.someone(), session_lock, roles: ['scheduler', 'worker'], report: '{}' },
    }
  }

  private ending(): Proposal {
    const incarnation = this.someone()
    const beat = this.beatOf(incarnation)
    const name = this.dice.pick(['declare-dead', 'declare-dead', 'disown', 'leave', 'peers'] as const)
    if (name === 'peers') return { name, params: {} }
    if (name === 'leave') return { name, params: { incarnation } }
    if (name === 'disown') {
      const other = this.someone()
      if (other === incarnation || this.dice.chance(0.5))
        return { name, params: { incarnations: [incarnation], beats: [beat] } }
      return {
        name,
        params: { incarnations: [incarnation, other], beats: [beat, this.beatOf(other)] },
      }
    }
    const expired_before = this.dice.chance(0.5) ? null : this.store.now() - this.dice.between(-1, 500)
    return { name, params: { incarnation, beat, expired_before } }
  }

  /** As an observer saw it, who may have missed the last. */
  private beatOf(incarnation: number): number {
    return (this.store.tables.incarnations.get(incarnation)?.beat ?? 0) - (this.dice.chance(0.3) ? 1 : 0)
  }

  private owning(): Proposal {
    const { dice } = this
    const incarnation = this.someone()
    const mine = this.leases.filter(({ owner }) => owner === incarnation || dice.chance(0.1))
    const held = { partitions: mine.map((one) => one.partition), epochs: mine.map(({ epoch }) => epoch) }
    const name = dice.pick([
      'take-partitions',
      'take-partitions',
      'renew-partitions',
      'release-partitions',
    ] as const)
    if (name === 'take-partitions')
      return {
        name,
        params: { incarnation, wanted: dice.some(partitions, 0.7), ttl_ms: dice.between(100, 2_000) },
      }
    if (name === 'renew-partitions') return { name, params: { incarnation, ...held, ttl_ms: 2_000 } }
    return { name, params: { incarnation, ...held } }
  }

  private looking(): Proposal {
    const { dice } = this
    const mine = dice.some(partitions, 0.8)
    const froms = mine.map(() => (dice.chance(0.7) ? 0 : this.store.now() - dice.between(0, 3_000)))
    const jobs = mine.map(() => dice.between(0, 3))
    const name = dice.pick(['scan-due', 'load-horizon', 'changed', 'definitions', 'read-timers'] as const)
    if (name === 'scan-due')
      return { name, params: { partitions: mine, from_starts: froms, from_jobs: jobs, ...ahead } }
    if (name === 'load-horizon')
      return {
        name,
        params: {
          partitions: mine,
          after_starts: froms,
          after_jobs: jobs,
          horizon_ms: 4_000,
          most_per_partition: 10,
        },
      }
    if (name === 'changed')
      return {
        name,
        params: { partitions: mine, since: 0, after: 0, horizon_ms: 4_000, most: dice.between(1, 5) },
      }
    if (name === 'definitions')
      return { name, params: { jobs: [1, 2, 77], versions: [1, dice.between(1, 2), 1] } }
    return { name, params: this.timersWanted() }
  }

  private timersWanted() {
    const timers = [...this.store.tables.timers.values()].filter(({ start_at }) => start_at !== null)
    const seen = timers.map((timer) => ({
      ...timer,
      start_at: (timer.start_at as number) + (this.dice.chance(0.1) ? 1 : 0),
    }))
    return {
      jobs: seen.map(({ job }) => job),
      partitions: seen.map(({ partition }) => partition),
      start_ats: seen.map(({ start_at }) => start_at),
    }
  }

  /** By what was read just now, planned as the engine plans, under a lease that may be over. */
  private firing(): Proposal | null {
    const { dice, store } = this
    const all = this.timersWanted()
    const timers = store.run('read-timers', all) as DueTimer[]
    const owner = this.someone()
    const owned = new Map<number, OwnedPartition>()
    for (const lease of this.leases)
      if (lease.owner === owner || dice.chance(0.1)) owned.set(lease.partition, lease)
    const terms = { lateToleranceMs: 3_000, overloaded: false, windowFactor: 1 }
    const ticks = dice
      .some(timers, 0.8)
      .filter(({ start_at, now }) => start_at <= now + 1_000)
      .map((timer) => planTick(dice.chance(0.9) ? timer : { ...timer, rev: timer.rev + 1 }, terms))
    if (ticks.length === 0) return null
    const receiver: Receiver | null = dice.chance(0.5)
      ? { holder: this.someone(), room: ticks.length, tasks: ['task'], commands: false }
      : null
    const plain = ticks.filter(isPlain)
    if (plain.length > 0 && dice.chance(0.6))
      return { name: 'fire-plain', params: plainParams(owner, [...owned.values()], plain, receiver) }
    return { name: 'fire', params: fireParams(owner, [...owned.values()], ticks, receiver) }
  }

  private leasing(): Proposal {
    const { dice } = this
    const name = dice.pick(['lanes', 'lease', 'lease', 'lease', 'held', 'still-held', 'hand-back'] as const)
    const holder = this.someone()
    const from = dice.chance(0.8) ? 0 : this.store.now() - dice.between(0, 2_000)
    const freed = dice.some([1, 2, 3], 0.3)
    const lane = dice.chance(0.9)
      ? { routes: [1], ready_froms: [from], waiting_froms: [from], freed }
      : { routes: [], ready_froms: [], waiting_froms: [], freed }
    if (name === 'held') return { name, params: { holder } }
    if (name === 'lanes')
      return { name, params: { tasks: ['task'], commands: false, ahead_ms: 1_000, many: 100, from, ...lane } }
    if (name === 'lease')
      return {
        name,
        params: {
          ...{ holder, remote: false, ahead_ms: 1_000, step_ms: 60_000, most: 100, depth: 100, ...lane },
          ...{ tenants: [], accounts: [], virtual: 0 },
        },
      }
    const runs = this.runs()
    return { name, params: name === 'hand-back' ? { ...runs, parked_until: 9e12 } : runs }
  }

  /** Of one holder; some that were given up long ago, some under another's name. */
  private runs() {
    const { dice } = this
    const present = [...this.store.tables.queue.values()].filter(({ token }) => token !== null)
    const holder = dice.chance(0.8) ? (dice.pick([...present, ...this.held])?.holder ?? 99) : this.someone()
    const rows = dice
      .some(this.held, 0.3)
      .concat(present.filter((row) => row.holder === holder && dice.chance(0.8)))
    const runs = [...new Map(rows.map((row) => [row.token, row])).values()]
    return {
      ...{ holder, dues: runs.map(({ due }) => due), jobs: runs.map(({ job }) => job) },
      ...{
        origins: runs.map(() => 0),
        seqs: runs.map(() => 0),
        partitions: runs.map(({ partition }) => partition),
      },
      tokens: runs.map(({ token }) => token as number),
    }
  }

  private closing(): Proposal | null {
    const { dice } = this
    const { holder, ...runs } = this.runs()
    if (runs.dues.length === 0) return null
    const now = this.store.now()
    const ended = {
      started_ats: runs.dues.map(() => now - 5),
      finished_ats: runs.dues.map(() => now),
      results: runs.dues.map(() => (dice.chance(0.5) ? '{"ok": true}' : null)),
    }
    const rows = runs.tokens.map((token) => this.held.find((row) => row.token === token))
    const name = dice.pick(['close', 'close-plain', 'note-stale'] as const)
    if (name === 'close-plain') {
      const places = rows.map((row) => row?.place ?? '')
      return { name, params: { holder, places, tokens: runs.tokens, ...ended } }
    }
    const errors = runs.dues.map(() => (dice.chance(0.5) ? 'boom' : null))
    if (name === 'note-stale')
      return { name, params: { holder, ...runs, ...ended, errors, ...this.known(rows) } }
    const retries = rows.map((row) => row !== undefined && row.attempt < row.max_attempts && dice.chance(0.5))
    return {
      name,
      params: {
        ...{ holder, ...runs, ...ended, errors, parked_until: 9e12 },
        outcomes: retries.map((again) => (again ? 'failed' : dice.pick(['success', 'dead', 'cancelled']))),
        retry_ats: retries.map((again) => (again ? now + dice.between(0, 500) : null)),
        reasons: runs.dues.map(() => (dice.chance(0.5) ? 'task_error' : null)),
      },
    }
  }

  private known(rows: readonly (QueueRow | undefined)[]) {
    return {
      ...{ tenants: rows.map(() => 1), versions: rows.map(() => 1), rounds: rows.map(() => 0) },
      ...{ epochs: rows.map((row) => row?.epoch ?? 0), attempts: rows.map((row) => row?.attempt ?? 1) },
    }
  }

  private recovering(): Proposal {
    const name = this.dice.pick(['orphaning', 'rescue', 'rescue', 'rescued'] as const)
    const incarnation = this.someone()
    if (name === 'orphaning') return { name, params: {} }
    if (name === 'rescued') return { name, params: { incarnation, remote: false } }
    return { name, params: { incarnation, remote: false, most: 1_000, parked_until: 9e12 } }
  }
}
