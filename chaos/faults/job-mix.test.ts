import { expect, test } from 'vitest'
import { drawJobs } from '../job-mix.mjs'
import { Random } from '../random.mjs'

interface Drawn {
  busy: boolean
  input: { payload: { ms: number } | null }
}

const startsAt = Date.parse('2026-10-25T00:00:00Z')
const span = { startsAt, endsAt: startsAt + 3_600_000 }
const slow = [1, 7, 11, 42]
  .flatMap((seed) => drawJobs(300, new Random(seed), span) as Drawn[])
  .flatMap(({ busy, input }) => (input.payload === null ? [] : [{ busy, ms: input.payload.ms }]))

test('what a job can have in line is done within the thirty seconds that draining may take, with one run done twice', () => {
  expect(slow.length).toBeGreaterThan(50)
  for (const { ms } of slow) expect(3 * ms).toBeLessThan(25_000)
})

test('some runs take longer than their period all the same, so that they meet the next tick', () => {
  expect(slow.filter(({ busy, ms }) => busy && ms > 5_000).length).toBeGreaterThan(3)
})
