// BullMQ on a Redis with AOF. What is done is removed, as its guide advises for high rates.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../lib/figures.mjs'

const concurrency = 100

export default function bullMq(load) {
  let [bull, queue, worker, connection] = []
  const finished = { count: 0, last: 0 }
  const work = async (handler) => {
    worker = new bull.Worker('q', (job) => Promise.resolve(handler(job)), { connection, concurrency })
    worker.on('completed', () => {
      finished.count += 1
      finished.last = now()
    })
    worker.on('error', (error) => console.error('bullmq:', error.message))
    await worker.waitUntilReady()
  }
  const optionsOf = (due) => {
    const timestamp = Date.now()
    return { timestamp, delay: Math.max(0, due - timestamp), removeOnComplete: true }
  }
  return {
    async open({ redis }) {
      bull = await load('bullmq')
      connection = redis
      queue = new bull.Queue('q', { connection })
      await queue.waitUntilReady()
      await queue.obliterate({ force: true })
    },
    addOne: (i, due) => queue.add('t', { i, due }, optionsOf(due)),
    addMany: (jobs) =>
      queue.addBulk(jobs.map(({ i, due }) => ({ name: 't', data: { i, due }, opts: optionsOf(due) }))),
    settle: () => undefined,
    listen: (note) => work(({ data: { i, due } }) => note(i, due)),
    async drained(count) {
      while (finished.count < count) await wait(5)
      return finished.last
    },
    async stored() {
      const counts = await queue.getJobCounts()
      return Object.values(counts).reduce((sum, count) => sum + count, 0)
    },
    async recurring(count, note) {
      const begun = now()
      let next = 0
      const line = async () => {
        while (next < count) {
          const i = next++
          await queue.upsertJobScheduler(
            `k${i}`,
            { pattern: '* * * * *' },
            { name: 't', data: { i }, opts: { removeOnComplete: true } },
          )
        }
      }
      await Promise.all(Array.from({ length: 32 }, line))
      const took = now() - begun
      await work(({ id, data: { i } }) => note(i, Number(id.split(':').pop())))
      return took
    },
    async close() {
      await worker?.close(true).catch(() => undefined)
      await queue?.obliterate({ force: true }).catch(() => undefined)
      await queue?.close()
    },
  }
}
