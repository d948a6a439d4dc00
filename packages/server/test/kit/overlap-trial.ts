import { expect } from 'vitest'
import type { JobPatch } from '@carillon/contract'
import { Leasing } from '../../src/pipeline/queue/leasing.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { closeAll, resultOf } from './attempts.js'
import { Dice } from './dice.js'
import { expectEqual, originOf } from './overlap-compare.js'
import { leaseAheadMs, type ModelRules, type ModelRun, OverlapModel } from './overlap-model.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

const periodMs = 10_000

interface TrialJob {
  key: number
  job_id: string
  task: string
  model: OverlapModel
}

interface Held {
  job: TrialJob
  run: ModelRun
  leased: LeasedRun
}

type Action = (trial: OverlapTrial) => Promise<void>

const actions: [weight: number, named: { name: string; action: Action }][] = [
  [10, { name: 'lease', action: (trial) => trial.lease() }],
  [12, { name: 'close', action: (trial) => trial.close() }],
  [3, { name: 'hand back', action: (trial) => trial.handBack() }],
  [2, { name: 'crash', action: (trial) => trial.crash() }],
  [7, { name: 'trigger', action: (trial) => trial.trigger() }],
  [3, { name: 'edit', action: (trial) => trial.edit() }],
  [4, { name: 'pass', action: (trial) => trial.pass(trial.dice.between(60, 700)) }],
]

/** Many jobs in one real database, and a model of each: the same things happen to both, and they must stay equal. */
export class OverlapTrial {
  readonly jobs: TrialJob[] = []
  readonly story: string[] = []
  /** Things that happened to one job. */
  events = 0
  private workers = [900_001, 900_002]
  private held: Held[] = []
  private roundBegan = 0
  readonly dice: Dice

  constructor(
    private readonly house: House,
    private readonly node: TestNode,
    seed: number,
  ) {
    this.dice = new Dice(seed)
  }

  async begin(jobs: number): Promise<void> {
    for (const worker of this.workers) await this.hire(worker)
    for (let at = 0; at < jobs; at++) await this.register(at)
    this.roundBegan = this.house.clock.wall()
  }

  /** From one tick to the next: ahead of it, at its instant, after it. */
  async round(steps: number): Promise<void> {
    await this.finishLate()
    const instant = Math.min(...this.jobs.map(({ model }) => model.cursor))
    await this.passTo(instant - this.dice.between(600, 1_900))
    await this.firesAhead()
    await this.some(steps)
    if (this.house.clock.wall() < instant) await this.firesAhead()
    // Sometimes the scheduler is late, and things happen meanwhile.
    await this.passTo(instant)
    if (this.dice.chance(0.3)) await this.some(2)
    await this.fire()
    await this.some(steps)
    await this.fire()
    await this.compareRevoked()
    this.roundBegan = this.house.clock.wall() + 1
    for (const { model } of this.jobs) model.notes = []
    await this.passTo(this.roundBegan)
  }

  // ── What happens ─────────────────────────────────────────────────────────────────────────────────────────

  async lease(): Promise<void> {
    const jobs = this.dice.some(this.jobs, 0.5)
    const holder = this.dice.pick(this.workers)
    const leasing = new Leasing({
      clock: this.house.clock,
      database: this.node.database,
      databaseClock: this.node.databaseClock,
      tasks: jobs.map(({ task }) => task),
      aheadMs: leaseAheadMs,
    })
    const leased = await leasing.lease(holder, 1_000)
    const now = this.house.clock.wall()
    for (const job of jobs) {
      this.events += 1
      for (const run of job.model.lease(holder, now)) {
        const real = leased.find(
          ({ job: key, due, origin }) => key === job.key && due === run.due && origin === originOf(run),
        )
        if (real === undefined) throw new Error(`${nameOf(job, run)} should have been leased.`)
        this.held.push({ job, run, leased: real })
      }
    }
  }

