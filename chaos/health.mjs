// After the faults: is everything done, and as small as it was?
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { now } from './clock.mjs'

const drainWithinMs = 30_000
/** Autovacuum comes by every few seconds; a hot table is vacuumed from 20,000 dead rows on. */
const vacuumWithinMs = 30_000
const deadRowsAllowed = 25_000

/**
 * Waits until all that was due up to an instant is closed, while new ticks go on. What is left when patience is over; null if
 * nothing is. A job that is `busy` has a run in its place nearly always: what it has to catch up waits for a gap, one after the
 * other, so that up to `max_missed` times the length of a run may pass with one of them in the queue.
 * @param {import('./observer.mjs').Observer} observer @param {{ end: number, busy: string[] }} span `end` by the database's clock
 */
export async function drain(observer, { end, busy }) {
  const begun = now()
  for (;;) {
    const rows = await observer.ask(
      `SELECT (SELECT count(*)::int FROM carillon.timers WHERE due <= $1) AS timers,
              (SELECT count(*)::int FROM carillon.queue q JOIN carillon.jobs j ON j.job = q.job
               WHERE q.due <= $1 AND j.state <> 'paused' AND NOT (q.catch_up AND j.name = ANY($2))) AS runs,
              (SELECT count(*)::int FROM carillon.replays r JOIN carillon.jobs j ON j.job = r.job
               WHERE r.state = 'running' AND r.cursor_ms <= $1 AND NOT j.name = ANY($2)) AS replays,
              (SELECT count(*)::int FROM carillon.outbox WHERE done_at IS NULL AND refused_at IS NULL) AS requests`,
      [end, busy],
    )
    const unknown = { timers: 'unknown', runs: 'unknown', replays: 'unknown', requests: 'unknown' }
    const { timers, runs, replays, requests } = rows?.[0] ?? unknown
    if (timers + runs + replays + requests === 0) return { ms: Math.round(now() - begun), left: null }
    if (now() - begun > drainWithinMs)
      return {
        ms: null,
        left: `${timers} timers, ${runs} runs and ${replays} replays, ${requests} requests after ${drainWithinMs / 1000} s${await someOf(observer, end)}`,
      }
    await wait(250)
  }
}

/** Which ones, for whoever looks for the reason. */
async function someOf(observer, end) {
  const rows = await observer.ask(
    `SELECT * FROM (
       (SELECT 'run' AS what, j.name, j.definition ->> 'overlap_policy' AS overlap, q.due, q.origin, q.attempt, q.slot, q.places,
               q.available_at - carillon.now_ms() AS available_in_ms, i.state AS holder, carillon.now_ms() - q.leased_at AS leased_ms_ago
        FROM carillon.queue q JOIN carillon.jobs j ON j.job = q.job LEFT JOIN carillon.incarnations i ON i.incarnation = q.holder
        WHERE q.due <= $1 AND j.state <> 'paused' LIMIT 4)
       UNION ALL
       (SELECT 'timer', j.name, NULL, t.due, NULL, NULL, NULL, NULL, t.start_at - carillon.now_ms(), NULL, NULL
        FROM carillon.timers t JOIN carillon.jobs j ON j.job = t.job WHERE t.due <= $1 LIMIT 4)) AS some`,
    [end],
  )
  return (rows ?? [])
    .map(
      (row) =>
        ` ${JSON.stringify(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)))}`,
    )
    .join('')
}

/** Memory of each process, connections, dead rows of the hot tables. */
export async function measure(observer, fleet) {
  const [activity] = await observer.ask(
    "SELECT count(*)::int AS connections FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'chaos'",
  )
  const dead = await observer.ask(
    "SELECT relname, n_dead_tup::int AS dead FROM pg_stat_user_tables WHERE schemaname = 'carillon' AND relname IN ('queue', 'timers')",
  )
  return {
    memory: Object.fromEntries(fleet.members.map(({ name, pid }) => [name, residentMegabytes(pid)])),
    connections: activity.connections,
    dead: Object.fromEntries(dead.map(({ relname, dead: rows }) => [relname, rows])),
  }
}

/** Each size before and after, and the most that is still as it was. */
export async function compare(observer, fleet, before) {
  let after = await measure(observer, fleet)
  for (
    const end = now() + vacuumWithinMs;
    now() < end && Object.values(after.dead).some((rows) => rows > deadRowsAllowed);
  ) {
    await wait(1_000)
    after = await measure(observer, fleet)
  }
  const memory = Object.entries(after.memory).map(([name, megabytes]) => ({
    what: `memory of ${name} in MB`,
    before: before.memory[name],
    after: megabytes,
    most: before.memory[name] === null ? null : before.memory[name] * 2 + 100,
  }))
  const dead = Object.entries(after.dead).map(([name, rows]) => ({
    what: `dead rows of ${name}`,
    before: before.dead[name],
    after: rows,
    most: Math.max(deadRowsAllowed, 2 * before.dead[name]),
  }))
  const connections = {
    what: 'connections',
    before: before.connections,
    after: after.connections,
    most: before.connections + 4 * fleet.members.length,
  }
  return [...memory, connections, ...dead]
}

/** Null where it cannot be read, which is not fine. */
function residentMegabytes(pid) {
  try {
    return Math.round(residentKilobytes(pid) / 1024)
  } catch {
    return null
  }
}

/** From /proc where there is one. */
function residentKilobytes(pid) {
  if (!existsSync('/proc/self/status'))
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }))
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(kilobytes)
}
