import type { BrakeInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { parkedUntil } from '../../src/pipeline/parked.js'
import { incarnationName } from '../../src/platform/ids.js'
import { minute, useHandMade } from '../kit/hand-made.js'
import { testEpoch } from '../kit/test-clock.js'
import { utcText } from '../../src/time/iso-text.js'

const hand = useHandMade()
const iso = (ms: number) => utcText(ms)

async function node(incarnation: number, fields: Record<string, unknown> = {}): Promise<void> {
  await hand().insert('incarnations', {
    incarnation,
    host: `host-${incarnation}`,
    pid: incarnation,
    roles: ['scheduler'],
    tasks: [],
    code_version: '0.1.0',
    state: 'alive',
    beat: 1,
    beat_at: testEpoch - 100,
    session_lock: false,
    started_at: testEpoch - 60_000 + incarnation,
    report: {},
    ...fields,
  })
}

async function own(from: number, to: number, owner: number | null, expiresAt: number): Promise<void> {
  await hand().database.query(
    'UPDATE carillon.partitions SET owner = $3, expires_at = $4, epoch = 7 WHERE partition BETWEEN $1 AND $2',
    [from, to, owner, expiresAt],
  )
}

describe('the cluster', () => {
  test('shows who is there, who left a short while ago, and what each says of itself', async () => {
    await node(1, { report: { lag_ms: 12, overloaded: false } })
    await node(2, { state: 'dead', ended_at: testEpoch - 1_000 })
    await node(3, { state: 'left', ended_at: testEpoch - 3_600_000 })
    const view = await hand().account.cluster(null)
    expect(view.nodes).toMatchObject([
      {
        node: incarnationName(1),
        host: 'host-1',
        pid: 1,
        state: 'alive',
        beat_age_ms: 100,
        report: { lag_ms: 12 },
      },
      { node: incarnationName(2), state: 'dead', ended_at: iso(testEpoch - 1_000) },
    ])
    expect(view.now).toBe(iso(testEpoch))
  })

  test('counts a partition as owned only where its owner lives and its lease holds', async () => {
    await node(1)
    await node(2, { state: 'dead', ended_at: testEpoch - 1_000 })
    await own(0, 99, 1, testEpoch + 5_000)
    await own(100, 149, 2, testEpoch + 5_000)
    await own(150, 199, 1, testEpoch - 1)
    await own(200, 255, null, 0)
    const { partitions, unowned, nodes } = await hand().account.cluster(null)
    expect(partitions).toHaveLength(256)
    expect(unowned).toBe(156)
    expect(nodes[0]).toMatchObject({ partitions: 100 })
    expect(partitions[0]).toEqual({ partition: 0, owner: incarnationName(1), epoch: 7, expires_in_ms: 5_000 })
    expect(partitions[100]).toMatchObject({ owner: null })
    expect(partitions[150]).toMatchObject({ owner: null, expires_in_ms: -1 })
    expect(partitions[200]).toMatchObject({ owner: null, expires_in_ms: null })
  })

  test('has the lag of the oldest start that is due, and none of those ahead', async () => {
    await hand().job({ due: testEpoch + 1, accountedThrough: testEpoch })
    expect(await hand().account.cluster(null)).toMatchObject({ lag_ms: 0, timers_due: 0 })
    await hand().job({
      due: testEpoch - 90_000,
      startAt: testEpoch - 30_000,
      accountedThrough: testEpoch - 100_000,
    })
    await hand().job({ due: testEpoch - 45_000, accountedThrough: testEpoch - 100_000 })
    const view = await hand().account.cluster(null)
    expect(view).toMatchObject({ lag_ms: 45_000 })
    expect(view.timers_due).toBeGreaterThan(0)
  })

  test('counts the queue by what its runs do, and what catch-ups have left', async () => {
    const job = await hand().job()
    const held = { holder: 1, token: 1, leased_at: testEpoch }
    await hand().queued(job, minute(-5), held)
    await hand().queued(job, minute(-3))
    await hand().queued(job, minute(-2))
    await hand().queued(job, minute(1))
    await hand().queued(job, minute(2), held)
    await hand().queued(job, minute(-1), { available_at: parkedUntil })
    const range = { from_ms: 1, to_ms: 10, cursor_ms: 2 }
    await hand().replay(job, { ...range, total: 10, done: 4 })
    await hand().replay(job, { ...range, total: 5, done: 0, state: 'paused' })
    await hand().replay(job, { ...range, total: 99, done: 0, state: 'cancelled' })
    const { queue, replays } = await hand().account.cluster(null)
    expect(queue).toEqual({
      total: 6,
      running: 1,
      ready: 2,
      waiting: 0,
      ahead: 2,
      parked: 1,
      oldest_ready_ms: 180_000,
    })
    expect(replays).toEqual({ running: 1, paused: 1, ticks_left: 11 })
  })
})

describe('the brake', () => {
  const input: BrakeInput = {
    window_factor: 4,
    catch_up_factor: 0.25,
    reason: 'database slow',
    for_seconds: 600,
  }

  test('is set, shown, changed, and taken off', async () => {
    expect(await hand().account.brake()).toBeNull()
    const brake = { window_factor: 4, catch_up_factor: 0.25, reason: 'database slow', set_at: iso(testEpoch) }
    expect(await hand().account.setBrake(input)).toEqual({ ...brake, ends_at: iso(testEpoch + 600_000) })
    const until = { catch_up_factor: 0, reason: 'again', until: '2026-11-02T13:00:00+01:00' }
    await hand().clock.stepDatabase(-60_000)
    expect(await hand().account.setBrake(until)).toMatchObject({
      window_factor: 1,
      catch_up_factor: 0,
      ends_at: '2026-11-02T12:00:00Z',
    })
    expect((await hand().account.cluster(null)).brake).toMatchObject({ reason: 'again' })
    expect(await hand().account.clearBrake()).toBe(true)
    expect(await hand().account.brake()).toBeNull()
    expect(await hand().account.clearBrake()).toBe(false)
  })

  test('ends by itself', async () => {
    await hand().account.setBrake(input)
    await hand().clock.stepDatabase(600_000)
    expect(await hand().account.brake()).toBeNull()
    expect((await hand().account.cluster(null)).brake).toBeNull()
  })

  const { for_seconds: _none, ...endless } = input
  test.each<[string, BrakeInput, string]>([
    ['without an end', endless, '/for_seconds'],
    ['with two ends', { ...input, until: '2026-11-02T13:00:00Z' }, '/for_seconds'],
    ['with an end that has passed', { ...endless, until: '2026-11-02T11:59:00Z' }, '/until'],
    ['with an end that is too far away', { ...endless, until: '2026-11-09T12:00:01Z' }, '/until'],
    ['with an end that is no instant', { ...endless, until: 'tomorrow' }, '/until'],
    ['for longer than a week', { ...input, for_seconds: 604_801 }, '/for_seconds'],
    ['with a reason of blanks', { ...input, reason: ' ' }, '/reason'],
    ['that narrows windows', { ...input, window_factor: 0.5 }, '/window_factor'],
    ['that speeds catch-up up', { ...input, catch_up_factor: 1.5 }, '/catch_up_factor'],
    ['that does nothing', { reason: 'x', for_seconds: 60 }, ''],
  ])('%s is refused, and nothing is set', async (_what, given, pointer) => {
    await expect(hand().account.setBrake(given)).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer }],
    })
    expect(await hand().account.brake()).toBeNull()
  })
})

