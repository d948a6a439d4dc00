import { describe, expect, test } from 'vitest'
import { answered, close, heldAt, jobAt, lease, say, targetRow, unreachable } from '../kit/hosts.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const host = 'a.test'

/** Outcomes of calls in order: + and - of ordinary runs, P and p of the probe; then the report. */
async function report(node: TestNode, outcomes: string): Promise<void> {
  say(node, host, outcomes)
  await node.hosts.runOnce()
}

/** A breaker that has just opened. */
async function opened(node: TestNode): Promise<void> {
  await report(node, '-')
  await house().clock.advance(1_000)
  await report(node, '----')
  expect((await targetRow(house(), host))?.state).toBe('open')
}

/** Lets time pass until the probe may go; the open time is 10 s, with the dice in the middle. */
async function untilProbe(node: TestNode): Promise<void> {
  await house().clock.advance(10_000)
  await node.beat()
}

describe('opens', () => {
  test('by failures in a row, however rare the calls', async () => {
    const node = await house().node()
    for (let call = 0; call < 4; call++) {
      await report(node, '-')
      await node.breakers.runOnce()
      await house().clock.advance(600_000)
    }
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed', failures_in_row: 4 })
    await report(node, '-')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'open', openings: 1, failures_in_row: 0 })
  })

  test('by the share of failures in a window, and not below it', async () => {
    const node = await house().node()
    await report(node, '-')
    await house().clock.advance(1_000)
    await report(node, '+-+-+-+-')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed', attempts: 9, failures: 5 })
    await report(node, '-')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'open' })
  })

  test('not while more than half succeed', async () => {
    const node = await house().node()
    await report(node, '-')
    await house().clock.advance(1_000)
    await report(node, '+-+-+-+-+++-')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed' })
  })

  test('not by failures of different windows', async () => {
    const node = await house().node()
    for (let window = 0; window < 5; window++) {
      await report(node, '-+--+')
      await house().clock.advance(31_000)
    }
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed', attempts: 5 })
  })

  test('only after others had the time to report their successes', async () => {
    const [node, other] = await house().fleet(2)
    if (node === undefined || other === undefined) throw new Error('A fleet has nodes.')
    say(other, host, '++++++++++++++++++++')
    await other.hosts.runOnce()
    await report(node, '-----')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed' })
    say(other, host, '+')
    await other.hosts.runOnce()
    await house().clock.advance(1_000)
    await report(node, '-')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed', attempts: 27, failures: 6 })
  })

  test('not where it is switched off, and closes when that is done', async () => {
    const node = await house().node()
    await opened(node)
    await node.targets.put(1, host, { breaker_enabled: false })
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed', retry_at: null })
    await report(node, '----------')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed' })
  })

  test('for as long as the host asks for, if that is longer', async () => {
    const node = await house().node()
    await report(node, '-')
    await house().clock.advance(1_000)
    for (let call = 0; call < 5; call++)
      node.hosts.note({
        tenant: 1,
        host,
        ok: false,
        probe: false,
        error: 'answered 429',
        retryAfterMs: 90_000,
      })
    await node.hosts.runOnce()
    expect(await targetRow(house(), host)).toMatchObject({ retry_at: (await house().now()) + 90_000 })
  })

  test('by its own settings', async () => {
    const node = await house().node()
    await node.targets.put(1, host, { breaker_failures_in_row: 2, breaker_open_seconds: 60 })
    await report(node, '-')
    await house().clock.advance(1_000)
    await report(node, '-')
    expect(await targetRow(house(), host)).toMatchObject({
      state: 'open',
      retry_at: (await house().now()) + 60_000,
    })
  })
})

test('a healthy host without limits has no row, and nobody asks or tells the database of it', async () => {
  const node = await house().node()
  await report(node, '++++++++++')
  expect(await targetRow(house(), host)).toBeUndefined()
})

