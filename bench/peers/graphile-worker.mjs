// graphile-worker at its best: local queue, batched completion. It keeps no history: a job that ended is deleted.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../lib/figures.mjs'

const settings = {
  'hot-second': {
    concurrentJobs: 100,
    localQueue: { size: 2_000 },
    completeJobBatchDelay: 0,
    pollInterval: 50,
  },
  steady: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, pollInterval: 10 },
  recurring: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, pollInterval: 50 },
  register: {},
}
settings.saturate = settings['hot-second']

export default function graphileWorker(load) {
  let [worker, pool, utils, runner, own] = []
  const quiet = () => new worker.Logger(() => () => undefined)
  const run = (more) =>
    worker.run({
      pgPool: pool,
      noHandleSignals: true,
      logger: quiet(),
      preset: { worker: own },
      parsedCronItems: [],
      ...more,
    })
  return {
    async open({ url, workload }) {
      worker = await load('graphile-worker')
      const { default: pg } = await load('pg')
      own = settings[workload] ?? {}
      pool = new pg.Pool({ connectionString: url, max: 10 })
      pool.on('error', () => undefined)
      // It asks for this one, too, and says so on the console.
      pool.on('connect', (client) => client.on('error', () => undefined))
      utils = await worker.makeWorkerUtils({ pgPool: pool, logger: quiet() })
      await utils.migrate()
    },
    addOne: (i, due) => utils.addJob('t', { i, due }, { runAt: new Date(due) }),
    addMany: (jobs) =>
      utils.addJobs(
        jobs.map(({ i, due }) => ({ identifier: 't', payload: { i, due }, runAt: new Date(due) })),
      ),
    settle: () => pool.query('ANALYZE'),
    async listen(note) {
      runner = await run({ taskList: { t: ({ i, due }) => note(i, due) } })
      runner.promise.catch((error) => console.error('graphile-worker:', error.message))
    },
    async drained() {
      for (;;) {
        const { rowCount } = await pool.query('SELECT FROM graphile_worker._private_jobs LIMIT 1')
        if (rowCount === 0) return now()
        await wait(10)
      }
    },
    async stored() {
      const { rows } = await pool.query('SELECT count(*)::int AS count FROM graphile_worker._private_jobs')
      return rows[0].count
    },
    async recurring(count, note) {
      const begun = now()
      const items = Array.from({ length: count }, (_, i) => ({
        task: 't',
        match: '* * * * *',
        identifier: `k${i}`,
        payload: { i },
      }))
      runner = await run({
        parsedCronItems: worker.parseCronItems(items),
        taskList: { t: ({ i, _cron: { ts } }) => note(i, Date.parse(ts)) },
      })
      runner.promise.catch((error) => console.error('graphile-worker:', error.message))
      return now() - begun
    },
    async close() {
      await runner?.stop().catch(() => undefined)
      await utils?.release()
      await pool?.end()
    },
  }
}
