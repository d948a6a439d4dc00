import { expect, test } from 'vitest'
import { Dice } from '../kit/dice.js'
import { close, heldAt, jobAt, lease, targetRow } from '../kit/hosts.js'
import { putRuns } from '../kit/rows.js'
import { seedsOf } from '../kit/seeds.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const host = 'a.test'
const openMs = 10_000
const maxOpenMs = 300_000

/** The breaker as its page describes it, for one worker whose reports are never older than a step. */
class Model {
  state = 'closed'
  retryAt = 0
  private openings = 0
  private since: number
  private watchedAt: number | null = null
  private window: { at: number; attempts: number; failures: number } | null = null
  private inRow = 0

  constructor(now: number) {
    this.since = now
  }

  /** What may be leased now: any number, none, or the probe. */
  room(now: number): number {
    if (this.state === 'open') return now < this.retryAt ? 0 : 1
    return this.state === 'half_open' ? 1 : Number.POSITIVE_INFINITY
  }

  leased(now: number): void {
    if (this.state !== 'open') return
    this.state = 'half_open'
    this.since = now
  }

  report(now: number, outcomes: readonly boolean[], probe: boolean): void {
    const failures = outcomes.filter((ok) => !ok).length
    if (this.watchedAt === null && failures === 0) return
    this.watchedAt ??= now
    if (this.state === 'half_open') {
      if (probe) this.move(now, failures > 0 ? 'open' : 'draining')
      return
    }
    if (this.window === null || now >= this.window.at + 30_000)
      this.window = { at: now, attempts: 0, failures: 0 }
    this.window.attempts += outcomes.length
    this.window.failures += failures
    const last = outcomes.lastIndexOf(true)
    this.inRow = last === -1 ? this.inRow + outcomes.length : outcomes.length - 1 - last
    const strict = this.state === 'draining' ? 3 : 1
    const often = this.window.attempts >= 10 / strict && this.window.failures >= this.window.attempts / 2
    if (failures > 0 && now >= this.watchedAt + 1_000 && (often || this.inRow >= 5 / strict))
      this.move(now, 'open')
  }

  /** `overdue`: something has been due for a second. `failedAt`: the last failure. */
  settle(now: number, overdue: boolean, failedAt: number): void {
    if (this.state === 'draining' && !overdue) {
      this.state = 'closed'
      this.since = now
    }
    if (this.window !== null && now >= this.window.at + 30_000) this.window = null
    if (failedAt <= now - 3_600_000) this.inRow = 0
    if (this.state === 'closed' && this.window === null && this.inRow === 0) this.watchedAt = null
    if (this.watchedAt === null && this.openings > 0 && now > this.since + maxOpenMs) this.openings = 0
  }

  private move(now: number, state: string): void {
    if (state === 'open') {
      this.openings = this.state === 'closed' && now > this.since + maxOpenMs ? 1 : this.openings + 1
      this.retryAt = now + Math.min(openMs * 2 ** (this.openings - 1), maxOpenMs)
    }
    this.state = state
    this.since = now
    this.window = null
    this.inRow = 0
  }
}

test.each(seedsOf(1, 2, 3, 4))(
  'a breaker is in the state that the model says, whatever comes, and no run is lost (seed %i)',
  async (seed) => {
    const dice = new Dice(seed)
    const node = await house().node()
    const job = await jobAt(node, host)
    // A pace at which every step drains all that is due.
    await node.targets.put(1, host, { drain_per_second: 100_000 })
    const model = new Model(await house().now())
    const states = new Set<string>()
    let illness = 0
    let failedAt = 0
    let waiting: number[] = []
    for (let step = 0; step < 60; step++) {
      if (dice.chance(0.15)) illness = dice.pick([0, 0, 0.3, 0.6, 1])
      const count = dice.between(0, 6)
      if (count > 0) await putRuns(house(), job, { count })
      const now = await house().now()
      waiting.push(...Array.from({ length: count }, () => now))
      const runs = await lease(node)
      expect({ step, leased: runs.length }).toEqual({
        step,
        leased: Math.min(waiting.length, model.room(now)),
      })
      if (runs.length > 0) model.leased(now)
      const outcomes = runs.map(() => !dice.chance(illness))
      const probe = runs.some((run) => run.guard?.probe === true)
      for (const ok of outcomes)
        node.hosts.note({ tenant: 1, host, ok, probe, error: ok ? null : 'ill', retryAfterMs: null })
      await close(house(), node, runs)
      waiting = waiting.slice(runs.length)
      if (outcomes.includes(false)) failedAt = now
      await node.hosts.runOnce()
      if (outcomes.length > 0) model.report(now, outcomes, probe)
      await node.breakers.runOnce()
      const overdue = waiting.some((at) => at <= now - 1_000)
      model.settle(now, overdue, failedAt)
      const row = await targetRow(house(), host)
      expect({ step, state: row?.state }).toEqual({ step, state: model.state })
      if (model.state === 'open') expect(row?.retry_at).toBe(model.retryAt)
      states.add(model.state)
      await house().clock.advance(dice.pick([100, 500, 1_000, 3_000, 9_000, 12_000, 40_000]))
      await node.beat()
    }
    expect(await heldAt(house(), host)).toBe(0)
    expect(states.has('open') && states.has('closed')).toBe(true)
  },
)
