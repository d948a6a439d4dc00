import type { JobInput } from '@carillon/contract'
import type { Delivered } from '../../src/pipeline/execute/worker.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import type { Rule } from './account.js'
import { resultOf } from './attempts.js'
import { failed, type NodeOptions, succeeded, type TestNode } from './test-house.js'
import { until } from './until.js'
import type { House } from './use-house.js'
import { utcText } from '../../src/time/iso-text.js'

/** A job of the simulation, with all that is needed to say which ticks it must have accounted for. */
export interface SimulatedJob {
  key: number
  job_id: string
  rule: Rule
  from: number
  deletedAt: number | null
}

interface OpenDelivery {
  node: TestNode
  run: LeasedRun
  finish: (delivered: Delivered) => void
}

type Action = (simulation: Simulation) => Promise<void>

/** What can happen, and how often in relation to the rest. */
const actions: [weight: number, name: string, action: Action][] = [
  [14, 'advance', (s) => s.house.clock.advance(s.between(20, 2_500))],
  [1, 'outage', (s) => s.house.clock.advance(s.between(15_000, 70_000))],
  [10, 'beat', async (s) => s.awake()?.beat()],
  [12, 'fire', async (s) => void (await s.awake()?.firing.runOnce())],
  [
    3,
    'fire all at once',
    async (s) => void (await Promise.all(s.nodes.map((node) => node.firing.runOnce()))),
  ],
  [8, 'catch up', async (s) => void (await s.awake()?.catchUp.runOnce())],
  [
    2,
    'catch up and fire at once',
    async (s) =>
      void (await Promise.all(s.nodes.flatMap((node) => [node.catchUp.runOnce(), node.firing.runOnce()]))),
  ],
  [4, 'foresee', async (s) => void (await s.awake()?.tier.horizon.refresh())],
  [12, 'lease', async (s) => void (await s.awake()?.worker.leaseOnce())],
  [
    3,
    'lease all at once',
    async (s) => void (await Promise.all(s.nodes.map((node) => node.worker.leaseOnce()))),
  ],
  [10, 'pass', (s) => s.pass()],
  [6, 'look', async (s) => s.finishing(s.awake()?.worker.lookOnce())],
  [16, 'finish a run', (s) => s.finishOne()],
  [4, 'rescue', async (s) => s.awake()?.rescue.runOnce()],
  [
    2,
    'rescue all at once',
    async (s) => void (await Promise.all(s.nodes.map((node) => node.rescue.runOnce()))),
  ],
  [2, 'crash', (s) => s.crash()],
  [1, 'leave', (s) => s.leave()],
  [2, 'fall asleep', (s) => s.sleep()],
  [2, 'late result', (s) => s.lateResult()],
  [2, 'register', (s) => s.register()],
  [1, 'delete', (s) => s.deleteOne()],
  [1, 'delete while firing', (s) => s.deleteWhileFiring()],
  [1, 'upkeep', async (s) => void (await s.awake()?.upkeep.runOnce())],
]

const schedules = ['@every 3s', '*/5 * * * * *', '@every 7s', '@every 20s', '* * * * * *', '*/15 * * * * *']

/** A small fleet and everything that can happen to it, by chance and by one seed. */
export class Simulation {
  nodes: TestNode[] = []
  readonly jobs: SimulatedJob[] = []
  readonly faults: string[] = []
  readonly story: string[] = []
  private readonly open: OpenDelivery[] = []
  private readonly lost: OpenDelivery[] = []
  private readonly tokens = new Set<number>()
  private recovered = 0
  private readonly asleepUntil = new Map<TestNode, number>()
  private state: number

  constructor(
    readonly house: House,
    seed: number,
  ) {
    this.state = seed >>> 0
  }

  get deliveries(): number {
    return this.tokens.size
  }

  /** How many ticks were caught up. */
  get caughtUp(): number {
    return this.recovered
  }