  /** Some of the runs under way end, in one batch. */
  async close(): Promise<void> {
    const now = this.house.clock.wall()
    const ending = this.held.filter(
      ({ run }) => (run.availableAt <= now || run.asked) && this.dice.chance(0.3),
    )
    const results = []
    for (const { run, leased, job } of ending) {
      const chance = this.dice.random()
      this.events += 1
      if (run.asked && (chance < 0.6 || run.availableAt > now)) {
        results.push(await this.result(leased, { outcome: 'cancelled', reason: 'replaced', error: null }))
        job.model.cancelled(run)
      } else if (chance < 0.5) {
        results.push(await this.result(leased, {}))
        job.model.succeed(run)
      } else {
        const retryAfterMs = this.dice.pick([1, 400, 3_000, 12_000])
        results.push(await this.result(leased, { outcome: 'failed', retryAfterMs }))
        job.model.fail(run, now + retryAfterMs)
      }
    }
    this.forget(ending)
    await closeAll(this.house, this.node.closer, results)
  }

  async handBack(): Promise<void> {
    const back = this.dice.some(this.held, 0.15)
    for (const holder of this.workers) {
      const runs = back.filter(({ leased }) => leased.holder === holder).map(({ leased }) => leased)
      await this.node.leasing.handBack(holder, runs)
    }
    for (const { job, run } of back) job.model.handBack(run)
    this.events += back.length
    this.forget(back)
  }

