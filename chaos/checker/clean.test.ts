import { describe, expect, test } from 'vitest'
import { check } from './check.mjs'
import {
  delivery,
  deliveriesOf,
  end,
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
      'one was caught up after the ledger was written out',
      (all) => {
        all.nemesis.push({ exported: true, at: end })
        deliveriesOf(all).push(delivery(2, { due: tick(2) + 500, token: 99, in: end + 600, out: end + 601 }))
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

describe('a worker that was cut off while its lease passed to another, and starts after that one', () => {
  /** Worker 70 leased the second tick ahead, was found dead before its time, and starts it late under its old token. */
  const cutOff = (all: World) => {
    all.ledger.splice(
      1,
      1,
      row(2, { token: 25, worker: 71 }),
      row(2, {
        ...{
          outcome: 'stale',
          final: false,
          reason: 'lease_lost',
          leased_at: null,
          fired_at: null,
          available_at: null,
        },
        ...{ started_at: tick(2) + 1_500, finished_at: tick(2) + 1_505, recorded_at: tick(2) + 4_000 },
      }),
    )
    deliveriesOf(all).splice(
      1,
      1,
      delivery(2, { token: 25 }),
      delivery(2, { in: tick(2) + 1_502, out: tick(2) + 1_504 }),
    )
    all.tables.incarnations.push({
      ...{ incarnation: 71, pid: 8, roles: ['worker'], state: 'alive', started_at: start, ended_at: null },
    })
  }

  test('is explained by what happened to it when it started', async () => {
    const kinds = await found((all) => {
      cutOff(all)
      const victims = [{ name: 'worker-1', pid: 7 }]
      all.nemesis.push(
        { fault: 'cut-off', number: 1, at: tick(2) - 2_000, victims },
        { lifted: 1, at: tick(2) + 1_000 },
        { healed: 1, at: tick(2) + 1_000, settled: true },
      )
    })
    expect(kinds).toEqual([])
  })

  test('is not explained where nothing happened', async () => {
    expect(await found(cutOff)).toContain('unexplained_delivery')
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

  test('a takeover is told by its parts, and by the first fire of what was taken', async () => {
    const all = world()
    const epochs = [
      [3, 5],
      [4, 9],
    ]
    all.nemesis.push({ takeover: 400, noticed: 200, freed: 300, epochs, at: tick(1) - 1_500, partitions: 2 })
    const { figures } = await check(all)
    expect(figures.takeover_parts_ms).toMatchObject({
      noticed: { p50: 200 },
      freed: { p50: 300 },
      taken: { p50: 400 },
      first_fire: { count: 1, p50: 500 },
    })
  })

  test('a run that waited for its place is no figure of redelivery', async () => {
    const all = world()
    withRescue(all)
    deliveriesOf(all).splice(2, 0, delivery(3, { in: tick(2) + 500, out: tick(2) + 600 }))
    const { figures } = await check(all)
    expect(figures.redelivery_ms).toMatchObject({ count: 0 })
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
