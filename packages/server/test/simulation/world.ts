import type { Delivered } from '../../src/pipeline/execute/delivered.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import type { StopSwitch } from '../../src/targets/stop-switch.js'
import { Dice } from '../kit/dice.js'
import { Checker, type Delivery } from './checker.js'
import { epoch, VirtualTime } from './clock.js'
import { Interleaving } from './interleaving.js'
import { type Expected, partitions, templates } from './jobs.js'
import type { Mutant } from './mutants.js'
import { type Call, Network } from './network.js'
import { type Loop, loops, Process, times } from './process.js'
import { statements } from './statements/index.js'
import { Store } from './store.js'

export interface HistoryOptions {
  mutants?: ReadonlySet<Mutant>
  /** Told of every step, in words. Left out where nobody reads them: they would take most of the time. */
  tell?: (line: string) => void
}

interface OpenDelivery extends Delivery {
  process: Process
  stop: StopSwitch
  finish: (delivered: Delivered) => void
}

const succeeded: Delivered = {
  ...{
    outcome: 'success',
    retryable: false,
    retryAfterMs: null,
    reason: null,
    error: null,
    result: { ok: true },
  },
}
const failed: Delivered = {
  ...succeeded,
  outcome: 'failed',
  retryable: true,
  reason: 'task_error',
  error: 'boom',
}
const stopped: Delivered = { ...failed, reason: 'worker_stopped', error: 'told to stop' }

/** A small fleet over one simulated database: who does what next is thrown by one seed. */
export class World {
  readonly dice: Dice
  readonly time = new VirtualTime()
  readonly store: Store
  readonly network: Network
  readonly checker: Checker
  readonly interleaving: Interleaving
  readonly processes: Process[] = []
  readonly deliveries: OpenDelivery[] = []
  readonly jobs = new Map<number, Expected>()
  /** How often what was done to the fleet. */
  faults = 0
  private readonly mutants: ReadonlySet<Mutant>
  private readonly tell: ((line: string) => void) | undefined
  /** Somebody was told something, and may have more to say. */
  private stirred = false
  private born = 0

  constructor(seed: number, { mutants = new Set(), tell }: HistoryOptions = {}) {
    this.dice = new Dice(seed)
    this.mutants = mutants
    this.tell = tell
    this.store = new Store(statements, this.time.databaseNow, mutants)
    this.network = new Network(this.store)
    this.checker = new Checker(this.store, this.jobs, this.deliveries)
    this.interleaving = new Interleaving(tell)
    this.store.onCommit = (commit) => {
      this.interleaving.committed(commit)
      this.checker.committed(commit)
    }
  }

  say(line: () => string): void {
    this.tell?.(`${Math.round(this.time.now)} ms: ${line()}`)
  }

  /** Jobs as they are after their registration. */
  furnish(jobs: number): void {
    for (const partition of partitions)
      this.store.put('partitions', partition, {
        partition,
        epoch: 0,
        owner: null,
        expires_at: 0,
        taken_at: 0,
      })
    for (let job = 1; job <= jobs; job++) {
      const { ticks, definition } = this.dice.pick(templates)
      const partition = this.dice.pick(partitions)
      const first = ticks[0] as number
      this.jobs.set(job, { job, partition, ticks, definition })
      this.store.put('jobs', job, {
        ...{ job, uuid: `01900000-0000-7000-8000-00000000000${job}`, tenant: 1, partition, state: 'active' },
        ...{ version: 1, route: 1, definition, changed_at: epoch, ended_at: null },
      })
      this.store.put('timers', job, {
        ...{
          job,
          tenant: 1,
          due: first,
          start_at: first,
          rev: 1,
          runs: 0,
          accounted_through: epoch,
          partition,
        },
      })
    }
  }

