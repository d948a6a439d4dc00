import { describe, expect, test } from 'vitest'
import {
  definition,
  deliveriesOf,
  delivery,
  end,
  found,
  row,
  start,
  tick,
  withRescue,
  type Entry,
  type World,
} from './hand-made.js'

// The checker, held against ledgers with one thing wrong: each wrong must be seen.
describe('each violation is found:', () => {
  test.each<[string, string, (all: World) => void]>([
    [
      'unaccounted',
      'a tick without a record',
      (all) => {
        all.ledger.splice(2, 1)
        deliveriesOf(all).splice(2, 1)
      },
    ],
    [
      'foreign',
      'a record of no tick',
      (all) => {
        all.ledger.splice(
          2,
          0,
          row(2, {
            due: tick(2) + 500,
            outcome: 'skipped',
            reason: 'overlap',
            token: null,
            fired_at: null,
            started_at: null,
          }),
        )
      },
    ],
    [
      'foreign',
      'a delivery that is not on record',
      (all) => {
        deliveriesOf(all).splice(2, 0, delivery(2, { due: tick(2) + 500, token: 22, in: tick(2) + 600 }))
      },
    ],
    [
      'miscounted',
      'a range whose count is not that of the rule',
      (all) => {
        all.ledger.splice(
          1,
          3,
          row(2, {
            outcome: 'skipped',
            attempt: 0,
            due_to: tick(4),
            ticks: 2,
            reason: 'missed',
            recorded_at: tick(4) + 10_001,
            token: null,
            fired_at: null,
            started_at: null,
          }),
        )
        deliveriesOf(all).splice(1, 3)
      },
    ],
    [
      'too_many_runs',
      'more runs than max_runs',
      (all) => {
        Object.assign(all.tables.jobs[0] as Entry, { definition: { ...definition, max_runs: 5 } })
      },
    ],
    [
      'verify_disagrees',
      'carillon verify says otherwise',
      (all) => {
        all.nemesis.push({ verify: { unaccounted: 1, doubled: 0 }, at: end })
      },
    ],
    [
      'stale_epoch',
      'a tick fired under an old epoch',
      (all) => {
        Object.assign(all.ledger[3] as Entry, { epoch: 6 })
        Object.assign(all.ledger[5] as Entry, { epoch: 6 })
      },
    ],
    [
      'rescued_alive',
      'a run taken from a worker that lives',
      (all) => {
        withRescue(all)
        Object.assign(all.tables.incarnations[0] as Entry, { state: 'alive', ended_at: null })
      },
    ],
    [
      'shared_incarnation',
      'two lives under one id',
      (all) => {
        all.nemesis.push({ started: 'worker-1', name: 'worker-1', pid: 9, at: tick(3), ready: true })
      },
    ],
    [
      'changed_after_close',
      'a record after the final one',
      (all) => {
        all.ledger.splice(
          2,
          0,
          row(2, { outcome: 'failed', final: false, attempt: 2, token: 25, recorded_at: tick(2) + 90 }),
        )
      },
    ],
    [
      'claimed',
      'a success that nobody saw',
      (all) => {
        deliveriesOf(all).splice(2, 1)
      },
    ],
    [
      'early_starts',
      'a delivery before its time',
      (all) => {
        Object.assign(deliveriesOf(all)[2] as Entry, { in: tick(3) - 1 })
      },
    ],
    [
      'early_starts',
      'a start before its time, by the ledger',
      (all) => {
        Object.assign(all.ledger[2] as Entry, { started_at: tick(3) - 1 })
      },
    ],
    [
      'another_key',
      'a retry under another key',
      (all) => {
        withRescue(all)
        Object.assign(deliveriesOf(all)[2] as Entry, { key: 'another' })
      },
    ],
    [
      'too_many_attempts',
      'more attempts than allowed',
      (all) => {
        Object.assign(all.ledger[2] as Entry, { attempt: 4 })
      },
    ],
    [
      'dead_letters',
      'a run without attempts left and without its dead letter',
      (all) => {
        Object.assign(all.ledger[2] as Entry, { outcome: 'dead', attempt: 3 })
      },
    ],
    [
      'dead_letters',
      'a dead letter of a run that went well',
      (all) => {
        all.tables.dead_letters.push({ job: 1, due: tick(2), origin: 0, seq: 0, round: 0, attempts: 3 })
      },
    ],
    [
      'beside',
      'two runs of a job at once',
      (all) => {
        Object.assign(all.ledger[1] as Entry, { recorded_at: tick(3) + 500 })
      },
    ],
    [
      'after_pause',
      'a run after an acknowledged pause',
      (all) => {
        all.client.push({
          call: 'pause',
          name: 'job',
          status: 'ok',
          invoked: tick(2) + 100,
          answered: tick(2) + 200,
        })
        Object.assign(all.tables.jobs[0] as Entry, { state: 'paused' })
      },
    ],
    [
      'lost_acknowledged',
      'a created job that is not there',
      (all) => {
        all.client.push({ call: 'create', name: 'other', status: 'ok', invoked: start, answered: start })
      },
    ],
    [
      'lost_acknowledged',
      'an edit that is in no version',
      (all) => {
        all.client.push({
          call: 'edit',
          name: 'job',
          status: 'ok',
          invoked: start,
          answered: start,
          body: '{"description":"edit 1"}',
        })
      },
    ],
    [
      'lost_acknowledged',
      'a triggered run of which nothing is known',
      (all) => {
        all.client.push({
          call: 'trigger',
          name: 'job',
          status: 'ok',
          invoked: start,
          answered: start,
          run: '1 1 0',
        })
      },
    ],
    [
      'lost_acknowledged',
      'a resumed job that is paused',
      (all) => {
        all.client.push({ call: 'pause', name: 'job', status: 'ok', invoked: end, answered: end })
        all.client.push({ call: 'resume', name: 'job', status: 'ok', invoked: end, answered: end })
        Object.assign(all.tables.jobs[0] as Entry, { state: 'paused' })
      },
    ],
    [
      'half_done',
      'half of an edit',
      (all) => {
        all.client.push({
          call: 'edit',
          name: 'job',
          status: 'unknown',
          invoked: start,
          answered: start,
          body: '{"description":"edit 1","timezone":"Europe/Athens"}',
        })
        Object.assign(all.tables.jobs[0] as Entry, { definition: { ...definition, description: 'edit 1' } })
      },
    ],
    [
      'server_error',
      'an answer that no server gives',
      (all) => {
        all.client.push({
          call: 'poison',
          name: 'poison-1',
          status: 'unknown',
          code: 500,
          invoked: start,
          answered: start,
        })
      },
    ],
    [
      'not_drained',
      'runs that are left',
      (all) => {
        all.nemesis.push({ health: { left: '3 runs', sizes: [] }, at: end })
      },
    ],
    [
      'not_back_to_baseline',
      'memory that stays',
      (all) => {
        all.nemesis.push({
          health: { left: null, sizes: [{ what: 'memory', before: 1, after: 9, most: 2 }] },
          at: end,
        })
      },
    ],
    [
      'crashed',
      'a process that ended of its own accord',
      (all) => {
        all.nemesis.push({
          ended: 'worker-1',
          name: 'worker-1',
          pid: 7,
          code: 1,
          signal: null,
          at: end + 5_000,
        })
      },
    ],
    [
      'not_settled',
      'partitions without an owner after a fault',
      (all) => {
        all.nemesis.push({ healed: 1, at: end, settled: false })
      },
    ],
    [
      'orphaned_lease',
      'a partition whose owner is dead',
      (all) => {
        Object.assign(all.tables.partitions[0] as Entry, { owner: 'dead' })
      },
    ],
    [
      'orphaned_lease',
      'a run held by one that is dead',
      (all) => {
        all.tables.queue.push({ job: 1, due: tick(9), origin: 0, seq: 0, held_by: 70, holder: 'dead' })
      },
    ],
  ])('%s: %s', async (kind, _name, change) => {
    expect(await found(change)).toEqual([kind])
  })

  test('double_firings: a tick that was fired twice', async () => {
    const kinds = await found((all) => {
      all.ledger.splice(
        2,
        0,
        row(2, { token: 25, epoch: 5, fired_at: tick(2) + 50, recorded_at: tick(2) + 90 }),
      )
      deliveriesOf(all).splice(2, 0, delivery(2, { in: tick(2) + 60, token: 25 }))
    })
    expect(kinds).toContain('double_firings')
  })

  test('double_firings: one lease that was delivered twice', async () => {
    const kinds = await found((all) => deliveriesOf(all).splice(2, 0, delivery(2, { in: tick(2) + 60 })))
    expect(kinds).toContain('double_firings')
  })

  test('stale_token: a worker that lost its lease closed the run of its successor', async () => {
    const kinds = await found((all) => {
      withRescue(all)
      all.ledger[2] = row(2, { recorded_at: tick(2) + 1_200 })
    })
    expect(kinds).toContain('stale_token')
  })

  test('unexplained_delivery: a run delivered again while nothing was wrong', async () => {
    const kinds = await found((all) => {
      withRescue(all)
      all.nemesis = all.nemesis.filter(({ fault, ended }) => fault === undefined && ended === undefined)
    })
    expect(kinds).toContain('unexplained_delivery')
  })

  test('after_delete: a run after an acknowledged delete', async () => {
    const kinds = await found((all) => {
      all.client.push({
        call: 'delete',
        name: 'job',
        status: 'ok',
        invoked: tick(2) + 100,
        answered: tick(2) + 200,
      })
      Object.assign(all.tables.jobs[0] as Entry, { state: 'deleted' })
    })
    expect(kinds).toEqual(['after_delete'])
  })
})
