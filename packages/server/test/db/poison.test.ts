import { expect, test } from 'vitest'
import { hands } from '../kit/letters.js'
import { OverlappingJob } from '../kit/overlapping-job.js'
import { ledgerOf, queueOf } from '../kit/rows.js'
import { failed, succeeded } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

test('jobs that always fail end in dead letters, tick after tick, and block nobody: not the others, not themselves', async () => {
  const poison = new Set<number>()
  const node = await house().node({
    // Fewer places than poisoned runs: if these kept them, nobody else would run.
    concurrency: 3,
    leaseAheadMs: 0,
    deliver: (run) => {
      if (!poison.has(run.job)) return Promise.resolve(succeeded)
      // One throws, as a bug in the worker would; the others fail as targets do.
      if (run.attempt === 1) return Promise.reject(new Error('broken beyond words'))
      return Promise.resolve({ ...failed, retryAfterMs: 0 })
    },
  })
  const policies = ['SKIP', 'QUEUE', 'REPLACE', 'ALLOW'] as const
  const bad: OverlappingJob[] = []
  for (const overlap_policy of policies) {
    bad.push(await OverlappingJob.register(house(), node, { overlap_policy, max_retries: 1 }))
  }
  for (const { key } of bad) poison.add(key)
  const good = await OverlappingJob.register(house(), node, {})
  const ticks = 4
  for (let tick = 1; tick <= ticks; tick++) {
    await good.toTick(tick, 10)
    // Leased, run and retried until nothing is ready, all within the interval.
    for (let pass = 0; pass < 40; pass++) {
      await house().clock.advance(200)
      await node.beat()
      await node.firing.runOnce()
      await node.worker.leaseOnce()
      await house().finished(node)
    }
  }
  const ran = (await ledgerOf(house(), good)).filter(({ outcome }) => outcome === 'success')
  expect(ran.length).toBeGreaterThanOrEqual(ticks)
  expect(ran.every(({ available_at, started_at }) => (started_at ?? 0) - (available_at ?? 0) < 1_000)).toBe(
    true,
  )
  for (const job of bad) {
    const rows = await ledgerOf(house(), job)
    const deaths = rows.filter(({ final, outcome }) => final && outcome === 'dead')
    expect(deaths.length).toBeGreaterThanOrEqual(ticks)
    expect(rows.filter(({ outcome }) => outcome === 'skipped')).toEqual([])
    const { data } = await hands(node).deadLetters.list(1, { limit: 100, cursor: null, job_id: job.job_id })
    expect(data.map(({ attempts }) => attempts)).toEqual(deaths.map(() => 2))
    expect((await queueOf(house(), job)).filter(({ holder }) => holder !== null)).toEqual([])
  }
})
