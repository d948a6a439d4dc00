import type { ClusterView, Verification, Why } from '@carillon/sdk'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import { momentOf, secondsOf } from '../moments.js'
import type { Look } from '../output/look.js'
import { brakeText, clusterText, eventTable } from './cluster.js'
import { isWhole, verificationText } from './verification.js'
import { whyText } from './why.js'

const look: Look = {
  colors: pc.createColors(false),
  width: Number.POSITIVE_INFINITY,
  now: new Date('2026-11-02T12:00:00Z'),
  timeZone: 'UTC',
}

const why: Why = {
  job_id: 'job_1',
  job: 'digest',
  at: '2026-11-02T09:00:00.000Z',
  local: '2026-11-02T10:00:00+01:00',
  timezone: 'Europe/Madrid',
  now: '2026-11-02T12:00:00.000Z',
  verdict: 'ran',
  run_id: 'run_0v3k5j8m2q4w6e8r0t2y4u6i8o0p2a',
  doubled: false,
  summary: 'Ran on time: ended as dead in attempt 2 of 2.',
  reason: 'timeout',
  todo: 'Raise timeout_seconds.',
  before: '2026-11-02T08:00:00.000Z',
  after: null,
  segment: { version: 3, from: '2026-11-01T00:00:00.000Z', to: null, zone_data: '2026a' },
  start_at: '2026-11-02T09:00:00.000Z',
  fired_at: '2026-11-02T08:59:58.000Z',
  leased_at: null,
  attempts: [
    {
      attempt: 2,
      round: 1,
      outcome: 'dead',
      final: true,
      reason: 'timeout',
      error: 'too \u001b[31mslow',
      available_at: null,
      started_at: '2026-11-02T09:00:00.000Z',
      finished_at: '2026-11-02T09:00:30.000Z',
      recorded_at: '2026-11-02T09:00:30.000Z',
      worker: 'node_1',
    },
  ],
  range: { from: '2026-11-02T08:00:00.000Z', to: '2026-11-02T09:00:00.000Z', ticks: 2 },
  replay: {
    state: 'running',
    reason: 'missed',
    from: '',
    to: '',
    position: 4,
    done: 1,
    total: 9,
    per_minute: null,
  },
}

