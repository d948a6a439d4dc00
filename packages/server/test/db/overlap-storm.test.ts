import { expect, test } from 'vitest'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { OverlappingJob, periodMs } from '../kit/overlapping-job.js'
import { timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const policies = ['SKIP', 'QUEUE', 'REPLACE', 'QUEUE', 'REPLACE', 'ALLOW'] as const
const rounds = 8

/** What each worker has leased and not closed. */
const held = new Map<TestNode, LeasedRun[]>()

/** Jobs whose runs of one place are under way more than once at a time. */
function doubled(): Promise<{ job: number }[]> {
  return house().query<{ job: number }>(
    `SELECT job FROM carillon.queue WHERE places = 1 AND holder IS NOT NULL GROUP BY job HAVING count(*) > 1`,
  )
}

/** How often each identity of a job is in the queue or has a final row. */
async function accounts(job: OverlappingJob, origin: number): Promise<Map<number, number>> {
  const rows = await house().query<{ due: number; times: number }>(
    `SELECT due, count(*)::int AS times FROM (
       SELECT due, seq FROM carillon.queue WHERE job = $1 AND origin = $2
       UNION ALL SELECT due, seq FROM carillon.ledger WHERE job = $1 AND origin = $2 AND final
     ) known GROUP BY due, seq`,
    [job.key, origin],
  )
  return new Map(rows.map(({ due, times }) => [due, times]))
}

async function closeSome(node: TestNode, round: number): Promise<void> {
  const runs = held.get(node) ?? []
  const results = await Promise.all(
    runs
      .filter((_run, at) => (at + round) % 3 !== 0)
      .map((run, at) =>
        resultOf(house(), node, run, at % 4 === 0 ? { outcome: 'failed', retryAfterMs: 3_000 } : {}),
      ),
  )
  await closeAll(house(), node.closer, results)
}

/** The instant of a tick, at which everything happens at once. */
async function storm(nodes: TestNode[], triggered: OverlappingJob[], round: number): Promise<void> {
  const next = Math.ceil((house().clock.wall() + 1) / periodMs) * periodMs
  await house().clock.advance(next - house().clock.wall())
  for (const node of nodes) await node.beat()
  const leased = new Map<TestNode, LeasedRun[]>()
  await Promise.all([
    ...nodes.map((node) => node.firing.runOnce()),
    ...nodes.map(async (node) => leased.set(node, await lease(node))),
    ...nodes.map((node) => closeSome(node, round)),
    ...triggered.map((job) => job.node.registry.trigger(1, job.job_id)),
  ])
  for (const node of nodes) {
    const still = await node.leasing.held(node.membership.incarnation)
    const tokens = new Set(still.map(({ token }) => token))
    const runs = [...(held.get(node) ?? []), ...(leased.get(node) ?? [])]
    held.set(
      node,
      runs.filter(({ token }) => tokens.has(token)),
    )
  }
  await house().clock.advance(200)
  await Promise.all(nodes.map((node) => node.firing.runOnce()))
}

/** The ticks after an instant, up to the last that the cursor has passed. */
async function owedTicks(job: OverlappingJob, after: number): Promise<number[]> {
  const { accounted_through: through } = await timerOf(house(), job)
  const owed: number[] = []
  for (let tick = Math.ceil((after + 1) / periodMs) * periodMs; tick <= through; tick += periodMs)
    owed.push(tick)
  return owed
}

test('fires, triggers, leases and closes at once: all is accounted for once, and no place is shared', async () => {
  const nodes = await house().fleet(2)
  const jobs: OverlappingJob[] = []
  for (const overlap_policy of policies) {
    for (const node of nodes) {
      const input = { overlap_policy, schedule: '*/10 * * * * *', max_retries: 2 }
      jobs.push(await OverlappingJob.register(house(), node, input))
    }
  }
  const began = await house().now()
  let triggers = 0
  for (let round = 0; round < rounds; round++) {
    const triggered = jobs.filter((_job, at) => (at + round) % 2 === 0)
    await storm(nodes, triggered, round)
    triggers += triggered.length
    expect(await doubled()).toEqual([])
  }
  for (const job of jobs) {
    const ticks = await accounts(job, 0)
    const owed = await owedTicks(job, began)
    expect(owed.length).toBeGreaterThanOrEqual(rounds - 1)
    expect([...ticks].sort(([a], [b]) => a - b)).toEqual(owed.map((tick) => [tick, 1]))
    const own = await accounts(job, 1)
    triggers -= own.size
    expect([...own.values()].every((times) => times === 1)).toBe(true)
  }
  expect(triggers).toBe(0)
})
