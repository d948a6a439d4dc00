import { expect, test } from 'vitest'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { runIdOf } from '../../src/platform/ids.js'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { faultsInRounds } from '../kit/invariants.js'
import { accountOf, hands, redriving } from '../kit/letters.js'
import { Random } from '../kit/random.js'
import { queueOf } from '../kit/rows.js'
import { seedsOf } from '../kit/seeds.js'
import type { TestNode } from '../kit/test-house.js'
import { type House, useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
let redriven = 0
/** What a person may be told when somebody else was first. */
const lateComers = [
  'dead_letter_not_found',
  'run_not_found',
  'run_ended',
  'run_ahead',
  'job_ended',
  'redrive_ended',
]

/** One job that often fails, and people who re-drive, discard, cancel, pause and resume by chance. */
class Incident {
  readonly story: string[] = []
  private held: LeasedRun[] = []

  constructor(
    private readonly at: House,
    private readonly node: TestNode,
    private readonly job: { job_id: string; key: number },
    private readonly random: Random,
  ) {}

  async step(): Promise<void> {
    const people = hands(this.node)
    const letter = await this.someLetter()
    const run = await this.someRun()
    const redrive = () => people.deadLetters.redrive(1, letter, { payload: this.random.between(0, 9) })
    const discard = () => people.deadLetters.discard(1, letter)
    const cancel = () => people.runs.cancel(1, run)
    const chosen = this.random.pick<[string, () => Promise<unknown>[]]>([
      ['fire', () => [this.fire()]],
      ['work', () => [this.work()]],
      ['work', () => [this.work()]],
      ['work', () => [this.work()]],
      ['work and cancel', () => [this.work(), cancel()]],
      ['lease', () => [this.lease()]],
      ['lease', () => [this.lease()]],
      ['close', () => [this.close()]],
      ['close', () => [this.close()]],
      ['re-drive', () => [redrive()]],
      ['re-drive twice', () => [redrive(), redrive()]],
      ['re-drive and discard', () => [redrive(), discard()]],
      ['re-drive many', () => [people.deadLetters.startRedrive(1, { per_second: 100, canary: 1 })]],
      ['move', () => [redriving(this.node).runOnce(), redriving(this.node).runOnce()]],
      ['move and re-drive', () => [redriving(this.node).runOnce(), redrive()]],
      ['cancel', () => [cancel()]],
      ['cancel and lease', () => [this.lease(), cancel()]],
      ['cancel and close', () => [this.close(), cancel()]],
      ['re-drive and work', () => [redrive().then(() => this.work())]],
      ['pause and re-drive', () => [this.node.registry.pause(1, this.job.job_id, {}), redrive()]],
      ['resume', () => [this.node.registry.resume(1, this.job.job_id)]],
      ['resume', () => [this.node.registry.resume(1, this.job.job_id)]],
    ])
    this.story.push(chosen[0])
    for (const answer of await Promise.allSettled(chosen[1]())) {
      if (answer.status === 'rejected' && !lateComers.includes((answer.reason as { code: string }).code))
        throw answer.reason
    }
  }

  private async fire(): Promise<void> {
    await this.at.clock.advance(this.random.between(500, 4_000))
    await this.node.beat()
    await this.node.firing.runOnce()
  }

  private async work(): Promise<void> {
    await this.fire()
    await this.lease()
    await this.close()
  }

  private async lease(): Promise<void> {
    this.held.push(...(await lease(this.node, 3)))
  }

  private async close(): Promise<void> {
    const results = []
    for (const run of this.held.splice(0)) {
      results.push(
        await resultOf(this.at, this.node, run, {
          outcome: this.random.pick(['success', 'failed', 'failed', 'failed']),
          retryAfterMs: 100,
        }),
      )
    }
    await closeAll(this.at, this.node.closer, results)
  }

  private async someLetter(): Promise<string> {
    const { data } = await hands(this.node).deadLetters.list(1, { limit: 50, cursor: null })
    return data[this.random.between(0, Math.max(0, data.length - 1))]?.run_id ?? 'run_none'
  }

  private async someRun(): Promise<string> {
    const rows = await queueOf(this.at, this.job)
    const row = rows[this.random.between(0, Math.max(0, rows.length - 1))]
    if (row === undefined) return this.someLetter()
    return runIdOf({ ...row, origin: 0, seq: 0 })
  }
}

test.each(seedsOf(3, 1_234, 77_001))(
  'whatever people do to runs at the same time, each is in one place and every tick is accounted for (seed %i)',
  async (seed) => {
    const random = new Random(seed)
    const node = await house().node({ leaseAheadMs: 0 })
    const from = await house().now()
    const overlap_policy = random.pick<'SKIP' | 'QUEUE' | 'ALLOW' | 'REPLACE'>([
      'SKIP',
      'QUEUE',
      'ALLOW',
      'REPLACE',
    ])
    const job = await node.register({
      schedule: '@every 3s',
      max_retries: random.between(0, 1),
      overlap_policy,
    })
    const incident = new Incident(house(), node, job, random)
    for (let step = 0; step < 120; step++) {
      await incident.step().catch((error: unknown) => {
        throw new Error(`After ${incident.story.join(', ')}`, { cause: error })
      })
      expect(await faultsInRounds(house(), job), incident.story.join(', ')).toEqual([])
    }
    expect(
      await accountOf(house()).verify(1, {
        from: utcText(from),
        jobId: job.job_id,
        budgetMs: null,
      }),
    ).toMatchObject({ unaccounted: 0, doubled: 0, unexpected: 0, findings: [] })
    const [row] = await house().query<{ rounds: number }>(
      'SELECT max(round)::int AS rounds FROM carillon.ledger WHERE job = $1',
      [job.key],
    )
    redriven += row?.rounds ?? 0
  },
)

test('the dice above let runs be re-driven', () => expect(redriven).toBeGreaterThan(0))