  /** A process is started. It has joined when its calls have been answered. */
  start(): Process {
    const number = ++this.born
    const name = `p${number}`
    const caller = { name, hears: true }
    const process: Process = new Process({
      ...{ name, mutants: this.mutants, handsOver: this.dice.chance(0.5), random: () => this.dice.random() },
      database: this.network.databaseOf({
        name,
        get hears() {
          return process.hears
        },
        get isGone() {
          return process.isGone
        },
      }),
      clock: this.time.clockOf(caller, number * 1_000_000),
      newIncarnation: () => ++this.incarnations,
      deliver: (...delivery) => this.deliver(...delivery),
      trusts: (of, leases) => this.checker.trusts(of, leases, this.time.databaseNow()),
    })
    this.callers.set(caller, process)
    this.processes.push(process)
    this.say(() => `${name} starts`)
    this.stirred = true
    // Its loops begin when it has joined. One that cannot join ends, and whoever watches over it starts another.
    const joined = () => {
      if (process.state === 'starting') process.state = 'up'
    }
    process.membership.join().then(joined, () => this.kill(process))
    return process
  }

  private incarnations = 0
  private readonly callers = new Map<object, Process>()
  private readonly hears = (caller: object): boolean => this.callers.get(caller)?.hears === true

  /** Whether a pass of this loop could have something to do. */
  hasWork(process: Process, loop: Loop): boolean {
    const { timers, queue, incarnations } = this.store.tables
    if (loop === 'horizon') return false
    if (loop === 'look') return queue.size > 0
    if (loop === 'fire') return some(timers, ({ due }) => due !== null)
    if (loop === 'lease') return some(queue, ({ holder }) => holder === null)
    if (loop === 'reconcile') return some(queue, ({ holder }) => holder === process.membership.incarnation)
    if (loop === 'rescue')
      return some(incarnations, ({ state, rescued_at }) => state !== 'alive' && rescued_at === null)
    return true
  }

  /** The same when nothing goes wrong any more: then life signs and leases can wait until they are needed. */
  needs(process: Process, loop: Loop): boolean {
    const { incarnations, partitions: all } = this.store.tables
    const soon = this.time.databaseNow() + 900
    if (loop === 'beat') {
      // It was declared dead and learns of it only so.
      if (incarnations.get(process.membership.incarnation)?.state !== 'alive') return true
      const living = new Set(this.up.map(({ membership }) => membership.incarnation))
      const silent = soon - times.leaseTtlMs
      return some(
        incarnations,
        ({ incarnation, state, beat_at }) =>
          state === 'alive' && (!living.has(incarnation) || beat_at < silent),
      )
    }
    if (loop === 'own')
      return some(
        all,
        ({ owner, expires_at }) =>
          owner === null || expires_at < soon || incarnations.get(owner)?.state !== 'alive',
      )
    return this.hasWork(process, loop)
  }

  get up(): Process[] {
    return this.processes.filter(({ state }) => state === 'up')
  }

  /** Without a word, as by kill -9. Its session ends at once, or when the server notices. */
  kill(process: Process): void {
    if (process.state === 'gone') return
    process.state = 'gone'
    this.say(() => `${process.name} is killed`)
    for (const call of this.network.calls) if (call.caller.name === process.name) call.forget()
    for (const [caller, of] of this.callers) if (of === process) this.time.forget(caller)
    for (let at = this.deliveries.length - 1; at >= 0; at--)
      if (this.deliveries[at]?.process === process) this.deliveries.splice(at, 1)
    if (this.dice.chance(0.8)) process.options.database.session?.drop()
  }

  leave(process: Process): void {
    this.say(() => `${process.name} leaves`)
    this.stirred = true
    process.leave(() => {
      this.say(() => `${process.name} has left`)
      this.kill(process)
    })
  }

  begin(process: Process, loop: Loop): void {
    if (!process.isIdle(loop)) return
    this.say(() => `${process.name} begins to ${loop}`)
    this.stirred = true
    process.begin(loop)
  }

  /** One of the calls that can move now. */
  someCall(): Call | undefined {
    const { calls } = this.network
    return this.dice.pick(calls.filter((call) => this.network.canMove(call)))
  }

  /** Moves a call on; where it is to go all the way, as far as it gets. */
  move(call: Call, { apart, through }: { apart: boolean; through: boolean }): void {
    const at = call.stage
    this.network.move(call, apart)
    if (at === 'answering') this.stirred = true
    const now = at === 'answering' ? 'answered' : call.stage
    this.say(() => `${call.caller.name}: ${call.statement} ${at} -> ${now}`)
    if (at !== 'answering' && through && this.network.canMove(call))
      this.move(call, { apart: false, through })
  }

