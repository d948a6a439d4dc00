import { describe, expect, test } from 'vitest'
import {
  definition,
  deliveriesOf,
  delivery,
  type Entry,
  found,
  row,
  start,
  tick,
  withDefinition,
  type World,
} from './hand-made.js'

const keyOf = (at: number) => `${tick(at)} 0 0`
const call = (name: string, more: Entry = {}): Entry => ({
  ...{ call: name, name: 'job', status: 'ok', invoked: tick(2) + 100, answered: tick(2) + 200, ...more },
})
const letter = (more: Entry = {}): Entry => ({
  ...{ job: 1, due: tick(2), origin: 0, seq: 0, round: 0, attempts: 1, ...more },
})

/** The second tick used up its attempts; somebody re-drove it, and it succeeded. */
function redriven(all: World): void {
  withDefinition(all, { max_retries: 0 })
  for (const one of all.ledger) one.max_attempts = 1
  Object.assign(all.ledger[1] as Entry, { outcome: 'dead', reason: 'task_error' })
  Object.assign(deliveriesOf(all)[1] as Entry, { said: 'refused' })
  all.ledger.splice(
    2,
    0,
    row(2, {
      ...{ round: 1, max_attempts: 1, token: 25, fired_at: tick(2) + 900, leased_at: tick(2) + 1_000 },
      ...{ started_at: tick(2) + 1_001, finished_at: tick(2) + 1_005, recorded_at: tick(2) + 1_010 },
    }),
  )
  deliveriesOf(all).splice(2, 0, delivery(2, { token: 25, in: tick(2) + 1_002, out: tick(2) + 1_004 }))
  all.client.push(call('redrive', { run: keyOf(2) }))
}

