import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spreadMs } from '../spread.js'
import { jobIdOf } from '../../platform/ids.js'
import { type DueTimer, placesOf, planTick, type Terms } from './plan.js'
import { type OpenReplay, planReplay } from './replay-plan.js'
import { utcText } from '../../time/iso-text.js'

const due = Date.parse('2026-01-01T01:00:00Z')
const minute = 60_000
const uuid = '01890a5d-ac96-774b-bcce-b302099a8057'

const usual: Terms = { lateToleranceMs: 15_000, overloaded: false, windowFactor: 1 }
const overloaded: Terms = { lateToleranceMs: 10_000, overloaded: true, windowFactor: 1 }

const definition: DueTimer['definition'] = {
  name: 'job',
  schedule: '*/10 * * * *',
  timezone: 'UTC',
  anchor: due - 86_400_000,
  dst_gap: 'run_after',
  dst_overlap: 'first',
  exclude: [],
  on_excluded: 'exclude',
  starts_at: null,
  ends_at: null,
  max_runs: null,
  jitter_seconds: 0,
  fire_window_seconds: 0,
  idempotency_key_template: '{{job_id}}',
  max_retries: 3,
  retry_backoff: 'fixed',
  missed_window: 'RUN_ALL',
  max_missed: 10,
  misfire_grace_seconds: null,
  overlap_policy: 'SKIP',
  max_concurrent: null,
  priority: 5,
  timeout_seconds: 300,
}

function timerOf(given: Partial<DueTimer> = {}, more: Partial<DueTimer['definition']> = {}): DueTimer {
  return {
    job: 1,
    partition: 2,
    tenant: 1,
    due,
    start_at: due,
    rev: 0,
    runs: 0,
    accounted_through: due - 10 * minute,
    uuid,
    version: 1,
    route: 1,
    place: null,
    ticks_changed_until: null,
    definition_bytes: 300,
    definition: { ...definition, ...more },
    now: due,
    ...given,
  }
}

describe('a tick on time', () => {
  it('runs at its start, and the cursor goes to the next', () => {
    expect(planTick(timerOf({ start_at: due + 700 }), usual)).toMatchObject({
      runDue: due,
      availableAt: due + 700,
      nextDue: due + 10 * minute,
      nextStart: due + 10 * minute,
      skip: null,
      replay: null,
      places: 1,
      waits: false,
      gaps: [],
    })
  })

  it('keeps the cursor where max_runs lets the statement decide: an overlap is no run', () => {
    const plan = planTick(timerOf({ runs: 1 }, { max_runs: 2 }), usual)
    expect(plan).toMatchObject({ runDue: due, nextDue: due + 10 * minute })
  })
})

describe('a fire window', () => {
  const job = { jitter_seconds: 30, fire_window_seconds: 60 }

  it('puts the next start off by the job’s own part of it', () => {
    const { nextDue, nextStart } = planTick(timerOf({}, job), usual)
    expect((nextStart ?? 0) - (nextDue ?? 0)).toBe(spreadMs(jobIdOf(uuid), job))
  })

  it('is widened by the operator’s factor, and jitter is not', () => {
    const spread = (windowFactor: number) => {
      const { nextDue, nextStart } = planTick(timerOf({}, job), { ...usual, windowFactor })
      return (nextStart ?? 0) - (nextDue ?? 0)
    }
    const jitter = spreadMs(jobIdOf(uuid), { ...job, fire_window_seconds: 0 })
    const window = spread(1) - jitter
    expect(window).toBeGreaterThan(0)
    expect(Math.abs(spread(10) - jitter - 10 * window)).toBeLessThanOrEqual(10)
  })

  it('is widened up to the next tick and not beyond: what outlasts the order would be missed', () => {
    for (const window of [60, 300, 599]) {
      for (let at = 0; at < 50; at++) {
        const of = { uuid: uuid.replace(/^../, (16 + at).toString(16)) }
        const timer = timerOf(of, { fire_window_seconds: window })
        const { nextDue, nextStart } = planTick(timer, { ...usual, windowFactor: 100 })
        expect((nextStart ?? 0) - (nextDue ?? 0)).toBeLessThan(10 * minute)
      }
    }
  })

  it('that is wider than the time between two ticks is not narrowed', () => {
    const timer = timerOf({}, { fire_window_seconds: 3_600 })
    const starts = [1, 100].map((windowFactor) => planTick(timer, { ...usual, windowFactor }).nextStart)
    expect(starts[1]).toBe(starts[0])
  })

  it('does not move the start of the tick that is due, unless there is an overload', () => {
    const timer = timerOf({ start_at: due + 20_000, now: due + 21_000 }, job)
    expect(planTick(timer, { ...usual, windowFactor: 100 }).availableAt).toBe(due + 20_000)
  })
})