  breakSession(process: Process): void {
    this.say(() => `${process.name} loses its session`)
    this.stirred = true
    process.options.database.session?.break()
  }

  /** The caller learns that its connection broke. */
  giveUp(call: Call): void {
    this.stirred = true
    call.giveUp()
  }

  /** Lets whoever was told something do what follows from it. */
  async rest(): Promise<void> {
    if (!this.stirred) return
    this.stirred = false
    await settled()
  }

  /** What is under way between a process and the database, or there, is held up. */
  stall(process: Process): void {
    for (const call of this.network.calls) if (call.caller.name === process.name) call.stalled = true
    this.say(() => `the calls of ${process.name} are held up`)
  }

  unstall(): void {
    for (const call of this.network.calls) call.stalled = false
  }

  /** Lets time pass; timers that come due are heard by whoever can hear. */
  async advance(ms: number): Promise<void> {
    const until = this.time.now + ms
    for (;;) {
      const callback = this.time.takeDue(until, this.hears)
      if (callback === null) break
      callback()
      await settled()
    }
    this.time.now = until
  }

  nextTimerInMs(): number | null {
    const at = this.time.nextAt(this.hears)
    return at === null ? null : Math.max(0, at - this.time.now)
  }

  finish(delivery: OpenDelivery, delivered: Delivered): void {
    this.deliveries.splice(this.deliveries.indexOf(delivery), 1)
    this.stirred = true
    this.say(
      () =>
        `${delivery.process.name}: ${delivery.run.job}@${delivery.run.due - epoch} ends: ${delivered.outcome}`,
    )
    delivery.finish(delivered)
  }

  /** Somehow: what was told to stop may obey. */
  finishSomehow(delivery: OpenDelivery): void {
    const chance = this.dice.random()
    if (delivery.stop.stopped && chance < 0.5) this.finish(delivery, stopped)
    else this.finish(delivery, chance < 0.6 ? succeeded : { ...failed, retryable: chance < 0.9 })
  }

  finishWell(delivery: OpenDelivery): void {
    this.finish(delivery, succeeded)
  }

  private deliver(process: Process, run: LeasedRun, stop: StopSwitch): Promise<Delivered> {
    return new Promise((finish) => {
      const delivery = { process, run, stop, finish }
      this.say(() => `${process.name}: ${run.job}@${run.due - epoch} starts, attempt ${run.attempt}`)
      this.checker.started(delivery, this.time.databaseNow())
      this.interleaving.started(process.name, run)
      this.deliveries.push(delivery)
    })
  }

  /** Whether everything was worked off that the jobs ever had to do. */
  get isDone(): boolean {
    const { timers, queue, incarnations } = this.store.tables
    if (queue.size > 0 || this.network.calls.length > 0 || this.deliveries.length > 0) return false
    for (const { due } of timers.values()) if (due !== null) return false
    for (const { state, rescued_at } of incarnations.values())
      if (state !== 'alive' && rescued_at === null) return false
    return this.partitionsHaveOwners()
  }

  private partitionsHaveOwners(): boolean {
    const { partitions: all, incarnations } = this.store.tables
    for (const { owner } of all.values())
      if (owner === null || incarnations.get(owner)?.state !== 'alive') return false
    return true
  }
}

function some<Row>(rows: ReadonlyMap<unknown, Row>, matches: (row: Row) => boolean): boolean {
  for (const row of rows.values()) if (matches(row)) return true
  return false
}

export { loops }

const ready = Promise.resolve()
/** More than any answer needs to come to whoever waits for it: through a dozen functions, each awaiting the next. */
const hops = 24

/**
 * Lets everything run that is ready to. Nothing in a history waits for the event loop: its promises are all there is, and they
 * are settled in the same order every time.
 */
async function settled(): Promise<void> {
  for (let hop = 0; hop < hops; hop++) await ready
}
