// Waits until all that was due up to an instant is closed. New ticks go on meanwhile, as they do in life.
import { setTimeout as wait } from 'node:timers/promises'

const patienceMs = 180_000

/**
 * Answers what is left when patience is over: nothing, if all is well. A job that is `busy` has a run in its place nearly
 * always; what it has to catch up waits for a gap between them, and is accounted for where it waits.
 * @param {import('pg').Client} client
 * @param {{ end: number, busy: string[], say: (line: string) => void }} options
 */
export async function drain(client, { end, busy, say }) {
  const giveUpAt = Date.now() + patienceMs
  for (let look = 0; ; look++) {
    const { rows } = await client.query(
      `SELECT (SELECT count(*)::int FROM carillon.timers WHERE due <= $1) AS timers,
              (SELECT count(*)::int FROM carillon.queue WHERE due <= $1) AS runs,
              (SELECT count(*)::int FROM carillon.replays r JOIN carillon.jobs j ON j.job = r.job
               WHERE r.state = 'running' AND r.cursor_ms <= $1 AND NOT j.name = ANY($2)) AS replays`,
      [end, busy],
    )
    const { timers, runs, replays } = rows[0]
    if (timers + runs + replays === 0) return []
    if (Date.now() > giveUpAt)
      return [`${timers} timers, ${runs} runs and ${replays} replays up to the end of the span`]
    if (look % 20 === 0) say(`draining: ${timers} timers, ${runs} runs, ${replays} replays`)
    await wait(250)
  }
}
