// pg-boss at its best: batches of a thousand, the next one fetched at once while batches are full, its shortest poll.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../lib/figures.mjs'

const queue = 'q'
const settings = {
  'hot-second': { batchSize: 1_000, localConcurrency: 2 },
  steady: { batchSize: 1_000, localConcurrency: 1 },
  recurring: { batchSize: 1_000, localConcurrency: 1 },
  register: {},
}
settings.saturate = settings['hot-second']

export default function pgBoss(load) {
  let [PgBoss, boss, pool, own, address] = []
  const start = async (more) => {
    boss = new PgBoss({ connectionString: address, max: 10, ...more })
    boss.on('error', (error) => console.error('pg-boss:', error.message))
    await boss.start()
  }
  const work = (handler) =>
    boss.work(queue, { ...own, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }, async (jobs) => {
      const at = now()
      for (const job of jobs) handler(job.data, at)
    })
  return {
    async open({ url, workload }) {
      ;({ PgBoss } = await load('pg-boss'))
      const { default: pg } = await load('pg')
      address = url
      own = settings[workload] ?? {}
      pool = new pg.Pool({ connectionString: url, max: 2 })
      pool.on('error', () => undefined)
      await start({ schedule: false })
      await boss.createQueue(queue)
    },
    addOne: (i, due) => boss.send(queue, { i, due }, { startAfter: new Date(due) }),
    addMany: (jobs) =>
      boss.insert(
        queue,
        jobs.map(({ i, due }) => ({ data: { i, due }, startAfter: new Date(due) })),
      ),
    settle: () => pool.query('ANALYZE'),
    listen: (note) => work(({ i, due }, at) => note(i, due, at)),
    async drained() {
      for (;;) {
        const { rowCount } = await pool.query(
          "SELECT FROM pgboss.job WHERE name = $1 AND state < 'completed' LIMIT 1",
          [queue],
        )
        if (rowCount === 0) return now()
        await wait(10)
      }
    },
    async stored() {
      const { rows } = await pool.query('SELECT count(*)::int AS count FROM pgboss.job WHERE name = $1', [
        queue,
      ])
      return rows[0].count
    },
    async recurring(count, note) {
      const begun = now()
      let next = 0
      const line = async () => {
        while (next < count) {
          const i = next++
          await boss.schedule(queue, '* * * * *', { i }, { key: `k${i}` })
        }
      }
      await Promise.all(Array.from({ length: 32 }, line))
      const took = now() - begun
      // One instance registers, another schedules: the first was told not to.
      await boss.stop({ graceful: false })
      // As often as it may look; by itself it looks every thirty seconds.
      await start({ cronMonitorIntervalSeconds: 1, cronWorkerIntervalSeconds: 1 })
      // A job does not say which minute it stands for: the n-th of a schedule stands for the n-th minute. The first is the
      // one that had passed when the instance started.
      const first = Math.floor(now() / 60_000)
      const fires = new Int32Array(count)
      await work(({ i }, at) => note(i, (first + fires[i]++) * 60_000, at))
      return took
    },
    async close() {
      await boss?.stop({ graceful: false, timeout: 1_000 }).catch(() => undefined)
      await pool?.end()
    },
  }
}
