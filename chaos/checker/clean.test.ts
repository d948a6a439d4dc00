import { describe, expect, test } from 'vitest'
import { check } from './check.mjs'
import {
  delivery,
  deliveriesOf,
  found,
  row,
  type Entry,
  type World,
  start,
  tick,
  withRescue,
  world,
} from './hand-made.js'

describe('clean ledgers are clean', () => {
  test.each<[string, (all: World) => void]>([
    ['every tick ran', () => undefined],
    [
      'some were skipped together',
      (all) => {
        const range = row(2, {
          outcome: 'skipped',
          attempt: 0,
          due_to: tick(4),
          ticks: 3,
          reason: 'missed',
          token: null,
          fired_at: null,
          started_at: null,
          recorded_at: tick(4) + 10_001,
        })
        all.ledger.splice(1, 3, range)
        deliveriesOf(all).splice(1, 3)
      },
    ],
    [
      'the last is under way',
      (all) => {
        all.ledger.pop()
        all.tables.queue.push({ job: 1, due: tick(6), origin: 0, seq: 0, held_by: 70, holder: 'alive' })
        Object.assign(deliveriesOf(all)[5] as Entry, { out: null, said: null })
      },
    ],
    ['a killed worker’s run went to another', withRescue],
    [
      'the last is still in a replay',
      (all) => {
        all.ledger.pop()
        deliveriesOf(all).pop()
        all.tables.replays.push({
          job: 1,
          state: 'running',
          from_ms: tick(6),
          cursor_ms: tick(6),
          to_ms: tick(6),
          total: 1,
          done: 0,
        })
      },
    ],
    [
      'the target refused it once',
      (all) => {
        Object.assign(deliveriesOf(all)[0] as Entry, { said: 'refused' })
        Object.assign(all.ledger[0] as Entry, { outcome: 'failed', final: false, reason: 'status' })
        all.ledger.splice(1, 0, row(1, { attempt: 2, token: 15, recorded_at: tick(1) + 300 }))
        deliveriesOf(all).splice(1, 0, delivery(1, { in: tick(1) + 200, attempt: 2, token: 15 }))
      },
    ],
    [
      'a late result of a lost lease is kept beside it',
      (all) => {
        withRescue(all)
        all.ledger.splice(3, 0, row(2, { outcome: 'stale', final: false, recorded_at: tick(2) + 5_000 }))
      },
    ],
  ])('%s', async (_name, change) => {
    expect(await found(change)).toEqual([])
  })
})

describe('what is extra, and how long things took', () => {
  test('an extra delivery is one that the target did not ask for; its bound is what was in flight at faults', async () => {
    const all = world()
    withRescue(all)
    const { verdict, figures } = await check(all)
    expect(verdict.counts).toMatchObject({ ticks: 6, extra_deliveries: 1 })
    expect(verdict.counts.extra_deliveries_bound).toBeGreaterThanOrEqual(1)
    expect(figures.redelivery_ms).toMatchObject({ count: 1, p50: 1_097 })
  })

  test('takeovers within a lease of a restart of the database are told apart', async () => {
    const all = world()
    all.nemesis.push(
      { takeover: 400, at: tick(1), partitions: 9 },
      { database: 'up', at: tick(2) },
      { takeover: 2_900, at: tick(2) + 100, partitions: 9 },
    )
    const { figures } = await check(all)
    expect(figures.takeover_ms).toMatchObject({ count: 1, p99: 400 })
    expect(figures.takeover_after_restart_ms).toMatchObject({ count: 1, p99: 2_900 })
    expect(figures.firing_again_ms).toMatchObject({ count: 1, p99: 9_000 })
  })

  test('a step of the database’s clock makes nothing early and no epoch old', async () => {
    const all = world()
    // Set back by four seconds between the third and the fourth tick: from then on everything is later by the machine's clock.
    all.nemesis.push(
      { clock: 'database', from: 0, to: 0, at: start },
      { clock: 'database', from: 0, to: -4_000, at: tick(3) + 5_000 },
    )
    for (const one of deliveriesOf(all).slice(3)) one.in = (one.in as number) + 4_000
    expect((await check(all)).verdict.violations).toEqual({})
  })
})
