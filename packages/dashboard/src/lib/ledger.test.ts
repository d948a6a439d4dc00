import type { Run } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { cellOf, stripOf, tallyOf } from './ledger.js'

const tick = '2026-11-16T03:00:00.000Z'
function run(changes: Partial<Run> = {}): Run {
  return {
    ...{ run_id: 'run_1', job_id: 'job_1', scheduled_at: tick, available_at: tick, started_at: tick },
    ...{ finished_at: null, duration_ms: null, status: 'success', attempt: 1, max_attempts: 4, error: null },
    ...{ reason: null, result: null, catch_up: false, version: 1, fencing_token: 1, worker: null },
    ...{ skipped_until: null, skipped_count: null },
    ...changes,
  }
}

describe('a cell', () => {
  it.each<[string, Partial<Run>, string]>([
    ['ran on time', {}, 'success'],
    ['started late', { started_at: '2026-11-16T03:00:02.000Z' }, 'late'],
    [
      'needed a second attempt, which is no lateness',
      { started_at: '2026-11-16T03:05:00.000Z', attempt: 2 },
      'success',
    ],
    ['had been missed', { catch_up: true }, 'caught_up'],
    ['failed', { status: 'failed' }, 'failed'],
    ['used up its attempts', { status: 'dead' }, 'dead'],
    ['was passed over for an overlap', { status: 'skipped', reason: 'overlap', started_at: null }, 'skipped'],
    ['was passed over unfired', { status: 'skipped', reason: 'missed', started_at: null }, 'missed'],
    ['was passed over in a pause', { status: 'skipped', reason: 'paused', started_at: null }, 'paused'],
    ['waits', { status: 'pending', started_at: null }, 'pending'],
    ['waits for another attempt', { status: 'pending', attempt: 2, started_at: null }, 'retrying'],
    ['was cancelled', { status: 'cancelled' }, 'cancelled'],
    ['runs', { status: 'running' }, 'running'],
  ])('of a tick that %s', (_, changes, outcome) => expect(cellOf(run(changes)).outcome).toBe(outcome))

  it('that stands for a range counts its ticks', () => {
    const until = '2026-11-16T04:00:00.000Z'
    expect(
      cellOf(run({ status: 'skipped', reason: 'missed', skipped_count: 60, skipped_until: until })),
    ).toMatchObject({
      ticks: 60,
      until: Date.parse(until),
    })
  })
})

describe('the strip', () => {
  const runs = Array.from({ length: 80 }, (_, index) =>
    run({ run_id: `run_${index}`, scheduled_at: new Date(Date.parse(tick) - index * 1_000).toISOString() }),
  )

  it('has the newest sixty, as time goes', () => {
    const cells = stripOf(runs)
    expect(cells).toHaveLength(60)
    expect(cells.at(-1)?.runId).toBe('run_0')
    expect(cells[0]?.runId).toBe('run_59')
  })

  it('is summed up by outcome, with the reasons of what did not run, the most frequent first', () => {
    const cells = stripOf([
      run(),
      run({ status: 'dead', reason: 'http_status' }),
      run({ status: 'skipped', reason: 'overlap', skipped_count: 3 }),
      run({ status: 'pending' }),
    ])
    expect(tallyOf(cells)).toEqual({
      ran: 1,
      failed: 1,
      skipped: 3,
      inFlight: 1,
      reasons: [
        ['overlap', 3],
        ['http_status', 1],
      ],
    })
  })
})
