import type pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { TestClock } from './test-clock.js'
import { createTestDatabase, type TestDatabase } from './test-database.js'
import { type NodeOptions, TestNode } from './test-house.js'
import { until } from './until.js'

const emptied = [
  ...['queue', 'dead_letters', 'ledger', 'replays', 'timers', 'segments', 'job_versions', 'jobs'],
  ...['incarnations', 'brake', 'alerts', 'redrives', 'signing_secrets', 'effects', 'targets'],
  ...['tenant_jobs', 'idempotency_keys'],
  'tick_changes',
  ...['api_keys', 'audit_log', 'calendars'],
  ...['operations', 'run_counts'],
  ...['outbox', 'enqueuers'],
  ...['alert_notifications', 'alert_channels', 'alert_silences', 'alert_rules', 'job_health'],
]

/**
 * A database and a clock for a test file; nodes and sessions for each of its tests. After a test everything that it
 * made is gone, so that no tick of one test fires in another. The clock goes on.
 */
export class House {
  readonly nodes: TestNode[] = []
  private sessions: pg.Client[] = []
  private closing: (() => Promise<void>)[] = []

  constructor(
    readonly database: TestDatabase,
    readonly clock: TestClock,
  ) {}

  async node(options: NodeOptions = {}): Promise<TestNode> {
    const node = await TestNode.start(this.database, this.clock, options)
    this.nodes.push(node)
    return node
  }

  /** Several nodes that know of each other and share the partitions. */
  async fleet(count: number, options: NodeOptions = {}): Promise<TestNode[]> {
    const fleet: TestNode[] = []
    for (let at = 0; at < count; at++) fleet.push(await this.node(options))
    // One pass in which each lets go of what is another's, and one in which the others take it.
    for (let pass = 0; pass < 2; pass++) for (const node of fleet) await node.beat()
    return fleet
  }

  /** A session that ends with the test, whatever it holds. */
  async session(): Promise<pg.Client> {
    const session = await this.database.session()
    this.sessions.push(session)
    return session
  }

  /** Done after the test, before what it made is gone. */
  onEmpty(close: () => Promise<void>): void {
    this.closing.push(close)
  }

  query<Row extends object = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.database.query<Row>(text, values)
  }

  now(): Promise<number> {
    return this.clock.databaseNow()
  }

  /** How many sessions wait for a lock now. */
  async lockWaiters(): Promise<number> {
    const [row] = await this.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return row?.waiting ?? 0
  }

  /** Waits until this many sessions wait for a lock. */
  async lockWaits(count: number): Promise<void> {
    await until(`${count} sessions wait for a lock`, async () => (await this.lockWaiters()) === count)
  }

  /** Lets the workers finish what they have begun, without letting time pass. */
  async finished(node: TestNode, left = 0): Promise<void> {
    await until(`the worker holds ${left} runs`, async () => {
      await this.clock.advance(0)
      return node.worker.inFlight === left
    })
  }

  /** Lets time pass in small steps until the promise has settled; answers what it came to. */
  async during<Result>(work: Promise<Result>, stepMs = 20): Promise<Result> {
    let settled = false
    const done = () => {
      settled = true
    }
    work.then(done, done)
    await until('the work under way ends', async () => {
      await this.clock.advance(stepMs)
      return settled
    })
    return work
  }

  async empty(): Promise<void> {
    for (const session of this.sessions) await session.end()
    this.sessions = []
    for (const close of this.closing.splice(0)) await close()
    for (const node of this.nodes) if (!node.gone) await node.leave()
    this.nodes.length = 0
    this.clock.forgetTimers()
    await this.query('DROP FUNCTION IF EXISTS carillon_test.gate() CASCADE')
    for (const table of emptied) await this.query('SELECT carillon_test.wipe($1)', [table])
    await this.forgetWatch()
    await this.query(
      'UPDATE carillon.partitions SET owner = NULL, expires_at = 0, zone_data = NULL WHERE owner IS NOT NULL OR zone_data IS NOT NULL',
    )
  }

  /** The watch over alerts begins now: what was before is none of a test's. */
  private async forgetWatch(): Promise<void> {
    await this.query(
      "UPDATE carillon.alert_watch SET through = carillon.now_ms(), looked_at = 0, memory = '{}', pinged_at = 0, slice_ms = 60000",
    )
  }

  static async open(): Promise<House> {
    const database = await createTestDatabase()
    const clock = await TestClock.install(database)
    await database.query(`CREATE FUNCTION carillon_test.wipe(name text) RETURNS void LANGUAGE plpgsql
      AS $$ BEGIN EXECUTE format('DELETE FROM carillon.%I', name); END $$`)
    const house = new House(database, clock)
    await house.forgetWatch()
    return house
  }

  async close(): Promise<void> {
    await this.empty()
    await this.database.close()
  }
}

/** The house of a test file. Call it once, at the top; use what it answers inside tests. */
export function useHouse(): () => House {
  let house: House | undefined
  beforeAll(async () => {
    house = await House.open()
  })
  afterEach(async () => house?.empty())
  afterAll(async () => house?.close())
  return () => {
    if (house === undefined) throw new Error('The house is open only inside tests.')
    return house
  }
}