describe('while open', () => {
  test('runs stay in the queue, use up no attempt, and others go on', async () => {
    const node = await house().node({
      deliver: (_run, { definition }) =>
        Promise.resolve(
          definition.target.type === 'http' && definition.target.url.includes(host)
            ? unreachable
            : answered(200),
        ),
    })
    const sick = await jobAt(node, host)
    const well = await jobAt(node, 'b.test')
    await opened(node)
    await putRuns(house(), sick, { count: 5 })
    await putRuns(house(), well, { count: 5 })
    await node.worker.leaseOnce()
    await house().finished(node)
    expect(await queueOf(house(), well)).toHaveLength(0)
    expect((await queueOf(house(), sick)).map(({ attempt, holder }) => ({ attempt, holder }))).toEqual(
      Array.from({ length: 5 }, () => ({ attempt: 1, holder: null })),
    )
    expect(await ledgerOf(house(), sick)).toHaveLength(0)
  })

  test('one probe at a time is let through after the open time', async () => {
    const [node, other] = await house().fleet(2)
    if (node === undefined || other === undefined) throw new Error('A fleet has nodes.')
    const job = await jobAt(node, host)
    await putRuns(house(), job, { count: 5 })
    await opened(node)
    await house().clock.advance(9_999)
    expect(await lease(node)).toHaveLength(0)
    await house().clock.advance(1)
    for (const each of [node, other]) await each.beat()
    const leased = (await Promise.all([node, other, node, other].map((each) => lease(each)))).flat()
    expect(leased).toHaveLength(1)
    expect(leased[0]?.guard?.probe).toBe(true)
    expect(await targetRow(house(), host)).toMatchObject({ state: 'half_open' })
    // However long the probe takes.
    await house().clock.advance(60_000)
    for (const each of [node, other]) await each.beat()
    expect(await lease(other)).toHaveLength(0)
  })

  test('a probe whose result was lost, or whose worker died, is followed by another', async () => {
    const node = await house().node()
    const job = await jobAt(node, host)
    await putRuns(house(), job, { count: 5 })
    await opened(node)
    await untilProbe(node)
    await close(house(), node, await lease(node))
    expect(await lease(node)).toHaveLength(0)
    await house().clock.advance(5_001)
    const [second] = await lease(node)
    expect(second?.guard?.probe).toBe(true)
    if (second !== undefined) await node.leasing.handBack(node.membership.incarnation, [second])
    await house().clock.advance(5_001)
    await node.beat()
    expect(await lease(node)).toHaveLength(1)
  })

  test('a failed probe opens it again, for twice as long each time, up to a bound', async () => {
    const node = await house().node()
    const job = await jobAt(node, host)
    await putRuns(house(), job, { count: 20 })
    await opened(node)
    const times: number[] = []
    for (let opening = 0; opening < 7; opening++) {
      const { since, retry_at: retryAt } = (await targetRow(house(), host)) ?? {}
      times.push(((retryAt ?? 0) - (since ?? 0)) / 1_000)
      await house().clock.advance((retryAt ?? 0) - (await house().now()))
      await node.beat()
      expect(await lease(node)).toHaveLength(1)
      await report(node, 'p')
    }
    expect(times).toEqual([10, 20, 40, 80, 160, 300, 300])
  })

  test('what was begun before it opened decides nothing: only the probe does', async () => {
    const node = await house().node()
    const job = await jobAt(node, host)
    await putRuns(house(), job, { count: 5 })
    await opened(node)
    await report(node, '++++++++')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'open', attempts: 0 })
    await untilProbe(node)
    await lease(node)
    await report(node, '++--------')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'half_open', attempts: 0 })
    await report(node, 'P')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'draining' })
  })
})

