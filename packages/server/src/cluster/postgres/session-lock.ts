import type pg from 'pg'
import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { systemClock } from '../../platform/clock.js'

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
  private wasHeld = false
  private pooled = false
  private released = false
  private taking: Promise<void> | null = null

  constructor(
    private readonly database: Database,
    private readonly key: number,
    private readonly log: Logger,
  ) {}

  isHeld(): boolean {
    return this.held
  }

  /** Whether it is held, or was and will be taken again: its absence then says something of a process that is silent as well. */
  isClaimed(): boolean {
    return this.wasHeld && !this.pooled
  }

  /** Takes the lock, or takes it again after its connection broke. Failing is no failure of the caller's. */
  ensure(): Promise<void> {
    if (this.held || this.pooled || this.released) return Promise.resolve()
    this.taking ??= this.take().finally(() => {
      this.taking = null
    })
    return this.taking
  }

  /** The server does not know the lock any more, whatever the connection looks like from here: begin anew. */
  forget(): void {
    if (this.client !== null) this.drop(this.client)
  }

  async release(): Promise<void> {
    this.released = true
    await this.taking
    await this.end()
  }

  private async take(): Promise<void> {
    try {
      const client = this.client ?? (await this.open())
      if (client === null) return
      // Not to be had while our own old session lingers on the server, or a peer tries it: the next call tries again.
      const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
        this.key,
      ])
      this.held = this.client === client && (rows[0]?.held ?? false)
      this.wasHeld ||= this.held
    } catch (error) {
      this.forget()
      this.log.debug({ err: error }, 'session lock not taken')
    }
  }

  /** A connection straight to the server; null when there is a pooler in between. */
  private async open(): Promise<pg.Client | null> {
    const client = this.database.dedicated('carillon session lock')
    client.on('error', () => this.drop(client))
    client.on('end', () => this.drop(client))
    this.client = client
    await client.connect()
    const direct = (client as pg.Client & { processID?: number }).processID
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    if (rows[0]?.pid === direct) return client
    this.pooled = true
    this.log.info(
      'behind a connection pooler: a crash of this process is noticed by time, not by its connection',
    )
    await this.end()
    return null
  }

  private async end(): Promise<void> {
    const { client } = this
    this.client = null
    this.held = false
    if (client !== null) await endWithin(client, goodbyeMs)
  }

  private drop(client: pg.Client): void {
    if (this.client === client) void this.end()
  }
}

const goodbyeMs = 1_000

/** Says good-bye, and cuts the connection where nobody answers: a half-open one would wait for minutes. */
async function endWithin(client: pg.Client, ms: number): Promise<void> {
  const { stream } =
    (client as pg.Client & { connection?: { stream?: { destroy(): void } } }).connection ?? {}
  const callOff = systemClock.after(ms, () => stream?.destroy())
  await client.end().catch(() => undefined)
  callOff()
}
