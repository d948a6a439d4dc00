import type { Coordination, Life } from '../../src/cluster/coordination.js'
import { PostgresCoordination } from '../../src/cluster/postgres/coordination.js'
import { DatabaseClock } from '../../src/db/database-clock.js'
import { Database } from '../../src/db/pool.js'
import { coordinationConformance } from '../conformance/coordination.js'
import { type Fleet, type Fence, times } from '../conformance/fleet.js'
import { pretendServerAge } from '../kit/meddle.js'
import { silentLog } from '../kit/test-database.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** Postgres elects and fences in the same rows. */
function openFleet(): Promise<Fleet> {
  const { clock, database: test } = house()
  const open = new Map<Database, () => Promise<void>>()
  return Promise.resolve({
    crashNoticedWithinMs: 2 * times.heartbeatMs,
    process() {
      const database = new Database({
        url: test.url,
        poolSize: 2,
        statementTimeoutMs: 20_000,
        applicationName: 'carillon test node',
        log: silentLog,
      })
      // A server that was just started for the tests says nothing by the locks that it does not know.
      pretendServerAge(database, 86_400_000)
      const databaseClock = new DatabaseClock(clock, () => undefined)
      const postgres = new PostgresCoordination({ database, databaseClock, clock, log: silentLog, ...times })
      const lives: Life[] = []
      const coordination: Coordination = {
        async join(introduction) {
          const life = await postgres.join(introduction)
          lives.push(life)
          return life
        },
        take: (...args) => postgres.take(...args),
        renew: (...args) => postgres.renew(...args),
        release: (...args) => postgres.release(...args),
      }
      const end = async () => {
        open.delete(database)
        for (const life of lives) await life.drop()
        await database.close()
      }
      open.set(database, end)
      return Promise.resolve({ coordination, crash: end })
    },
    advance: (ms) => clock.advance(ms),
    fences: () =>
      house().query<Fence>('SELECT partition, epoch, owner FROM carillon.partitions ORDER BY partition'),
    async failOver() {
      await house().query(
        'UPDATE carillon.partitions SET epoch = epoch - 2, owner = NULL WHERE owner IS NOT NULL',
      )
      await house().query('CREATE SEQUENCE IF NOT EXISTS carillon_test.timeline START 2')
      await house().query('GRANT USAGE, SELECT ON SEQUENCE carillon_test.timeline TO carillon_fleet')
      await house().query("SELECT nextval('carillon_test.timeline')")
      await house().query(`CREATE OR REPLACE FUNCTION carillon.timeline_base() RETURNS bigint
        LANGUAGE sql STABLE AS 'SELECT last_value << 40 FROM carillon_test.timeline'`)
    },
    async close() {
      for (const end of [...open.values()]) await end()
    },
  })
}

coordinationConformance(openFleet)
