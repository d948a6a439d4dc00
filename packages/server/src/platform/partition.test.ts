import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newUuid } from './ids.js'
import { partitionCount, partitionOf } from './partition.js'

/** Computed by an independent implementation of the same hash. A job that changed its partition would be lost. */
it.each([
  ['00000000-0000-0000-0000-000000000000', 166],
  ['ffffffff-ffff-ffff-ffff-ffffffffffff', 21],
  ['01890a5d-ac96-774b-bcce-b302099a8057', 194],
  ['019a8d4e-7c00-7000-8000-000000000000', 56],
  ['019a8d4e-7c00-7000-8000-000000000001', 150],
])('the job %s is in partition %i for ever', (uuid, partition) => {
  expect(partitionOf(uuid)).toBe(partition)
})

it('there are 256 partitions, and every job is in one of them', () => {
  expect(partitionCount).toBe(256)
  fc.assert(
    fc.property(fc.oneof(fc.uuid(), fc.string()), (id) => {
      const partition = partitionOf(id)
      expect(Number.isInteger(partition) && partition >= 0 && partition < 256).toBe(true)
    }),
  )
})

it.each([
  { name: 'ids of one moment that differ in their random part', idOf: randomTail },
  { name: 'ids that differ in their time alone', idOf: byTime },
  { name: 'new ids', idOf: () => newUuid() },
])('spreads $name evenly', ({ idOf }) => {
  const jobs = 256 * 400
  const counts = new Array<number>(256).fill(0)
  for (let at = 0; at < jobs; at++) {
    const partition = partitionOf(idOf(at))
    counts[partition] = (counts[partition] ?? 0) + 1
  }
  // 400 a partition, with a standard deviation of 20: six of them is chance in less than one case of a million.
  expect(Math.min(...counts)).toBeGreaterThan(400 - 6 * 20)
  expect(Math.max(...counts)).toBeLessThan(400 + 6 * 20)
})

function randomTail(at: number): string {
  const tail = createHash('sha256').update(String(at)).digest('hex')
  return `019a8d4e-7c00-7${tail.slice(0, 3)}-8${tail.slice(3, 6)}-${tail.slice(6, 18)}`
}

function byTime(at: number): string {
  const time = (0x019a8d4e7c00 + at * 977).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}
