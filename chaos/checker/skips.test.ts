import { describe, expect, test } from 'vitest'
import {
  definition,
  deliveriesOf,
  end,
  type Entry,
  found,
  row,
  start,
  tick,
  withDefinition,
  withRescue,
  type World,
} from './hand-made.js'

const skipped = (at: number, more: Entry): Entry =>
  row(at, { outcome: 'skipped', attempt: 0, token: null, fired_at: null, started_at: null, ...more })

/** Instead of its run, the tick has this record. */
function instead(all: World, at: number, more: Entry): void {
  all.ledger[at - 1] = skipped(at, more)
  deliveriesOf(all).splice(at - 1, 1)
}

/** Only the first of its ticks ran, and it is said to have ended. */
function endsEarly(all: World): void {
  all.ledger.splice(1)
  deliveriesOf(all).splice(1)
  Object.assign(all.tables.jobs[0] as Entry, {
    state: 'ended',
    accounted_through: tick(1),
    ended_at: tick(1),
  })
}

const call = (name: string, more: Entry = {}): Entry => ({
  call: name,
  name: 'job',
  status: 'ok',
  invoked: end,
  answered: end,
  ...more,
})

describe('what ends a job owes', () => {
  test('a job without max_runs that ended too early has ticks left', async () => {
    expect(await found(endsEarly)).toEqual(['unaccounted'])
  })

  test('a job that has made all its runs owes no more', async () => {
    expect(
      await found((all) => {
        withDefinition(all, { max_runs: 1 })
        endsEarly(all)
      }),
    ).toEqual([])
  })

  test('a job that ended after fewer runs than it was for has ticks left', async () => {
    expect(
      await found((all) => {
        withDefinition(all, { max_runs: 2 })
        endsEarly(all)
      }),
    ).toEqual(['unaccounted'])
  })

  test.each(['paused', 'deleted', 'collected', 'cancelled'])(
    'a job that nobody asked to be %s',
    async (state) => {
      const failed = { paused: 'pause', deleted: 'delete', collected: 'delete', cancelled: 'delete' }[state]
      const kinds = await found((all) => {
        all.client.push(call(failed as string, { status: 'failed' }))
        Object.assign(all.tables.jobs[0] as Entry, { state })
      })
      expect(kinds).toEqual(['unasked'])
    },
  )
})

