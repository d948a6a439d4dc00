import { expect, test } from 'vitest'
import { statement } from '../../src/db/statement.js'
import type { DueTimer } from '../../src/pipeline/fire/plan.js'
import { timerOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const readTimers = statement<{ jobs: number[]; partitions: number[]; start_ats: number[] }, DueTimer>(
  new URL('../../src/pipeline/fire/read-timers.sql', import.meta.url),
)

/** Not to be compressed. */
const noise = (length: number) =>
  Array.from({ length }, (_, at) => String.fromCharCode(33 + ((at * at * 7919 + at * 31) % 90))).join('')

test('a timer comes with what its definition takes to keep: a short one its size, whatever is longer, or compressed, the most', async () => {
  const node = await house().node()
  const payloads = ['', 'x'.repeat(1_000), noise(9_000), 'the same again '.repeat(1_000)]
  const sizes = []
  for (const payload of payloads) {
    const job = await node.register({ schedule: '* * * * *', payload })
    const { partition, start_at: startAt } = await timerOf(house(), job)
    const where = { jobs: [job.key], partitions: [partition], start_ats: [startAt as number] }
    const [timer] = await house().database.database.run(readTimers, where)
    sizes.push(timer?.definition_bytes ?? 0)
  }
  const [none = 0, some = 0, ...most] = sizes
  expect(none).toBeGreaterThan(0)
  expect(some - none).toBeGreaterThanOrEqual(1_000)
  expect(some - none).toBeLessThan(1_100)
  expect(most).toEqual([4_000, 4_000])
})