describe('in an overload', () => {
  it('a tick is spread over what is left of its window, never earlier than its start or now', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 3_600 }),
        fc.integer({ min: 0, max: 600_000 }),
        fc.integer({ min: -10_000, max: 10_000 }),
        fc.constantFrom(1, 2.5, 100),
        (job, window, spread, late, windowFactor) => {
          const start = due + Math.min(spread, window * 1_000 - 1)
          const now = start + late
          const timer = timerOf({ job, start_at: start, now }, { fire_window_seconds: window })
          const { runDue, availableAt } = planTick(timer, { ...overloaded, windowFactor })
          expect(runDue).toBe(due)
          const wider = Math.max(1, Math.min(windowFactor, 600 / window))
          const end = due + window * wider * 1_000
          if (end <= Math.max(start, now)) expect(availableAt).toBe(start)
          else {
            expect(availableAt).toBeGreaterThanOrEqual(Math.max(start, now))
            expect(availableAt).toBeLessThan(end)
          }
        },
      ),
    )
  })

  it('ticks of many jobs do not all start together', () => {
    const starts = Array.from(
      { length: 200 },
      (_, job) =>
        planTick(timerOf({ job, now: due + 1_000 }, { fire_window_seconds: 600 }), overloaded).availableAt,
    )
    expect(new Set(starts).size).toBeGreaterThan(150)
    expect(Math.max(...starts) - Math.min(...starts)).toBeGreaterThan(400_000)
  })

  it('a tick without a window starts when it would', () => {
    expect(planTick(timerOf({ now: due + 5_000 }), overloaded).availableAt).toBe(due)
  })

  it('missed ticks say so, each by its own policy', () => {
    const late = { now: due + 35 * minute }
    expect(planTick(timerOf(late), overloaded)).toMatchObject({
      reason: 'overload',
      runDue: null,
      skip: null,
      replay: { from: due, to: due + 30 * minute, count: 4 },
    })
    expect(planTick(timerOf(late, { missed_window: 'RUN_ONCE' }), overloaded)).toMatchObject({
      reason: 'overload',
      skip: { count: 3 },
      replay: { count: 1 },
    })
    expect(planTick(timerOf(late), usual).reason).toBe('missed')
  })
})

describe('max_runs', () => {
  it.each([
    ['fewer than are left', 3, 0, { count: 3, from: due + 10 * minute }, null],
    ['as many as are left', 4, 0, { count: 4, from: due }, null],
    ['more than were missed', 5, 0, { count: 4, from: due }, due + 40 * minute],
    ['with runs made before', 5, 3, { count: 2, from: due + 20 * minute }, null],
  ])('allows %s to be replayed', (_name, most, runs, replay, next) => {
    const plan = planTick(timerOf({ now: due + 35 * minute, runs }, { max_runs: most }), usual)
    expect(plan.replay).toEqual({ ...replay, to: due + 30 * minute })
    expect(plan.nextDue).toBe(next)
    expect(plan.nextStart).toBe(next)
    expect((plan.skip?.count ?? 0) + (plan.replay?.count ?? 0)).toBe(4)
  })

  it('does not end a job whose missed ticks are passed over', () => {
    const plan = planTick(
      timerOf({ now: due + 35 * minute, runs: 1 }, { max_runs: 2, missed_window: 'SKIP' }),
      usual,
    )
    expect(plan).toMatchObject({ runDue: null, replay: null, nextDue: due + 40 * minute })
  })

  it('ends with the one that RUN_ONCE replays', () => {
    const plan = planTick(
      timerOf({ now: due + 35 * minute, runs: 1 }, { max_runs: 2, missed_window: 'RUN_ONCE' }),
      usual,
    )
    expect(plan).toMatchObject({ replay: { count: 1 }, nextDue: null, nextStart: null })
  })
})

describe('places', () => {
  it.each([
    ['SKIP', null, { places: 1, waits: false }],
    ['QUEUE', null, { places: 1, waits: true }],
    ['REPLACE', null, { places: 1, waits: true }],
    ['ALLOW', 3, { places: 3, waits: false }],
    ['ALLOW', null, { places: null, waits: false }],
  ] as const)('of %s with max_concurrent %s', (overlap_policy, max_concurrent, places) => {
    expect(placesOf({ overlap_policy, max_concurrent })).toEqual(places)
  })
})

describe('wall times that the clocks jump over', () => {
  const gone = Date.parse('2027-03-28T01:00:00Z')
  const madrid = { schedule: '30 2 * * *', timezone: 'Europe/Madrid', dst_gap: 'skip' as const }
  const day = 86_400_000

  it.each(['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const)(
    'are noted beside ticks missed under %s',
    (missed_window) => {
      const first = Date.parse('2027-03-27T01:30:00Z')
      const timer = timerOf(
        { due: first, start_at: first, accounted_through: first - day, now: first + 3 * day + 3_600_000 },
        { ...madrid, missed_window, anchor: first - 10 * day, misfire_grace_seconds: 30 * 86_400 },
      )
      expect(planTick(timer, usual).gaps).toEqual([{ at: gone, count: 1, reason: 'dst_gap', next: null }])
    },
  )
})

describe('the next tick of a replay', () => {
  const replay: OpenReplay = {
    replay: 1,
    job: 1,
    partition: 2,
    tenant: 1,
    cursor_ms: due,
    to_ms: due + 20 * minute,
    version: 1,
    uuid,
    route: 1,
    definition,
    calendars: null,
    skipped: null,
  }

  it('leads to the one after it, up to the last', () => {
    expect(planReplay(replay)).toMatchObject({ nextCursor: due + 10 * minute, nextDue: due + 10 * minute })
    expect(planReplay({ ...replay, cursor_ms: due + 10 * minute })).toMatchObject({
      nextCursor: due + 20 * minute,
    })
  })

  it('is the last one where the range ends, though the schedule goes on', () => {
    expect(planReplay({ ...replay, cursor_ms: due + 20 * minute })).toMatchObject({
      nextCursor: null,
      nextDue: due + 30 * minute,
      places: 1,
    })
  })

  it('is the last one where the schedule ends', () => {
    const once = { ...definition, schedule: utcText(due) }
    expect(planReplay({ ...replay, definition: once })).toMatchObject({ nextCursor: null, nextDue: null })
  })
})