describe('a skip has a reason that there was', () => {
  test.each<[string, string[], (all: World) => void]>([
    [
      'missed, and it was not late',
      ['not_caught_up', 'unfounded_skip'],
      (all) => instead(all, 3, { reason: 'missed', recorded_at: tick(3) + 9_900 }),
    ],
    [
      'missed, and it was late',
      [],
      (all) => instead(all, 3, { reason: 'missed', recorded_at: tick(3) + 10_001 }),
    ],
    [
      'a range, of which the youngest was not late, of a job that runs nothing after all',
      ['unfounded_skip'],
      (all) => {
        withDefinition(all, { missed_window: 'SKIP' })
        all.ledger.splice(
          1,
          2,
          skipped(2, { due_to: tick(3), ticks: 2, reason: 'missed', recorded_at: tick(3) + 9_000 }),
        )
        deliveriesOf(all).splice(1, 2)
      },
    ],
    [
      'overload, and it was not late',
      ['not_caught_up', 'unfounded_skip'],
      (all) => instead(all, 3, { reason: 'overload', recorded_at: tick(3) + 2_000 }),
    ],
    [
      'overlap, and nothing else was open',
      ['unfounded_skip'],
      (all) => instead(all, 3, { reason: 'overlap', recorded_at: tick(3) + 3 }),
    ],
    [
      'overlap beside an older run',
      [],
      (all) => {
        Object.assign(all.ledger[1] as Entry, { recorded_at: tick(3) + 500 })
        instead(all, 3, { reason: 'overlap', recorded_at: tick(3) + 3 })
      },
    ],
    [
      'overlap of a job without a limit',
      ['unfounded_skip'],
      (all) => {
        withDefinition(all, { overlap_policy: 'ALLOW' })
        Object.assign(all.ledger[1] as Entry, { recorded_at: tick(3) + 500 })
        instead(all, 3, { reason: 'overlap', recorded_at: tick(3) + 3 })
      },
    ],
    [
      'paused, and nobody paused it',
      ['unfounded_skip'],
      (all) => instead(all, 3, { reason: 'paused', recorded_at: tick(3) + 3 }),
    ],
    [
      'skipped by a request that nobody made',
      ['unfounded_skip'],
      (all) => instead(all, 3, { reason: 'skipped_by_request', recorded_at: tick(3) + 3 }),
    ],
    [
      'replaced, of a job that replaces nothing',
      ['unfounded_skip'],
      (all) => {
        Object.assign(all.ledger[2] as Entry, { outcome: 'cancelled', reason: 'replaced' })
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })

  test('of what was missed, the latest runs after all', async () => {
    const twice = (all: World) => {
      instead(all, 4, { reason: 'missed', recorded_at: tick(4) + 11_000 })
      all.ledger[2] = skipped(3, { reason: 'missed', recorded_at: tick(3) + 10_500 })
      deliveriesOf(all).splice(2, 1)
    }
    expect(await found(twice)).toEqual(['not_caught_up'])
    const graceful = (all: World) => {
      withDefinition(all, { misfire_grace_seconds: 10 })
      twice(all)
    }
    expect(await found(graceful)).toEqual([])
  })
})

describe('of what was missed as many run as the policy says', () => {
  /** Nobody fired until five seconds after the fourth tick: so many of the first were passed over, the others caught up. */
  const outage = (passedOver: number, policy: Entry) => (all: World) => {
    withDefinition(all, policy)
    const decidedAt = tick(4) + 5_000
    const late = { catch_up: true, fired_at: decidedAt, leased_at: decidedAt, started_at: decidedAt + 1 }
    for (const at of [1, 2, 3, 4])
      Object.assign(all.ledger[at - 1] as Entry, late, { recorded_at: decidedAt + 6 })
    for (const [at, delivery] of deliveriesOf(all).slice(0, 4).entries())
      Object.assign(delivery, { in: decidedAt + 2 + at / 10, out: decidedAt + 4 })
    if (passedOver === 0) return
    const range = { due_to: tick(passedOver), ticks: passedOver, reason: 'missed', recorded_at: decidedAt }
    all.ledger.splice(0, passedOver, skipped(1, range))
    deliveriesOf(all).splice(0, passedOver)
  }
  const all = { missed_window: 'RUN_ALL', max_missed: 2, overlap_policy: 'ALLOW' }
  const once = { missed_window: 'RUN_ONCE', overlap_policy: 'ALLOW' }

  test.each<[string, string[], (world: World) => void]>([
    ['RUN_ALL: as many as it names', [], outage(2, all)],
    ['RUN_ALL: one more', ['caught_up_too_many'], outage(1, all)],
    ['RUN_ALL: one less', ['not_caught_up'], outage(3, all)],
    ['RUN_ALL: one less, because of its grace', [], outage(3, { ...all, misfire_grace_seconds: 10 })],
    ['RUN_ONCE: the last', [], outage(3, once)],
    ['RUN_ONCE: the last two', ['caught_up_too_many'], outage(2, once)],
    ['RUN_ONCE: none', ['not_caught_up'], outage(4, once)],
    [
      'RUN_ALL: none was passed over, and more than it names are caught up',
      ['caught_up_too_many'],
      (world) => {
        outage(0, all)(world)
        world.tables.replays.push({
          ...{ job: 1, from_ms: tick(1), to_ms: tick(4), cursor_ms: tick(4) + 1 },
          ...{ total: 4, done: 4, state: 'done' },
        })
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

test('an edit of which one field is the ordinary one is half done', async () => {
  const kinds = await found((all) => {
    const body = JSON.stringify({ description: 'edit 1', missed_window: 'SKIP' })
    all.client.push(call('edit', { invoked: start, answered: start, body }))
    withDefinition(all, { description: 'edit 1' })
  })
  expect(kinds).toEqual(['half_done'])
})

test('beside a run of a version with more places one of an earlier version may go on', async () => {
  const kinds = await found((all) => {
    all.tables.versions.push({ job: 1, version: 1, definition })
    Object.assign(all.tables.jobs[0] as Entry, { version: 2 })
    withDefinition(all, { overlap_policy: 'ALLOW', max_concurrent: 2 })
    Object.assign(all.ledger[1] as Entry, { recorded_at: tick(3) + 500, version: 2 })
  })
  expect(kinds).toEqual([])
})

test('a run has the places of its own version, not of the widest that there ever was', async () => {
  const kinds = await found((all) => {
    all.tables.versions.push({ job: 1, version: 1, definition: { ...definition, overlap_policy: 'ALLOW' } })
    Object.assign(all.tables.jobs[0] as Entry, { version: 2 })
    for (const one of all.ledger) one.version = 2
    Object.assign(all.ledger[1] as Entry, { recorded_at: tick(3) + 500 })
  })
  expect(kinds).toEqual(['beside'])
})

/** The first worker had slept since it leased the second tick: it begins amid the third, by when this attempt is on record. */
function wakesLate(all: World, lostAt: number): void {
  withRescue(all)
  const slept = deliveriesOf(all).splice(1, 1)[0] as Entry
  deliveriesOf(all).splice(3, 0, { ...slept, in: tick(3) + 4, out: tick(3) + 5, said: 'aborted' })
  Object.assign(all.ledger[1] as Entry, { recorded_at: lostAt })
  Object.assign(all.ledger[3] as Entry, { recorded_at: tick(3) + 500 })
}

test('a run begun after its lease was taken back has no place, and takes none', async () => {
  expect(await found((all) => wakesLate(all, tick(2) + 1_000))).toEqual([])
})

test('a run begun before its lease was taken back has its place until then', async () => {
  expect(await found((all) => wakesLate(all, tick(3) + 400))).toContain('beside')
})