describe('why', () => {
  it('says it in the first line, then what to do, then the details', () => {
    const lines = whyText(why, look).split('\n')
    expect(lines[0]).toBe('✗ Ran on time: ended as dead in attempt 2 of 2.')
    expect(lines[1]).toBe('→ Raise timeout_seconds.')
    const text = lines.join('\n')
    expect(text).toMatch(
      /^Asked about +2026-11-02T10:00:00\+01:00 Europe\/Madrid = 2026-11-02T09:00:00\.000Z$/m,
    )
    expect(text).toMatch(/^Version +3, from 2026-11-01 00:00:00 UTC/m)
    expect(text).toMatch(/^One record for +2 ticks/m)
    expect(text).toMatch(/^Catch-up +running; 4 before this one; 1 of 9 done$/m)
    expect(text).toMatch(/^2 +✗ dead .* 30\.0 s +timeout; too \\u001b\[31mslow +node_1$/m)
    expect(text).not.toContain('Tick after')
    expect(text).not.toContain('more than once')
  })

  it('warns of a tick that is on record twice, and marks what is lost', () => {
    expect(whyText({ ...why, doubled: true }, look)).toContain('on record more than once')
    expect(whyText({ ...why, verdict: 'unaccounted', attempts: [] }, look)).toMatch(/^✗ /)
    expect(whyText({ ...why, verdict: 'skipped', attempts: [] }, look)).toMatch(/^» /)
  })
})

const found: Verification = {
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-11-02T00:00:00.000Z',
  jobs: 1,
  expected: 12_345,
  ran: 12_340,
  late: 0,
  caught_up: 0,
  skipped: 5,
  in_flight: 0,
  paused: 0,
  pending: 0,
  unaccounted: 0,
  doubled: 0,
  unexpected: 0,
  wrong_count: 0,
  tz_changed: 0,
  failed: 0,
  not_verifiable: 0,
  skipped_by_reason: { overlap: 5 },
  findings: [],
  notes: ['The ledger begins later.'],
  next_cursor: null,
}

describe('verification', () => {
  it('shows the numbers with the reasons, the notes, and that all is well', () => {
    const text = verificationText(found, look)
    expect(text).toContain('2026-11-01T00:00:00.000Z to 2026-11-02T00:00:00.000Z, 1 job\n')
    expect(text).toMatch(/^ +12,345 +expected/m)
    expect(text).toMatch(/^ +5 +overlap/m)
    expect(text).toMatch(/^ +0 +unaccounted/m)
    expect(text).toContain('! The ledger begins later.')
    expect(text).toMatch(/✓ Every tick is accounted for \(12,345\)\.\n$/)
    expect(text).not.toContain('unexpected')
    expect(isWhole(found)).toBe(true)
  })

  it('shows what is wrong, and where', () => {
    const finding = {
      job_id: 'job_1',
      job: 'digest',
      tick: '2026-11-01T09:00:00.000Z',
      kind: 'doubled',
      detail: 'twice',
    } as const
    const wrong = { ...found, doubled: 1, unexpected: 2, findings: [finding] }
    const text = verificationText(wrong, look)
    expect(text).toMatch(/doubled +digest +2026-11-01T09:00:00\.000Z +twice +job_1/)
    expect(text).toContain('✗ 0 unaccounted, 1 doubled.')
    expect(isWhole(wrong)).toBe(false)
    expect(isWhole({ ...found, unaccounted: 1 })).toBe(false)
    const none = verificationText({ ...found, skipped: 0, skipped_by_reason: {} }, look)
    expect(none).toMatch(/skipped +not run, with a reason\n/)
    expect(verificationText({ ...found, unexpected: 2 }, look)).toContain('2 records are in doubt')
  })
})

const brake = {
  window_factor: 4,
  catch_up_factor: 0,
  reason: 'slow disk',
  set_at: '2026-11-02T11:00:00.000Z',
  ends_at: '2026-11-02T12:30:00.000Z',
}
const view: ClusterView = {
  now: '2026-11-02T12:00:00.000Z',
  nodes: [
    {
      node: 'node_1',
      host: 'alpha',
      pid: 7,
      roles: ['api', 'scheduler'],
      tasks: [],
      state: 'alive',
      code_version: '0.1.0',
      started_at: '2026-11-02T11:00:00.000Z',
      ended_at: null,
      beat_age_ms: 120,
      partitions: 1,
      report: { lag_ms: 5, overloaded: false, wheel: { timers: 3 } },
    },
  ],
  partitions: [
    { partition: 0, owner: 'node_1', epoch: 3, expires_in_ms: 9_000 },
    { partition: 1, owner: null, epoch: 9, expires_in_ms: -500 },
  ],
  workers: { alive: 0, data: [] },
  unowned: 1,
  lag_ms: 45_000,
  timers_due: 2,
  queue: { total: 5, running: 1, ready: 2, waiting: 3, ahead: 2, parked: 4, oldest_ready_ms: 3_000 },
  replays: { running: 1, paused: 0, ticks_left: 11 },
  brake: null,
  events: [],
}

describe('cluster', () => {
  it('shows nodes, partitions, lag, queue and catch-up', () => {
    const text = clusterText(view, look, false)
    expect(text).toMatch(
      /^node_1 +● alive +api,scheduler +alpha:7 +120 ms ago +1 +lag_ms=5 overloaded=false wheel=\{"timers":3\}/m,
    )
    expect(text).toMatch(/^Partitions +1 of 2 owned: the ticks of the others wait; epochs 3 to 9$/m)
    expect(text).toMatch(/^Lag +45\.0 s, in 2 partitions$/m)
    expect(text).toMatch(
      /^Queue +5 runs: 1 running, 2 ready, the oldest for 3\.0 s, 3 wait for a place or a host, 2 ahead, 4 parked$/m,
    )
    expect(text).toMatch(/^Catch-up +1 running, 0 paused, 11 ticks left$/m)
    expect(text).not.toContain('OWNER')
  })

  it('lists partitions, brake and events where there are any', () => {
    const event = {
      event: 1,
      kind: 'overload',
      scope: 'fleet',
      subject: 'fleet',
      detail: { lag_ms: 9 },
      raised_at: view.now,
      resolved_at: null,
    } as const
    const text = clusterText({ ...view, brake, events: [event] }, look, true)
    expect(text).toMatch(/^1 +nobody +9 +500 ms ago$/m)
    expect(text).toMatch(/^Catch-up +stopped$/m)
    expect(text).toMatch(/^Ends +2026-11-02 12:30:00 UTC \(in 30 min\)$/m)
    expect(text).toMatch(/^! overload +fleet .*\{"lag_ms":9\}$/m)
    expect(eventTable([{ ...event, resolved_at: view.now }], look)).toContain('✓ overload')
  })

  it('says when nobody is there, and when no brake is on', () => {
    expect(clusterText({ ...view, nodes: [] }, look, false)).toContain('No process is alive')
    expect(brakeText(null, look)).toContain('no brake')
  })
})

describe('times on the command line', () => {
  it.each([
    ['90s', 90],
    ['30m', 1_800],
    ['2 h', 7_200],
    ['7d', 604_800],
    ['1w', 604_800],
    ['', null],
    ['5', null],
    ['1.5h', null],
    ['2026', null],
  ])('%j is %s seconds', (text, seconds) => {
    expect(secondsOf(text)).toBe(seconds)
  })

  it('a time is that long ago, and anything else is taken as it is', () => {
    expect(momentOf('2h', look.now)).toBe('2026-11-02T10:00:00.000Z')
    expect(momentOf('now', look.now)).toBe('2026-11-02T12:00:00.000Z')
    expect(momentOf('2026-11-02T09:00', look.now)).toBe('2026-11-02T09:00')
  })
})
