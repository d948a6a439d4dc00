import { describe, expect, test } from 'vitest'
import {
  deliveriesOf,
  delivery,
  end,
  type Entry,
  found,
  killed,
  row,
  tick,
  withDefinition,
  withRescue,
  type World,
} from './hand-made.js'

/** The third tick was delivered twice; of its first attempt the ledger says this. */
function again(all: World, first: Entry): void {
  all.ledger.splice(
    2,
    1,
    row(3, { outcome: 'failed', final: false, ...first }),
    row(3, { attempt: 2, token: 35, started_at: tick(3) + 3_000, recorded_at: tick(3) + 3_010 }),
  )
  deliveriesOf(all).splice(3, 0, delivery(3, { in: tick(3) + 3_000, attempt: 2, token: 35 }))
}
const unexplained = ['too_many_deliveries', 'unexplained_delivery']
const named = (all: World, name: string) => Object.assign(all.tables.jobs[0] as Entry, { name })

describe('a second delivery has a cause that there was', () => {
  test.each<[string, string[], (all: World) => void]>([
    ['a timeout within the deadline', unexplained, (all) => again(all, { reason: 'timeout' })],
    [
      'a timeout after the deadline',
      [],
      (all) => {
        withDefinition(all, { timeout_seconds: 2 })
        again(all, { reason: 'timeout', finished_at: tick(3) + 2_001 })
      },
    ],
    ['a closed connection of a friendly host', unexplained, (all) => again(all, { reason: 'connection' })],
    [
      'a closed connection of the hostile host',
      [],
      (all) => {
        named(all, 'hostile-1')
        again(all, { reason: 'connection' })
      },
    ],
    [
      'a handler that was stopped for nothing',
      ['too_many_deliveries', 'unexplained_abort', 'unexplained_delivery'],
      (all) => {
        again(all, { reason: 'task_error' })
        Object.assign(deliveriesOf(all)[2] as Entry, { said: 'aborted' })
      },
    ],
    [
      'a handler that was stopped with its run',
      [],
      (all) => {
        withDefinition(all, { overlap_policy: 'REPLACE' })
        Object.assign(all.ledger[2] as Entry, { outcome: 'cancelled', reason: 'replaced' })
        Object.assign(deliveriesOf(all)[2] as Entry, { said: 'aborted' })
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

describe('attempts are those of the definition', () => {
  const dead = (all: World, more: Entry) => {
    Object.assign(all.ledger[2] as Entry, { outcome: 'dead', ...more })
    all.tables.dead_letters.push({ job: 1, due: tick(3), origin: 0, seq: 0, round: 0, attempts: 3 })
  }
  test.each<[string, string[], (all: World) => void]>([
    [
      'a run was given more than its job allows',
      ['too_many_attempts'],
      (all) => Object.assign(all.ledger[2] as Entry, { max_attempts: 4 }),
    ],
    [
      'a run was given fewer',
      ['too_few_attempts'],
      (all) => Object.assign(all.ledger[2] as Entry, { max_attempts: 2 }),
    ],
    [
      'a run died before its last attempt',
      ['too_few_attempts'],
      (all) => dead(all, { reason: 'task_error' }),
    ],
    ['a run died with its last attempt', [], (all) => dead(all, { reason: 'task_error', attempt: 3 })],
    [
      'a lost run died at once, as its job wants it',
      [],
      (all) => {
        withDefinition(all, { on_lost: 'fail' })
        dead(all, { reason: 'worker_stopped' })
      },
    ],
    [
      'the hostile host asked for no repetition',
      [],
      (all) => {
        named(all, 'hostile-1')
        dead(all, { reason: 'http_status' })
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

describe('what was not looked at is no good news', () => {
  const without = (all: World, field: string) =>
    (all.nemesis = all.nemesis.filter((entry) => !(field in entry)))
  const verified = (all: World, more: Entry) =>
    Object.assign(all.nemesis.find(({ verify }) => verify !== undefined)?.verify as Entry, more)
  const ends = (more: Entry): Entry => ({ ended: 'worker-1', name: 'worker-1', pid: 7, at: end + 1, ...more })
  test.each<[string, string[], (all: World) => void]>([
    ['fewer ticks than there must be', ['no_evidence'], (all) => (all.settings.leastTicks = 7)],
    ['no look at what is left', ['no_evidence'], (all) => without(all, 'health')],
    ['verify was not asked', ['no_evidence'], (all) => without(all, 'verify')],
    ['verify answered no number', ['verify_disagrees'], (all) => verified(all, { doubled: null })],
    ['verify ended with another code', ['verify_disagrees'], (all) => verified(all, { exit_code: 1 })],
    [
      'a scheduler was killed, and nobody saw a takeover',
      ['no_evidence'],
      (all) => {
        withRescue(all)
        Object.assign(all.nemesis[0] as Entry, { roles: ['scheduler', 'worker'] })
      },
    ],
    [
      'a scheduler was killed, and the takeover was seen',
      [],
      (all) => {
        withRescue(all)
        Object.assign(all.nemesis[0] as Entry, { roles: ['scheduler', 'worker'] })
        all.nemesis.push({ takeover: 800, at: killed.at, partitions: 3 })
      },
    ],
    [
      'a scheduler was killed that held nothing',
      [],
      (all) => {
        withRescue(all)
        Object.assign(all.nemesis[0] as Entry, { roles: ['scheduler', 'worker'] })
        all.nemesis.push({ takeover: null, at: killed.at, partitions: 0 })
      },
    ],
    [
      'a scheduler was killed, and what it held had no owner any more',
      ['not_settled'],
      (all) => {
        withRescue(all)
        Object.assign(all.nemesis[0] as Entry, { roles: ['scheduler', 'worker'] })
        all.nemesis.push({ takeover: null, at: killed.at, partitions: 3 })
      },
    ],
    [
      'memory that could not be read',
      ['not_back_to_baseline'],
      (all) => {
        const sizes = [{ what: 'memory', before: 1, after: null, most: 2 }]
        all.nemesis.push({ health: { left: null, sizes }, at: end })
      },
    ],
    [
      'a run whose holder nobody knows',
      ['orphaned_lease'],
      (all) => all.tables.queue.push({ job: 1, due: tick(9), origin: 0, seq: 0, held_by: 99, holder: null }),
    ],
    [
      'a process that somebody else killed',
      ['crashed'],
      (all) => all.nemesis.push(ends({ code: null, signal: 'SIGKILL', told: false })),
    ],
    [
      'a process that was told to end, and failed',
      ['crashed'],
      (all) => all.nemesis.push(ends({ code: 1, signal: null, told: true })),
    ],
    [
      'a process that was told to end, and did',
      [],
      (all) => all.nemesis.push(ends({ code: 0, signal: null, told: true })),
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

test('a tick that was passed over under an old epoch is seen', async () => {
  const kinds = await found((all) => {
    for (const one of all.ledger.slice(3)) one.epoch = 6
    Object.assign(all.ledger[4] as Entry, {
      outcome: 'skipped',
      attempt: 0,
      reason: 'missed',
      token: null,
      fired_at: null,
      started_at: null,
      epoch: 5,
      recorded_at: tick(5) + 10_001,
    })
    deliveriesOf(all).splice(4, 1)
  })
  expect(kinds).toEqual(['stale_epoch'])
})

test.each<[string, string[], Entry[]]>([
  ['too low', ['half_done'], [{ tenant: 1, jobs: 0, live: 1 }]],
  ['above it', [], [{ tenant: 1, jobs: 2, live: 1 }]],
  ['not known', ['no_evidence'], []],
])('the number of a tenant’s jobs is %s', async (_name, kinds, tenants) => {
  expect(await found((all) => (all.tables.tenants = tenants))).toEqual(kinds)
})

describe('silence after a pause', () => {
  const pause = { call: 'pause', name: 'job', status: 'ok', invoked: tick(2) + 100, answered: tick(2) + 200 }

  test('a resume that failed ends no pause', async () => {
    const kinds = await found((all) => {
      all.client.push(pause, { ...pause, call: 'resume', status: 'failed', invoked: tick(2) + 300 })
      Object.assign(all.tables.jobs[0] as Entry, { state: 'paused' })
    })
    expect(kinds).toEqual(['after_pause'])
  })

  test('a delivery without a record is excused only while a process stands still', async () => {
    const late = (all: World) => {
      all.client.push(pause, { ...pause, call: 'resume', invoked: tick(3) - 500, answered: tick(3) - 400 })
      deliveriesOf(all).splice(2, 0, delivery(2, { in: tick(2) + 5_000, attempt: 2, token: 25 }))
      Object.assign(deliveriesOf(all)[1] as Entry, { said: 'refused' })
    }
    expect(await found(late)).toContain('after_pause')
    const frozen = (all: World) => {
      late(all)
      all.nemesis.push({
        fault: 'freeze',
        number: 1,
        at: tick(2) + 50,
        victims: [{ name: 'worker-1', pid: 7 }],
      })
      all.nemesis.push({ lifted: 1, at: tick(2) + 5_000 })
    }
    expect(await found(frozen)).not.toContain('after_pause')
  })
})

describe('a run that is asked for so many kills and restarts has no evidence without them', () => {
  test.each<[string, string[], (all: World) => void]>([
    ['no kill', ['no_evidence'], (all) => Object.assign(all.settings, { leastKills: 1 })],
    [
      'one kill',
      [],
      (all) => {
        withRescue(all)
        Object.assign(all.settings, { leastKills: 1 })
      },
    ],
    ['no restart', ['no_evidence'], (all) => Object.assign(all.settings, { leastRestarts: 1 })],
    [
      'one restart',
      [],
      (all) => {
        Object.assign(all.settings, { leastRestarts: 1 })
        all.nemesis.push({ database: 'up', at: tick(2) })
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})

describe('a worker that died of a handler that took all its memory', () => {
  /** Its process ended of that; the run went to another worker, and ended as a dead letter. */
  const starved = (all: World, victims: Entry[]) => {
    named(all, 'hog-0')
    withDefinition(all, { max_retries: 0 })
    for (const one of all.ledger)
      Object.assign(one, { outcome: 'dead', reason: 'worker_lost', max_attempts: 1 })
    for (const one of deliveriesOf(all)) Object.assign(one, { out: null, said: null })
    all.tables.incarnations[0] = {
      incarnation: 70,
      pid: 7,
      roles: ['worker'],
      state: 'dead',
      ended_at: tick(1) - 1,
    }
    for (const { due } of all.ledger)
      all.tables.dead_letters.push({ job: 1, due, origin: 0, seq: 0, round: 0 })
    all.nemesis.push(
      { fault: 'out-of-memory', number: 1, at: tick(1) - 5_000, victims },
      { ended: 'worker-1', name: 'worker-1', pid: 7, code: null, signal: 'SIGABRT', at: tick(1) + 100 },
      { lifted: 1, at: end },
      { healed: 1, at: end, settled: true },
    )
  }
  const worker = [{ name: 'worker-1', pid: 7 }]

  test.each<[string, string[], (all: World) => void]>([
    ['was one that this was done to', [], (all) => starved(all, worker)],
    ['was none of them', ['crashed'], (all) => starved(all, [{ name: 'worker-2', pid: 8 }])],
    [
      'and yet the run is said to have succeeded',
      ['claimed'],
      (all) => {
        starved(all, worker)
        Object.assign(all.ledger[0] as Entry, { outcome: 'success', reason: null })
        all.tables.dead_letters.shift()
      },
    ],
  ])('%s', async (_name, kinds, change) => {
    expect(await found(change)).toEqual(kinds)
  })
})
