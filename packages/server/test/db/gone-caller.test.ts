import { expect, test } from 'vitest'
import { Database } from '../../src/db/pool.js'
import { parseStatement } from '../../src/db/statement.js'
import { PgProxy } from '../kit/pg-proxy.js'
import { silentLog } from '../kit/test-database.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** Far above the time in which Postgres looks after a caller of ours. */
const soon = { timeout: 5_000, interval: 20 }

test.for(['fleet', 'api'] as const)(
  'what a caller of the role %s left behind when it was killed is dropped, also while it waits for a lock',
  async (role, { skip }) => {
    const [{ version } = { version: '' }] = await house().query<{ version: string }>('SELECT version()')
    if (!version.includes('linux')) skip('this Postgres cannot see that a caller is gone')
    // As a Postgres is that nobody set up for us.
    await house().query(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_connection_check_interval = 0', current_database()); END $$",
    )
    const holder = await house().session()
    await holder.query('SELECT pg_advisory_lock(4711)')
    const proxy = await PgProxy.listen(house().database.url, () => 'pass')
    const database = new Database({
      ...{ url: proxy.url, poolSize: 1, statementTimeoutMs: 600_000, log: silentLog },
      applicationName: 'gone caller',
      ...(role === 'api' && { confinedTo: () => null }),
    })
    const waiting = async () => {
      const rows = await house().query(
        "SELECT FROM pg_stat_activity WHERE application_name = 'gone caller' AND wait_event_type = 'Lock'",
      )
      return rows.length
    }
    const asked = database.run(parseStatement('test/wait.sql', 'SELECT pg_advisory_lock(4711)'), {})
    const failed = expect(asked).rejects.toThrow(/./)
    await until('the statement waits', async () => (await waiting()) === 1)
    await proxy.sever()
    await failed
    await expect.poll(waiting, soon).toBe(0)
    await holder.query('SELECT pg_advisory_unlock(4711)')
    await database.close()
    await proxy.close()
  },
)
