import type { Clock } from '../../src/platform/clock.js'
import type { TestDatabase } from './test-database.js'

/** Where every test's time begins, unless it says otherwise: a Monday, far from any DST change. */
export const testEpoch = Date.parse('2026-11-02T12:00:00Z')

/**
 * Node's clock and the database's, turned together by hand. The database's clock function is replaced in the test's own
 * database: production SQL has no switch for this. Timers run when their time comes, in order, and what they set off is
 * awaited as far as it stays within the process.
 */
export class TestClock implements Clock {
  private readonly database: TestDatabase
  private now = 0
  private timers: { at: number; order: number; callback: () => void }[] = []
  private order = 0

  private constructor(
    database: TestDatabase,
    private readonly startsAt: number,
  ) {
    this.database = database
  }

  static async install(database: TestDatabase, startsAt: number = testEpoch): Promise<TestClock> {
    await database.query('CREATE SCHEMA IF NOT EXISTS carillon_test')
    // Servers work as roles of their own, which may use what the kit puts into their way.
    await database.query('GRANT USAGE ON SCHEMA carillon_test TO PUBLIC')
    await database.query('ALTER DEFAULT PRIVILEGES IN SCHEMA carillon_test GRANT ALL ON TABLES TO PUBLIC')
    await database.query('CREATE TABLE IF NOT EXISTS carillon_test.clock (now_ms bigint NOT NULL)')
    await database.query('DELETE FROM carillon_test.clock')
    await database.query('INSERT INTO carillon_test.clock VALUES ($1)', [startsAt])
    await database.query(`CREATE OR REPLACE FUNCTION carillon.now_ms() RETURNS bigint
      LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT now_ms FROM carillon_test.clock'`)
    return new TestClock(database, startsAt)
  }

  monotonic(): number {
    return this.now
  }

  /** What the database's clock says, without asking it: true as long as no test has stepped it. */
  wall(): number {
    return this.startsAt + Math.round(this.now)
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.now + Math.max(0, delayMs), order: this.order++, callback }
    this.timers.push(timer)
    return () => {
      this.timers = this.timers.filter((other) => other !== timer)
    }
  }

  /** Moves both clocks and runs the timers that come due, each at its own instant. */
  async advance(ms: number): Promise<void> {
    const end = this.now + ms
    for (;;) {
      const next = this.timers
        .filter(({ at }) => at <= end)
        .sort((a, b) => a.at - b.at || a.order - b.order)[0]
      if (next === undefined) break
      await this.moveTo(next.at)
      this.timers = this.timers.filter((timer) => timer !== next)
      next.callback()
      await settled()
    }
    await this.moveTo(end)
  }

  /** Moves the database's clock alone: a step that no node made. */
  async stepDatabase(ms: number): Promise<void> {
    await this.database.query('UPDATE carillon_test.clock SET now_ms = now_ms + $1', [ms])
  }

  async databaseNow(): Promise<number> {
    const [row] = await this.database.query<{ now_ms: number }>('SELECT now_ms FROM carillon_test.clock')
    return row?.now_ms ?? 0
  }

  /** Calls every timer off: those of nodes that are gone would otherwise go on in the next test. */
  forgetTimers(): void {
    this.timers = []
  }

  private async moveTo(at: number): Promise<void> {
    if (at <= this.now) return
    await this.database.query('UPDATE carillon_test.clock SET now_ms = now_ms + $1', [
      Math.round(at) - Math.round(this.now),
    ])
    this.now = at
  }
}

/** Lets promises that are ready run their course. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