describe('draining', () => {
  async function draining(node: TestNode, runs: number) {
    const job = await jobAt(node, host)
    await putRuns(house(), job, { count: runs })
    await opened(node)
    await untilProbe(node)
    await close(house(), node, await lease(node))
    await report(node, 'P')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'draining' })
    return job
  }

  test('lets parked runs leave at the pace that was set, then closes', async () => {
    const node = await house().node()
    await node.targets.put(1, host, { drain_per_second: 8 })
    await draining(node, 41)
    let left = 40
    for (let pass = 0; left > 0; pass++) {
      const leased = await lease(node)
      expect(leased.length).toBe(Math.min(left, pass === 0 ? 1 : 2))
      left -= leased.length
      await close(house(), node, leased)
      await node.breakers.runOnce()
      expect((await targetRow(house(), host))?.state).toBe(left > 0 ? 'draining' : 'closed')
      await house().clock.advance(250)
      await node.beat()
    }
  })

  test('a run that waits for a place of its own job does not keep it from closing', async () => {
    const node = await house().node()
    const job = await draining(node, 1)
    await putRuns(house(), job, { count: 2, needPlace: true, attempt: 2 })
    await lease(node)
    await house().clock.advance(5_000)
    await node.breakers.runOnce()
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed' })
  })

  test('without a set pace goes ever faster', async () => {
    const node = await house().node()
    await draining(node, 1_000)
    const leased: number[] = []
    for (let second = 0; second < 11; second++) {
      let runs = 0
      for (let part = 0; part < 10; part++) {
        await house().clock.advance(100)
        await node.beat()
        const now = await lease(node, 500)
        await close(house(), node, now)
        runs += now.length
      }
      leased.push(runs)
    }
    expect(leased[0]).toBeGreaterThanOrEqual(9)
    expect(leased[0]).toBeLessThanOrEqual(13)
    expect(leased[10]).toBeGreaterThanOrEqual(36)
    expect(leased[10]).toBeLessThanOrEqual(50)
  })

  test('opens again by a third of the failures', async () => {
    const node = await house().node()
    await draining(node, 20)
    await report(node, '-')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'draining' })
    await report(node, '-')
    expect(await targetRow(house(), host)).toMatchObject({ state: 'open', openings: 2 })
  })
})

describe('afterwards', () => {
  test('a host that is well is forgotten: its row goes, unless it has limits', async () => {
    const node = await house().node()
    await report(node, '-+')
    await node.breakers.runOnce()
    expect(await targetRow(house(), host)).toBeDefined()
    await house().clock.advance(31_000)
    await node.breakers.runOnce()
    expect(await targetRow(house(), host)).toBeUndefined()
    await node.targets.put(1, host, { rate_per_second: 5 })
    await report(node, '-+')
    await house().clock.advance(31_000)
    await node.breakers.runOnce()
    expect(await targetRow(house(), host)).toMatchObject({ watched_at: null, attempts: 0 })
  })

  test('there is an event while it is not closed, raised once, and resolved', async () => {
    const node = await house().node()
    await opened(node)
    await node.breakers.runOnce()
    expect(node.breakerEvents).toEqual([`raised ${host}`])
    await house().query(
      `INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail) VALUES (1, 'breaker_open', $1, $2, '{}')`,
      [`breaker_open:${host}`, host],
    )
    await node.breakers.runOnce()
    expect(node.breakerEvents).toHaveLength(1)
    await node.targets.reset(1, host)
    await node.breakers.runOnce()
    expect(await targetRow(house(), host)).toMatchObject({ state: 'closed' })
    expect(node.breakerEvents).toEqual([`raised ${host}`, `resolved breaker_open:${host}`])
    expect(await node.metrics.registry.metrics()).toContain('carillon_target_breakers{state="open"} 0')
  })

  test('a person who says that the host is well lets what is parked leave at the pace of a drain', async () => {
    const node = await house().node()
    const job = await jobAt(node, host)
    await putRuns(house(), job, { count: 30 })
    await opened(node)
    expect(await node.targets.reset(1, host)).toMatchObject({ breaker: { state: 'draining' }, waiting: 30 })
    expect(await lease(node)).toHaveLength(1)
    await house().clock.advance(100)
    expect(await lease(node)).toHaveLength(1)
    expect(await heldAt(house(), host)).toBe(2)
  })
})
