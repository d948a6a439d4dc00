// How long partitions are without a living owner after something happened to theirs.
import { setTimeout as wait } from 'node:timers/promises'

const pollMs = 20

export class Takeovers {
  /** @type {{ fault: string, ms: number | null, partitions: number }[]} */
  seen = []

  /** @param {import('pg').Client} client of its own: nothing else may wait in its line */
  constructor(client) {
    this.client = client
  }

  /** What a process owns now. */
  async holdingsOf(pid) {
    const { rows } = await this.client.query(
      `SELECT p.partition, p.owner FROM carillon.partitions p
       JOIN carillon.incarnations i ON i.incarnation = p.owner WHERE i.pid = $1 AND i.state = 'alive'`,
      [pid],
    )
    return rows
  }

  /**
   * Looks until every one of the holdings has a new owner.
   * @param {string} fault @param {{ partition: number, owner: number }[]} holdings @param {number} since
   */
  async measure(fault, holdings, since, withinMs) {
    const partitions = holdings.map(({ partition }) => partition)
    const owners = [...new Set(holdings.map(({ owner }) => owner))]
    while (Date.now() - since < withinMs) {
      const { rows } = await this.client.query(
        `SELECT count(*)::int AS waiting FROM carillon.partitions
         WHERE partition = ANY($1::smallint[]) AND (owner IS NULL OR owner = ANY($2::bigint[]))`,
        [partitions, owners],
      )
      if (rows[0].waiting === 0) {
        this.seen.push({ fault, ms: Date.now() - since, partitions: partitions.length })
        return
      }
      await wait(pollMs)
    }
    this.seen.push({ fault, ms: null, partitions: partitions.length })
  }

  /** Looks until all 256 partitions have an owner that lives and the schedulers have about equal parts. */
  async settled(schedulers, withinMs) {
    const most = Math.ceil(256 / schedulers) + 1
    const end = Date.now() + withinMs
    while (Date.now() < end) {
      const { rows } = await this.client.query(
        `SELECT count(*)::int AS held FROM carillon.partitions p JOIN carillon.incarnations i ON i.incarnation = p.owner
         WHERE i.state = 'alive' AND p.expires_at > carillon.now_ms() GROUP BY p.owner`,
      )
      const held = rows.map((row) => row.held)
      const all = held.reduce((sum, part) => sum + part, 0)
      if (all === 256 && held.length === schedulers && Math.max(...held) <= most) return true
      await wait(100)
    }
    return false
  }
}