  async crash(): Promise<void> {
    const dead = this.dice.pick(this.workers)
    await this.house.query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
      [dead],
    )
    await this.node.rescue.runOnce()
    for (const { model } of this.jobs) model.rescue(dead, this.house.clock.wall())
    const lost = this.held.filter(({ leased }) => leased.holder === dead)
    this.events += lost.length
    this.forget(lost)
    const next = Math.max(...this.workers) + 1
    this.workers = this.workers.map((worker) => (worker === dead ? next : worker))
    await this.hire(next)
  }

  async trigger(): Promise<void> {
    for (const job of this.dice.some(this.jobs, 0.2)) {
      await this.house.clock.advance(1)
      await this.node.registry.trigger(1, job.job_id)
      job.model.trigger(this.house.clock.wall())
      this.events += 1
    }
  }

  async edit(): Promise<void> {
    const job = this.dice.pick(this.jobs)
    const now = this.house.clock.wall()
    if (job.model.cursor <= now) return
    const rules = { ...this.rules(), attempts: job.model.rules.attempts }
    const patch: JobPatch = { overlap_policy: rules.policy, max_concurrent: rules.most }
    await this.node.registry.edit(1, job.job_id, patch)
    job.model.edit(rules, now)
    this.events += 1
  }

  async pass(ms: number): Promise<void> {
    await this.house.clock.advance(ms)
    await this.node.beat()
  }

  /** A pass of the owner after an instant: every tick that has come is decided, or waits its turn. */
  private async fire(): Promise<void> {
    await this.note('fire', async () => {
      await this.pass(150)
      await this.node.firing.runOnce()
      for (const { model } of this.jobs) model.tick(this.house.clock.wall())
      this.events += this.jobs.length
    })
  }

  /** A pass before an instant: a tick goes into a place that is free, or nothing happens. How early is not its concern. */
  private async firesAhead(): Promise<void> {
    await this.note('stage', async () => {
      await this.node.firing.runOnce()
      const now = this.house.clock.wall()
      const rows = await this.house.query<{ job: number; due: number }>(
        'SELECT job, due FROM carillon.queue WHERE origin = 0',
      )
      const staged = new Set(rows.map(({ job, due }) => `${job} ${due}`))
      for (const { key, model } of this.jobs) {
        if (model.cursor <= now) model.tick(now)
        else if (staged.has(`${key} ${model.cursor}`)) {
          expect(model.mayStage(now), `staging tick ${model.cursor} of job ${key}`).toBe(true)
          model.stage(now)
        }
        this.events += 1
      }
    })
  }

  /** No tick may wait so long that it counts as missed: what is in its way ends. */
  private async finishLate(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) {
      const late = new Set(this.jobs.filter(({ model }) => model.cursor <= this.house.clock.wall()))
      if (late.size === 0) return
      await this.note('finish what is in the way', async () => {
        await this.lease()
        const ending = this.held.filter(
          ({ job, run }) => late.has(job) && run.availableAt <= this.house.clock.wall(),
        )
        const results = []
        for (const { job, run, leased } of ending) {
          results.push(await this.result(leased, {}))
          job.model.succeed(run)
        }
        this.forget(ending)
        await closeAll(this.house, this.node.closer, results)
      })
      await this.fire()
    }
    throw new Error('A tick never had its turn.')
  }

  private async some(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      const { name, action } = this.dice.weighted(actions)
      await this.note(name, () => action(this))
    }
  }

  private async note(name: string, work: () => Promise<void>): Promise<void> {
    this.story.push(name)
    await work()
    await expectEqual(this.house, this.jobs, this.roundBegan)
  }

  // ── Whether both are equal ───────────────────────────────────────────────────────────────────────────────

  /** A worker learns which of the runs that it is to cancel are replaced, and stops those. */
  private async compareRevoked(): Promise<void> {
    for (const worker of this.workers) {
      const revoked = await this.node.leasing.revoked(worker)
      const real = new Map(revoked?.map(({ token, replaced }) => [token, replaced]))
      const wanted = this.held
        .filter(({ run, leased }) => run.asked && leased.holder === worker)
        .map(({ job, leased }) => {
          const next = job.model.runs.find(({ place }) => place === 'waiting')
          return [leased.token, next?.policy === 'REPLACE'] as const
        })
      expect(real).toEqual(new Map(wanted))
    }
  }

  // ── Means ────────────────────────────────────────────────────────────────────────────────────────────────

  private async register(at: number): Promise<void> {
    const rules = { ...this.rules(), attempts: this.dice.between(1, 4) }
    const task = `task-${at}`
    const job = await this.node.register({
      schedule: '*/10 * * * * *',
      target: { type: 'task', task },
      overlap_policy: rules.policy,
      ...(rules.most !== null && { max_concurrent: rules.most }),
      max_retries: rules.attempts - 1,
    })
    const first = Date.parse(job.next_run_at ?? '')
    this.jobs.push({
      key: job.key,
      job_id: job.job_id,
      task,
      model: new OverlapModel(rules, first, periodMs),
    })
  }

  private rules(): Omit<ModelRules, 'attempts'> {
    const policy = this.dice.pick(['SKIP', 'ALLOW', 'QUEUE', 'QUEUE', 'REPLACE', 'REPLACE'] as const)
    return { policy, most: policy === 'ALLOW' ? this.dice.pick([null, 1, 2, 3]) : null }
  }

  /** A worker that is only a row: alive until the trial says otherwise. */
  private async hire(worker: number): Promise<void> {
    await this.house.query(
      `INSERT INTO carillon.incarnations (incarnation, host, pid, roles, code_version, beat_at)
       VALUES ($1, 'trial', 1, '{worker}', 'test', 99999999999999)`,
      [worker],
    )
  }

  private result(leased: LeasedRun, given: Parameters<typeof resultOf>[3]) {
    return resultOf(this.house, this.node, leased, given)
  }

  private forget(gone: readonly Held[]): void {
    this.held = this.held.filter((held) => !gone.includes(held))
  }

  private async passTo(instant: number): Promise<void> {
    await this.pass(Math.max(0, instant - this.house.clock.wall()))
  }
}

function nameOf({ key, model }: TrialJob, { due, origin, place }: ModelRun): string {
  return `The ${origin} ${due} of job ${key} (${model.rules.policy}), place ${place},`
}
