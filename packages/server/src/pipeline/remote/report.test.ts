import { expect, test } from 'vitest'
import type { LeasedRun } from '../run.js'
import { resultOf } from './report.js'

const leasedAt = 1_000_000

/** When an attempt began and ended, by what its worker says and by the database's clock. */
function timesOf(said: number | undefined, now: number) {
  const { startedAt, finishedAt } = resultOf(
    { outcome: 'success', ...(said !== undefined && { started_at: new Date(said).toISOString() }) } as never,
    { run: {} as LeasedRun, definition: null, leasedAt, now, stop: null },
  )
  return [startedAt, finishedAt]
}

test.each([
  ['says nothing', undefined, leasedAt + 500, [leasedAt, leasedAt + 500]],
  ['says when', leasedAt + 200, leasedAt + 500, [leasedAt + 200, leasedAt + 500]],
  ['has a clock that is behind', leasedAt - 9_000, leasedAt + 500, [leasedAt, leasedAt + 500]],
  ['has a clock that is ahead', leasedAt + 9_000, leasedAt + 500, [leasedAt + 500, leasedAt + 500]],
])('the start of a worker that %s lies between the lease and the end', (_, said, now, times) => {
  expect(timesOf(said, now)).toEqual(times)
})

test.each([undefined, leasedAt - 9_000, leasedAt - 400, leasedAt + 9_000])(
  'no attempt starts or ends before its lease, which is after its tick, though the clock was set back since (%s)',
  (said) => {
    expect(timesOf(said, leasedAt - 500)).toEqual([leasedAt, leasedAt])
  },
)
