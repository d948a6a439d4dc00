// Looks into the database beside the processes, around their doors: who owns what, and whether they have settled.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from './clock.mjs'

const pollMs = 15

export class Observer {
  #client = null

  /** @param {import('./postgres.mjs').Postgres} postgres */
  constructor(postgres) {
    this.postgres = postgres
  }

  /** Rows; null while the database does not answer. */
  async ask(text, values = []) {
    try {
      this.#client ??= await this.postgres.connect()
      const { rows } = await this.#client.query({ text, values, query_timeout: 5_000 })
      return rows
    } catch {
      const broken = this.#client
      this.#client = null
      await broken?.end().catch(() => undefined)
      return null
    }
  }

  /** What processes own now. @param {number[]} pids */
  async holdingsOf(pids) {
    return this.ask(
      `SELECT p.partition, p.owner FROM carillon.partitions p
       JOIN carillon.incarnations i ON i.incarnation = p.owner WHERE i.pid = ANY($1) AND i.state = 'alive'`,
      [pids],
    )
  }

  /**
   * How long it took, in milliseconds, until the first of the holdings was no longer the dead owner's (`noticed`), all of them
   * were not (`freed`), and each had a new owner (`taken`), with the epochs of those; null if that does not come.
   */
  async takenOver(holdings, since, withinMs) {
    const partitions = holdings.map(({ partition }) => partition)
    const owners = [...new Set(holdings.map(({ owner }) => owner))]
    const parts = {}
    while (now() - since < withinMs) {
      const rows = await this.ask(
        `SELECT partition, epoch, owner = ANY($2::bigint[]) AS is_old, owner IS NULL AS is_free FROM carillon.partitions
         WHERE partition = ANY($1::smallint[])`,
        [partitions, owners],
      )
      const ms = now() - since
      if (rows !== null) {
        if (rows.some(({ is_old }) => !is_old)) parts.noticed ??= ms
        if (rows.every(({ is_old }) => !is_old)) parts.freed ??= ms
        if (rows.every(({ is_old, is_free }) => !is_old && !is_free))
          return { ...parts, taken: ms, epochs: rows.map(({ partition, epoch }) => [partition, epoch]) }
      }
      await wait(pollMs)
    }
    return null
  }

  /** Whether all 256 partitions come to have living owners, in about equal parts. */
  async settled(schedulers, withinMs) {
    const most = Math.ceil(256 / schedulers) + 1
    for (const end = now() + withinMs; now() < end; await wait(100)) {
      const rows = await this.ask(
        `SELECT count(*)::int AS held FROM carillon.partitions p JOIN carillon.incarnations i ON i.incarnation = p.owner
         WHERE i.state = 'alive' AND p.expires_at > carillon.now_ms() GROUP BY p.owner`,
      )
      const held = (rows ?? []).map((row) => row.held)
      const all = held.reduce((sum, part) => sum + part, 0)
      if (all === 256 && held.length === schedulers && Math.max(...held) <= most) return true
    }
    return false
  }

  async close() {
    await this.#client?.end().catch(() => undefined)
  }
}
