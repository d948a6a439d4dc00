import type { JobInput } from '@carillon/contract'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { closeAll, lease, resultOf } from './attempts.js'
import { ledgerOf, queueOf } from './rows.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

export const periodMs = 10_000

/** A run in the queue: the number of its tick, its slot, and who has it. Triggered runs have a fraction. */
export type Place = [tick: number, slot: number | null, state: 'ready' | 'held' | 'asked']

/** A job that ticks every ten seconds, with words for what a test of its overlaps does and looks at. */
export class OverlappingJob {
  private constructor(
    readonly house: House,
    readonly node: TestNode,
    readonly key: number,
    readonly job_id: string,
    private readonly first: number,
  ) {}

  static async register(house: House, node: TestNode, input: Partial<JobInput>): Promise<OverlappingJob> {
    const job = await node.register({ schedule: '@every 10s', retry_backoff: 'fixed', ...input })
    return new OverlappingJob(house, node, job.key, job.job_id, Date.parse(job.next_run_at ?? ''))
  }

  /** Lets time pass until so long before (negative) or after the instant of a tick, and fires what there is to fire. */
  async toTick(tick: number, offsetMs = 0): Promise<void> {
    await this.house.clock.advance(this.due(tick) + offsetMs - (await this.house.now()))
    await this.fire()
  }

  async fire(): Promise<void> {
    await this.node.beat()
    await this.node.firing.runOnce()
  }

  due(tick: number): number {
    return this.first + (tick - 1) * periodMs
  }

  tickOf(due: number): number {
    return 1 + (due - this.first) / periodMs
  }

  /** Leases what can be leased; the runs of this job among it, by tick. */
  async lease(): Promise<LeasedRun[]> {
    const runs = await lease(this.node)
    return runs.filter(({ job }) => job === this.key).sort((a, b) => a.due - b.due)
  }

  async leasedTicks(): Promise<number[]> {
    return (await this.lease()).map(({ due }) => this.tickOf(due))
  }

  /** A lease that must give exactly one run. */
  async leaseOne(): Promise<LeasedRun> {
    const runs = await this.lease()
    const [run] = runs
    if (run === undefined || runs.length > 1)
      throw new Error(`${runs.length} runs were leased instead of one.`)
    return run
  }

  async close(run: LeasedRun, given: Parameters<typeof resultOf>[3] = {}): Promise<void> {
    await closeAll(this.house, this.node.closer, [await resultOf(this.house, this.node, run, given)])
  }

  async places(): Promise<Place[]> {
    return (await queueOf(this.house, this)).map(({ due, slot, holder, cancel_requested: asked }) => [
      this.tickOf(due),
      slot,
      asked ? 'asked' : holder === null ? 'ready' : 'held',
    ])
  }

  /** Final rows of the ledger: tick, outcome, reason. */
  async ends(): Promise<[number, string, string | null][]> {
    const rows = (await ledgerOf(this.house, this)).filter(({ final }) => final)
    return rows.map(({ due, outcome, reason }) => [this.tickOf(due), outcome, reason])
  }

  /** As an edit does that changes nothing but the overlap policy. */
  async edit(policy: string, maxConcurrent: number | null = null): Promise<void> {
    await this.house.query(
      `INSERT INTO carillon.job_versions (job, version, tenant, definition, route, created_at, partition)
       SELECT job, version, tenant, definition, route, updated_at, partition FROM carillon.jobs WHERE job = $1`,
      [this.key],
    )
    await this.house.query(
      `UPDATE carillon.jobs SET version = version + 1, definition = definition || $2::jsonb WHERE job = $1`,
      [this.key, JSON.stringify({ overlap_policy: policy, max_concurrent: maxConcurrent })],
    )
    await this.house.query('UPDATE carillon.timers SET rev = rev + 1 WHERE job = $1', [this.key])
  }
}