describe('dead letters, re-driven and discarded', () => {
  test.each<[string, string[], (all: World) => void]>([
    ['one is re-driven, and succeeds under the same attempt', [], redriven],
    [
      'nobody asked for the re-drive',
      ['unasked'],
      (all) => {
        redriven(all)
        all.client.splice(0)
      },
    ],
    [
      'the re-drive was refused, and is there',
      ['unasked'],
      (all) => {
        redriven(all)
        Object.assign(all.client[0] as Entry, { status: 'failed' })
      },
    ],
    [
      'two were acknowledged, and one is there',
      ['lost_acknowledged'],
      (all) => {
        redriven(all)
        all.client.push(call('redrive', { run: keyOf(2) }))
      },
    ],
    [
      'it is back in the queue, and still a dead letter',
      ['dead_letters'],
      (all) => {
        redriven(all)
        all.tables.dead_letters.push(letter())
      },
    ],
    [
      'the second round is delivered twice',
      ['double_firings', 'too_many_deliveries', 'unexplained_delivery'],
      (all) => {
        redriven(all)
        deliveriesOf(all).splice(3, 0, delivery(2, { token: 26, in: tick(2) + 1_008, out: tick(2) + 1_009 }))
        Object.assign(all.ledger[2] as Entry, { token: 26 })
      },
    ],
    [
      'the closed first round is written to after the second began',
      ['changed_after_close', 'stale_token'],
      (all) => {
        redriven(all)
        all.ledger.splice(
          2,
          0,
          row(2, { max_attempts: 1, token: 20, recorded_at: tick(2) + 500, final: false }),
        )
      },
    ],
    [
      'it is gone, and nobody discarded it',
      ['dead_letters'],
      (all) => {
        redriven(all)
        all.ledger.splice(2, 1)
        deliveriesOf(all).splice(2, 1)
        all.client.splice(0)
      },
    ],
    [
      'somebody discarded it',
      [],
      (all) => {
        redriven(all)
        all.ledger.splice(2, 1)
        deliveriesOf(all).splice(2, 1)
        all.client.splice(0, 1, call('discard', { run: keyOf(2) }))
      },
    ],
    [
      'it was discarded, and is there',
      ['lost_acknowledged'],
      (all) => {
        redriven(all)
        all.ledger.splice(2, 1)
        deliveriesOf(all).splice(2, 1)
        all.tables.dead_letters.push(letter())
        all.client.splice(0, 1, call('discard', { run: keyOf(2) }))
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

describe('runs that were cancelled', () => {
  const cancelled = (all: World) => {
    Object.assign(all.ledger[1] as Entry, { outcome: 'cancelled', reason: 'cancelled' })
    Object.assign(deliveriesOf(all)[1] as Entry, { said: 'aborted' })
  }
  test.each<[string, string[], (all: World) => void]>([
    [
      'somebody asked for it',
      [],
      (all) => {
        cancelled(all)
        all.client.push(call('cancel', { run: keyOf(2) }))
      },
    ],
    ['nobody asked for it', ['unfounded_skip'], cancelled],
    [
      'somebody asked for it of another run',
      ['unfounded_skip'],
      (all) => {
        cancelled(all)
        all.client.push(call('cancel', { run: keyOf(3), invoked: tick(3) + 50, answered: tick(3) + 60 }))
      },
    ],
    [
      'it begins long after that was acknowledged',
      ['after_cancel'],
      (all) => {
        Object.assign(all.ledger[1] as Entry, { started_at: tick(2) + 4_000, recorded_at: tick(2) + 4_100 })
        Object.assign(deliveriesOf(all)[1] as Entry, { in: tick(2) + 4_001, out: tick(2) + 4_050 })
        all.client.push(call('cancel', { run: keyOf(2) }))
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

describe('backfills', () => {
  const backfill = (more: Entry = {}): Entry => ({
    ...{
      job: 1,
      seq: 7,
      from_ms: tick(1),
      to_ms: tick(3),
      created_at: tick(6),
      ticks: [1, 2, 3].map(tick),
      total: 3,
      done: 3,
    },
    ...{ state: 'done', ...more },
  })
  /** The first three ticks ran once more, on request. */
  const backfilled = (all: World) => {
    for (const at of [3, 2, 1]) {
      const later = {
        fired_at: tick(6),
        leased_at: tick(6),
        started_at: tick(6) + at,
        recorded_at: tick(6) + 20 + at,
      }
      const own = { origin: 2, seq: 7, catch_up: true, token: 100 + at, available_at: tick(6), ...later }
      all.ledger.splice(at, 0, row(at, { ...own, finished_at: tick(6) + 10 + at }))
      deliveriesOf(all).push(
        delivery(at, { origin: 2, seq: 7, token: 100 + at, in: tick(6) + at + 0.5, out: tick(6) + at + 0.6 }),
      )
    }
    withDefinition(all, { overlap_policy: 'ALLOW' })
    Object.assign(all.tables, { backfills: [backfill()] })
    all.client.push(call('backfill'))
  }
  const tablesOf = (all: World) => all.tables as typeof all.tables & { backfills: Entry[] }

  test.each<[string, string[], (all: World) => void]>([
    ['each of its ticks ran once', [], backfilled],
    [
      'nobody asked for it',
      ['unasked'],
      (all) => {
        backfilled(all)
        all.client.splice(0)
      },
    ],
    [
      'it was acknowledged, and is not there',
      ['lost_acknowledged'],
      (all) => {
        all.client.push(call('backfill'))
      },
    ],
    [
      'it is done, and one of its ticks did not run',
      ['unaccounted'],
      (all) => {
        backfilled(all)
        all.ledger.splice(3, 1)
        all.deliveries.set(
          'job_1',
          deliveriesOf(all).filter(({ token }) => token !== 102),
        )
      },
    ],
    [
      'one of its ticks ended twice',
      ['changed_after_close', 'double_firings', 'stale_token'],
      (all) => {
        backfilled(all)
        const second = all.ledger.find(({ token }) => token === 102) as Entry
        all.ledger.splice(all.ledger.indexOf(second) + 1, 0, { ...second, recorded_at: tick(6) + 90 })
      },
    ],
    [
      'a tick that was still on its way is left out',
      [],
      (all) => {
        backfilled(all)
        all.ledger.splice(5, 1)
        all.deliveries.set(
          'job_1',
          deliveriesOf(all).filter(({ token }) => token !== 103),
        )
        const left = { ticks: [tick(1), tick(2)], total: 2, done: 2, created_at: tick(3) }
        tablesOf(all).backfills = [backfill(left)]
      },
    ],
    [
      'it names a tick less than the rule',
      ['foreign', 'miscounted'],
      (all) => {
        backfilled(all)
        tablesOf(all).backfills = [backfill({ ticks: [tick(1), tick(2)], total: 2, done: 2 })]
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

describe('what an application asks for in its transaction', () => {
  const order = (status: string): Entry => ({
    ...{ call: 'order', name: 'order-1', order: 1, jobId: 'job_1', status, invoked: start, answered: start },
  })
  const ordered = (status: string, isCommitted: boolean, hasJob: boolean) => (all: World) => {
    all.client.push({ ...order(status), jobId: hasJob ? 'job_1' : 'job_9' })
    Object.assign(all.tables, { orders: isCommitted ? [{ id: 1, job_id: hasJob ? 'job_1' : 'job_9' }] : [] })
  }
  test.each<[string, string[], (all: World) => void]>([
    ['committed, both are there', [], ordered('ok', true, true)],
    ['committed, the order is lost', ['half_done', 'lost_acknowledged'], ordered('ok', false, true)],
    ['committed, the task is lost', ['lost_acknowledged'], ordered('ok', true, false)],
    ['rolled back, neither is there', [], ordered('failed', false, false)],
    ['rolled back, the task is there', ['half_done'], ordered('failed', false, true)],
    ['unknown, both are there', [], ordered('unknown', true, true)],
    ['unknown, neither is there', [], ordered('unknown', false, false)],
    ['unknown, only the order is there', ['lost_acknowledged'], ordered('unknown', true, false)],
    ['unknown, only the task is there', ['half_done'], ordered('unknown', false, true)],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

describe('what a handler does once', () => {
  const named = (all: World, name: string) => {
    Object.assign(all.tables.jobs[0] as Entry, { name, definition: { ...definition, name } })
  }
  const identity = (at: number) => ({ due: tick(at), origin: 0, seq: 0 })
  const effects = (all: World, more: Entry[] = []) => {
    named(all, 'effect-1')
    const each = [1, 2, 3, 4, 5, 6].flatMap((at) =>
      [false, true].map((remembered) => ({ ...identity(at), token: at * 10, remembered })),
    )
    Object.assign(all, { effects: new Map([['job_1', [...each, ...more]]]) })
  }
  const bookings = (all: World, change: (rows: Entry[]) => void = () => undefined) => {
    named(all, 'book-1')
    const rows: Entry[] = [1, 2, 3, 4, 5, 6].map((at) => ({ job: 'job_1', ...identity(at), token: at * 10 }))
    change(rows)
    Object.assign(all.tables, { bookings: rows })
  }
  test.each<[string, string[], (all: World) => void]>([
    ['each effect was done once', [], (all) => effects(all)],
    [
      'an effect was done before one that was remembered: its worker died between',
      [],
      (all) => effects(all, [{ ...identity(2), token: 19, remembered: false }]),
    ],
    [
      'an effect was done again after it was remembered',
      ['effect_repeated'],
      (all) => effects(all, [{ ...identity(2), token: 21, remembered: false }]),
    ],
    ['a run succeeded without its effect', ['claimed'], (all) => named(all, 'effect-1')],
    ['each run that succeeded has booked once', [], (all) => bookings(all)],
    ['one has booked twice', ['booked_wrong'], (all) => bookings(all, (rows) => rows.push({ ...rows[1] }))],
    ['one has not booked', ['booked_wrong'], (all) => bookings(all, (rows) => rows.splice(1, 1))],
    [
      'one has booked under another lease than it was closed under',
      ['booked_wrong'],
      (all) => bookings(all, (rows) => Object.assign(rows[1] as Entry, { token: 19 })),
    ],
    [
      'one that did not succeed has booked',
      ['booked_wrong'],
      (all) => {
        bookings(all)
        Object.assign(all.ledger[1] as Entry, { outcome: 'dead', attempt: 3, reason: 'task_error' })
        all.tables.dead_letters.push(letter())
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect([...new Set((await found(change)).filter((kind) => kind !== 'lost_acknowledged'))]).toEqual(kinds)
  })
})
