import { CarillonError, type JobPatch } from '@carillon/contract'
import { afterEach, expect, test } from 'vitest'
import { Account } from '../../src/pipeline/account/account.js'
import { Calendars } from '../../src/pipeline/register/calendars.js'
import { ResumeDue } from '../../src/pipeline/register/resume-due.js'
import { seedsOf } from '../kit/seeds.js'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { faultsInLives } from '../kit/lives.js'
import { Random } from '../kit/random.js'
import { timerOf } from '../kit/rows.js'
import { silentLog } from '../kit/test-database.js'
import type { TestNode } from '../kit/test-house.js'
import { type House, useHouse } from '../kit/use-house.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
afterEach(async () => void (await house().query('DELETE FROM carillon.calendars')))

const schedules = ['* * * * * *', '*/3 * * * * *', '@every 7s', '*/20 * * * * *', '@every 1m'] as const
const overlaps: readonly [JobPatch, ...JobPatch[]] = [
  { overlap_policy: 'SKIP', max_concurrent: null },
  { overlap_policy: 'ALLOW', max_concurrent: null },
  { overlap_policy: 'ALLOW', max_concurrent: 3 },
  { overlap_policy: 'QUEUE', max_concurrent: null },
  { overlap_policy: 'REPLACE', max_concurrent: null },
]

/** One job, and all that can be done to it by chance: by people, by time, by schedulers and workers. */
class Life {
  readonly story: string[] = []
  private readonly calendars: Calendars
  private readonly resumeDue: ResumeDue
  private held: LeasedRun[] = []
  /** How often something was asked of a tick, and granted. */
  asked = 0

  constructor(
    private readonly at: House,
    private readonly node: TestNode,
    private readonly job: { job_id: string; key: number },
    private readonly random: Random,
  ) {
    const { database } = node
    this.calendars = new Calendars({ database, onChanged: () => undefined })
    this.resumeDue = new ResumeDue({ database, log: silentLog, onChanged: () => undefined })
  }

  async step(): Promise<void> {
    const { random } = this
    const chosen = random.pick<[string, () => Promise<unknown>]>([
      ['pause', () => this.pause()],
      ['resume', () => this.node.registry.resume(1, this.job.job_id)],
      ['edit', () => this.edit()],
      ['trigger', () => this.node.registry.trigger(1, this.job.job_id)],
      ['skip', () => this.changeTick()],
      ['move', () => this.changeTick()],
      ['change a tick and fire', () => Promise.all([this.fire(), this.changeTick()])],
      ['change a tick and lease', () => Promise.all([this.lease(), this.changeTick()])],
      ['calendar', () => this.calendar()],
      ['resume what is due', () => this.resumeDue.runOnce()],
      ['fire', () => this.fire()],
      ['fire', () => this.fire()],
      ['fire', () => this.fire()],
      ['edit and fire', () => Promise.all([this.fire(), this.edit()])],
      ['pause and fire', () => Promise.all([this.fire(), this.pause()])],
      ['trigger and fire', () => Promise.all([this.fire(), this.node.registry.trigger(1, this.job.job_id)])],
      [
        'resume and catch up',
        () => Promise.all([this.node.registry.resume(1, this.job.job_id), this.fire()]),
      ],
      ['lease', () => this.lease()],
      ['lease', () => this.lease()],
      ['pause and lease', () => Promise.all([this.lease(), this.pause()])],
      ['close', () => this.close()],
      ['close', () => this.close()],
      ['advance', () => this.at.clock.advance(random.between(50, 3_000))],
      ['advance', () => this.at.clock.advance(random.between(50, 3_000))],
      ['sleep', () => this.at.clock.advance(random.between(3_000, 50_000))],
    ])
    this.story.push(chosen[0])
    await chosen[1]()
  }

  /** The end of all that can be done: no tick comes any more, and what was in flight goes on. */
  async cancel(): Promise<void> {
    this.story.push('cancel')
    const { registry } = this.node
    await Promise.all([this.fire(), registry.cancel(1, this.job.job_id, { reason: 'test' })])
    for (const change of [
      () => registry.resume(1, this.job.job_id),
      () => this.edit(),
      () => this.pause(),
      () => registry.trigger(1, this.job.job_id),
    ]) {
      await expect(change()).rejects.toMatchObject({ code: 'job_cancelled' })
    }
    for (let step = 0; step < 20; step++) {
      await this.random.pick([
        () => this.fire(),
        () => this.lease(),
        () => this.close(),
        () => this.at.clock.advance(this.random.between(50, 5_000)),
      ])()
    }
  }

  private async fire(): Promise<void> {
    await this.node.beat()
    await this.node.firing.runOnce()
    await this.node.catchUp.runOnce()
  }