test('events: those that go on first, then the latest; of the fleet and of one tenant only', async () => {
  await hand().database.query("INSERT INTO carillon.tenants (tenant, name) VALUES (9, 'nine')")
  const event = async (alert: number, tenant: number | null, raised: number, resolved: number | null) =>
    hand().insert('alerts', {
      alert,
      tenant,
      kind: 'overload',
      fingerprint: `f${alert}`,
      subject: `s${alert}`,
      detail: { lag_ms: alert },
      raised_at: testEpoch + raised,
      resolved_at: resolved === null ? null : testEpoch + resolved,
    })
  await event(1, 1, 1, 2)
  await event(2, null, 2, null)
  await event(3, 1, 3, null)
  await event(4, 1, 4, 5)
  await event(5, 9, 5, null)
  const list = async (openOnly: boolean, tenant: number | null = 1, limit = 10) =>
    (await hand().account.events({ tenant, openOnly, limit })).map((one) => one.event)
  expect(await list(false)).toEqual([3, 2, 4, 1])
  expect(await list(true)).toEqual([3, 2])
  expect(await list(false, 1, 1)).toEqual([3])
  expect(await list(true, null)).toEqual([5, 3, 2])
  expect((await hand().account.cluster(1)).events.map((one) => one.event)).toEqual([3, 2])
  expect((await hand().account.events({ tenant: 1, openOnly: true, limit: 10 }))[1]).toEqual({
    event: 2,
    kind: 'overload',
    scope: 'fleet',
    subject: 's2',
    detail: { lag_ms: 2 },
    raised_at: iso(testEpoch + 2),
    resolved_at: null,
  })
})
