import type pg from 'pg'
import type { Logger } from 'pino'
import type { Database } from '../db/pool.js'

/**
 * A lock that dies with the process: held on a connection of its own, it is freed by the server the moment that
 * connection breaks, and the peers learn of a crash in a second instead of a lease time. Only a hint: fencing decides.
 *
 * Behind a transaction pooler a session lock would belong to somebody else's session. The server's own idea of our
 * process id tells: where it differs from the one in the protocol, there is a pooler, and no lock is taken.
 */
export class SessionLock {
  private client: pg.Client | null = null
  private held = false

  constructor(
    private readonly database: Database,
    private readonly key: number,
    private readonly log: Logger,
  ) {}

  isHeld(): boolean {
    return this.held
  }

  /** Takes the lock, or takes it again after its connection broke. Failing is no failure of the caller's. */
  async ensure(): Promise<void> {
    if (this.client !== null) return
    const client = this.database.dedicated('carillon session lock')
    client.on('error', () => this.drop(client))
    client.on('end', () => this.drop(client))
    this.client = client
    try {
      await client.connect()
      const direct = (client as pg.Client & { processID?: number }).processID
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      if (rows[0]?.pid !== direct) {
        this.log.info(
          'behind a connection pooler: a crash of this process is noticed by time, not by its connection',
        )
        return
      }
      const { rows: locks } = await client.query<{ held: boolean }>(
        'SELECT pg_try_advisory_lock($1) AS held',
        [this.key],
      )
      this.held = locks[0]?.held ?? false
    } catch (error) {
      this.drop(client)
      this.log.debug({ err: error }, 'session lock not taken')
    }
  }

  async release(): Promise<void> {
    const { client } = this
    this.client = null
    this.held = false
    await client?.end().catch(() => undefined)
  }

  private drop(client: pg.Client): void {
    if (this.client !== client) return
    this.client = null
    this.held = false
    client.end().catch(() => undefined)
  }
}