  /** Skips, moves or restores one of the next ticks. One that comes meanwhile, or is out of order, is refused. */
  private async changeTick(): Promise<void> {
    const { data } = await this.node.ticks.list(1, this.job.job_id, { from: undefined, count: 5 })
    const tick = data[this.random.between(0, data.length - 1)]
    if (tick === undefined) return
    const at = tick.due
    const to = utcText(Date.parse(at) + this.random.between(-9_000, 20_000))
    const chance = this.random.next()
    const change =
      chance < 0.4
        ? this.node.ticks.skip(1, this.job.job_id, { at })
        : chance < 0.8
          ? this.node.ticks.move(1, this.job.job_id, { at, to })
          : this.node.ticks.restore(1, this.job.job_id, { at })
    const granted = () => void (this.asked += 1)
    await change.then(granted, (error: unknown) => {
      const expected = ['tick_passed', 'tick_in_flight', 'tick_not_found', 'validation_failed', 'job_ended']
      if (!(error instanceof CarillonError && expected.includes(error.code))) throw error
    })
  }

  private async pause(): Promise<void> {
    const now = await this.at.now()
    const until = utcText(now + this.random.between(500, 20_000))
    await this.node.registry.pause(1, this.job.job_id, this.random.next() < 0.4 ? { until } : {})
  }

  private async edit(): Promise<void> {
    const patch = this.random.pick<JobPatch>([
      { schedule: this.random.pick(schedules) },
      { payload: this.random.next() },
      {
        missed_window: this.random.pick(['SKIP', 'RUN_ONCE', 'RUN_ALL']),
        max_missed: this.random.between(1, 20),
      },
      { jitter_seconds: this.random.pick([0, 0, 10, 60]) },
      { exclude: this.random.pick([['closed'], null]) },
      this.random.pick(overlaps),
    ])
    await this.node.registry.edit(1, this.job.job_id, patch)
  }

  async calendar(): Promise<void> {
    const now = await this.at.now()
    const from = now + this.random.between(-10_000, 10_000)
    const iso = (ms: number) => utcText(ms)
    const blackouts = [
      { from: iso(from), to: iso(from + this.random.between(1, 30_000)), reason: 'test' },
      { from: iso(from + 40_000), to: iso(from + 50_000), reason: 'test' },
    ]
    await this.calendars.put(1, 'closed', { dates: [], blackouts })
  }

  private async lease(): Promise<void> {
    this.held.push(...(await lease(this.node, this.random.between(1, 3))))
  }

  private async close(): Promise<void> {
    const [run] = this.held.splice(this.random.between(0, this.held.length - 1), 1)
    if (run === undefined) return
    const now = await this.at.now()
    const outcome =
      run.availableAt > now ? 'cancelled' : this.random.pick<'success' | 'failed'>(['success', 'failed'])
    // Only a run that was asked to is cancelled before its time.
    const [row] = await this.at.query<{ cancel_requested: boolean }>(
      'SELECT cancel_requested FROM carillon.queue WHERE token = $1',
      [run.token],
    )
    if (outcome === 'cancelled' && row?.cancel_requested !== true) {
      this.held.push(run)
      return
    }
    const retryable = outcome === 'failed' && this.random.next() < 0.5
    await closeAll(this.at, this.node.closer, [
      await resultOf(this.at, this.node, run, { outcome, retryable }),
    ])
  }
}

test.each(seedsOf(1, 2, 3, 4, 5, 6))(
  'every tick is in one place, whatever is done to its job in whatever order (seed %i)',
  async (seed) => {
    const random = new Random(seed)
    const node = await house().node({ leaseAheadMs: 1_000 })
    const job = await node.register({
      schedule: random.pick(schedules),
      missed_window: random.pick(['SKIP', 'RUN_ONCE', 'RUN_ALL']),
      max_missed: random.between(1, 20),
      retry_backoff: 'fixed',
    })
    const life = new Life(house(), node, job, random)
    await life.calendar()
    for (let step = 0; step < 250; step++) {
      await life.step()
      const faults = await faultsInLives(house(), job)
      expect(faults, `seed ${seed}: ${life.story.slice(-25).join(', ')}`).toEqual([])
      const { due, accounted_through: accounted } = await timerOf(house(), job)
      if (due !== null) expect(due).toBeGreaterThan(accounted)
    }
    // While a tick is ahead, there is something to cancel.
    await node.registry.edit(1, job.job_id, { ends_at: null })
    await life.cancel()
    expect(await faultsInLives(house(), job), `seed ${seed}: cancelled`).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: null, start_at: null })
    const [counts] = await house().query<{ versions: number; segments: number; rows: number }>(
      `SELECT (SELECT count(*) FROM carillon.job_versions)::int AS versions,
              (SELECT count(*) FROM carillon.segments)::int AS segments,
              (SELECT count(*) FROM carillon.ledger)::int AS rows`,
    )
    // It means something only if much happened.
    expect(counts?.versions).toBeGreaterThan(5)
    expect(counts?.segments).toBeGreaterThan(5)
    expect(counts?.rows).toBeGreaterThan(10)
    expect(life.asked).toBeGreaterThan(3)
    const account = new Account({ database: node.database, clock: house().clock, lateToleranceMs: 15_000 })
    const verification = await account.verify(1, { from: job.created_at, jobId: job.job_id, budgetMs: null })
    expect(verification, `seed ${seed}`).toMatchObject({
      unaccounted: 0,
      doubled: 0,
      wrong_count: 0,
      unexpected: 0,
    })
  },
)