  /** mulberry32: small, and the same on every machine. */
  random(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  between(low: number, high: number): number {
    return low + Math.floor(this.random() * (high - low + 1))
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.random() * items.length)]
  }

  /** A node that does something now; one that sleeps does nothing until it wakes, and then does not know it slept. */
  awake(): TestNode | undefined {
    const now = this.house.clock.wall()
    return this.pick(this.nodes.filter((node) => (this.asleepUntil.get(node) ?? 0) <= now))
  }

  async begin(nodes: number, jobs: number): Promise<void> {
    for (let at = 0; at < nodes; at++) await this.join()
    for (let at = 0; at < jobs; at++) await this.register()
  }

  async step(): Promise<void> {
    const total = actions.reduce((sum, [weight]) => sum + weight, 0)
    let ticket = this.random() * total
    const chosen = actions.find(([weight]) => (ticket -= weight) < 0) ?? actions[0]
    if (chosen === undefined) return
    this.story.push(chosen[1])
    await chosen[2](this)
    await this.quiet()
  }

  /** Everybody wakes, works off what is owed up to now, and nothing goes wrong any more. Answers that instant. */
  async drain(): Promise<number> {
    this.asleepUntil.clear()
    const end = this.house.clock.wall()
    for (let round = 0; round < 400; round++) {
      for (const node of this.nodes) {
        await node.beat()
        await node.rescue.runOnce()
        await node.tier.horizon.refresh()
        await node.firing.runOnce()
        await node.catchUp.runOnce()
        await this.finishing(node.worker.lookOnce())
        await node.worker.leaseOnce()
      }
      for (const delivery of this.open.splice(0)) delivery.finish(succeeded)
      await this.quiet()
      // Between two runs of a frequent job its place is free, and nobody knows when.
      for (const node of this.nodes) await node.catchUp.runOnce()
      await this.house.clock.advance(this.between(100, 500))
      await this.quiet()
      if (!(await this.owes(end))) return end
    }
    throw new Error('The fleet did not work off what it owed.')
  }

  /** What a node does in a quiet moment: a life sign, its fires, what it has to catch up, its leases. */
  async pass(): Promise<void> {
    const node = this.awake()
    await node?.beat()
    await node?.firing.runOnce()
    await node?.catchUp.runOnce()
    await node?.worker.leaseOnce()
  }

  async register(): Promise<void> {
    const node = this.awake()
    if (node === undefined) return
    const input: Partial<JobInput> = {
      schedule: this.pick(schedules) ?? '@every 3s',
      missed_window: this.pick(['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const) ?? 'SKIP',
      max_missed: this.between(1, 4),
      max_retries: this.between(0, 2),
      retry_backoff: 'fixed',
    }
    const now = this.house.clock.wall()
    if (this.random() < 0.25) input.schedule = utcText(now + this.between(-20_000, 20_000))
    // A node that slept may be asked too: its idea of the database's clock must be fresh, as its heartbeat makes it.
    await node.membership.heartbeat()
    const job = await node.register(input)
    const [timer] = await this.house.query<{ accounted_through: number; anchor: number }>(
      `SELECT effective_from AS accounted_through, (definition->>'anchor')::bigint AS anchor
       FROM carillon.jobs WHERE job = $1`,
      [job.key],
    )
    const rule = { schedule: job.schedule, timezone: job.timezone, anchor: timer?.anchor ?? now }
    this.jobs.push({
      key: job.key,
      job_id: job.job_id,
      rule,
      from: timer?.accounted_through ?? now,
      deletedAt: null,
    })
  }

  async deleteOne(): Promise<void> {
    const job = this.pick(this.jobs.filter(({ deletedAt }) => deletedAt === null))
    const node = this.awake()
    if (job === undefined || node === undefined) return
    job.deletedAt = this.house.clock.wall()
    await node.registry.delete(1, job.job_id)
  }

  async deleteWhileFiring(): Promise<void> {
    await Promise.all([...this.nodes.map((node) => node.firing.runOnce()), this.deleteOne()])
  }

  async finishOne(): Promise<void> {
    const delivery = this.pick(this.open)
    if (delivery === undefined) return
    this.open.splice(this.open.indexOf(delivery), 1)
    const chance = this.random()
    delivery.finish(chance < 0.6 ? succeeded : { ...failed, retryable: chance < 0.9 })
    await Promise.resolve()
  }

  async crash(): Promise<void> {
    const node = this.pick(this.nodes)
    if (node === undefined) return
    this.forget(node)
    await node.crash()
    await this.join()
  }

  async leave(): Promise<void> {
    const node = this.awake()
    if (node === undefined) return
    await node.worker.handBack()
    await this.house.during(node.worker.drain(0))
    this.forget(node)
    await node.leave()
    await this.join()
  }

  sleep(): Promise<void> {
    const node = this.pick(this.nodes)
    if (node !== undefined) this.asleepUntil.set(node, this.house.clock.wall() + this.between(1_000, 60_000))
    return Promise.resolve()
  }

  /** A result of a process that is gone reaches the database by way of another: a packet that was under way. */
  async lateResult(): Promise<void> {
    const delivery = this.lost.pop()
    const node = this.awake()
    if (delivery === undefined || node === undefined) return
    const closing = node.closer.close(await resultOf(this.house, node, delivery.run))
    await this.house.during(closing, 0)
  }

  /** Waits for work that closes runs, which it does in batches on the clock. */
  async finishing(work: Promise<unknown> | undefined): Promise<void> {
    if (work !== undefined) await this.house.during(work, 0)
  }

  private async join(): Promise<void> {
    const deliver: NodeOptions['deliver'] = (run, _definition, { signal }) => this.deliver(node, run, signal)
    const node: TestNode = await this.house.node({
      deliver,
      concurrency: 6,
      // Half of the fleet hands runs over as it makes them, the other half leaves all of them to leases.
      // Time stands still within a step: whoever waited for room would wait for ever.
      handsOver: this.nodes.length % 2 === 0 && ((handOver) => ({ ...handOver, ready: () => null })),
    })
    this.nodes.push(node)
  }

  private deliver(node: TestNode, run: LeasedRun, signal: AbortSignal): Promise<Delivered> {
    const name = `run ${run.due} of job ${run.job} under token ${run.token}`
    if (this.tokens.has(run.token)) this.faults.push(`${name} was delivered twice`)
    if (run.availableAt > this.house.clock.wall()) this.faults.push(`${name} was started early`)
    this.tokens.add(run.token)
    if (run.catchUp) this.recovered += 1
    return new Promise((finish) => {
      const delivery = { node, run, finish }
      this.open.push(delivery)
      signal.addEventListener('abort', () => {
        const at = this.open.indexOf(delivery)
        if (at >= 0) this.open.splice(at, 1)
        // A crashed process says nothing more.
        if (!node.gone) finish({ ...failed, reason: 'worker_stopped' })
      })
    })
  }

  private forget(node: TestNode): void {
    this.nodes = this.nodes.filter((other) => other !== node)
    this.asleepUntil.delete(node)
    this.lost.push(...this.open.filter((delivery) => delivery.node === node))
  }

  /** Lets the closers write what they have. */
  private async quiet(): Promise<void> {
    const closers = this.nodes.map(({ closer }) => closer as unknown as { writing: Promise<void> | null })
    await until('the closers have written all', async () => {
      await this.house.clock.advance(0)
      return closers.every(({ writing }) => writing === null)
    })
  }

  private async owes(end: number): Promise<boolean> {
    const [row] = await this.house.query<{ owed: number }>(
      `SELECT (SELECT count(*) FROM carillon.queue WHERE due <= $1)::int
            + (SELECT count(*) FROM carillon.timers WHERE due <= $1)::int
            + (SELECT count(*) FROM carillon.replays WHERE state = 'running')::int AS owed`,
      [end],
    )
    return row?.owed !== 0
  }
}
