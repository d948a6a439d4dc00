// Writes the Carillon ledger out for the checker, in one snapshot: what the database says became of everything.
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'

const page = 20_000
/** Rising by partition and job: the checker goes through one job after the other. */
const tables = {
  jobs: `SELECT j.job, j.id, j.partition, j.name, j.state, j.version, j.definition, j.effective_from, j.ended_at, j.description,
                t.accounted_through, t.due
         FROM carillon.jobs j LEFT JOIN carillon.timers t ON t.job = j.job ORDER BY j.partition, j.job`,
  segments: `SELECT s.job, s.from_ms, s.version, coalesce(v.definition, j.definition) AS definition
             FROM carillon.segments s JOIN carillon.jobs j ON j.job = s.job
             LEFT JOIN carillon.job_versions v ON v.job = s.job AND v.version = s.version ORDER BY s.job, s.from_ms`,
  versions: 'SELECT job, version, definition FROM carillon.job_versions ORDER BY job, version',
  queue: `SELECT q.job, q.due, q.origin, q.seq, q.round, q.attempt, q.available_at, q.token, q.fired_at, q.holder AS held_by, i.state AS holder
          FROM carillon.queue q LEFT JOIN carillon.incarnations i ON i.incarnation = q.holder`,
  replays: `SELECT job, from_ms, to_ms, cursor_ms, total, done, state FROM carillon.replays WHERE kind = 'catch_up'`,
  backfills: `SELECT job, replay % 2147483648 AS seq, from_ms, to_ms, created_at, to_json(ticks) AS ticks, total, done, state
              FROM carillon.replays WHERE kind = 'backfill'`,
  dead_letters: 'SELECT job, due, origin, seq, round, attempts FROM carillon.dead_letters',
  incarnations:
    'SELECT incarnation, pid, host, tenant, roles, state, started_at, ended_at FROM carillon.incarnations',
  partitions: `SELECT p.partition, p.epoch, i.state AS owner, p.expires_at > carillon.now_ms() AS held
               FROM carillon.partitions p LEFT JOIN carillon.incarnations i ON i.incarnation = p.owner`,
  tenants: `SELECT c.tenant, c.jobs, (SELECT count(*)::int FROM carillon.jobs j
                                      WHERE j.tenant = c.tenant AND j.state IN ('active', 'paused')) AS live
            FROM carillon.tenant_jobs c`,
  ledger: `SELECT job, partition, due, due_to, ticks, origin, seq, outcome::text, final, round, attempt, max_attempts, version, epoch,
                  token, worker, catch_up, available_at, fired_at, leased_at, started_at, finished_at, recorded_at, reason
           FROM carillon.ledger ORDER BY partition, job, due, origin, seq, round, recorded_at`,
}

/** Tables of the application beside it, where there is one. */
const beside = {
  orders: 'SELECT id, job_id FROM chaos.orders',
  bookings: 'SELECT run, job, token FROM chaos.bookings',
}

/** One file for each table, one row a line. @param {import('pg').Client} client @param {string} folder */
export async function exportLedger(client, folder) {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const { rows: found } = await client.query("SELECT to_regclass('chaos.orders') IS NOT NULL AS beside")
  for (const [name, text] of Object.entries({ ...tables, ...(found[0].beside && beside) })) {
    const file = createWriteStream(join(folder, `carillon-${name}.ndjson`))
    await client.query({ text: `DECLARE rows_of_table NO SCROLL CURSOR FOR ${text}` })
    for (;;) {
      const { rows } = await client.query({ text: `FETCH ${page} FROM rows_of_table` })
      if (rows.length === 0) break
      if (!file.write(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))) await once(file, 'drain')
    }
    await client.query('CLOSE rows_of_table')
    file.end()
    await once(file, 'finish')
  }
  await client.query('COMMIT')
}
