// What the database says became of everything, read in one snapshot.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param {import('pg').Client} client */
export async function readRecords(client) {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const read = async (text) => (await client.query(text)).rows
  const jobs = await read(`
    SELECT j.job, j.id, j.state, j.version, j.definition, j.effective_from, j.ended_at, t.accounted_through, t.runs
    FROM carillon.jobs j LEFT JOIN carillon.timers t ON t.job = j.job`)
  const segments = await read(`
    SELECT s.job, s.from_ms, s.version, coalesce(v.definition, j.definition) AS definition
    FROM carillon.segments s JOIN carillon.jobs j ON j.job = s.job
    LEFT JOIN carillon.job_versions v ON v.job = s.job AND v.version = s.version ORDER BY s.job, s.from_ms`)
  const ledger = await read(`
    SELECT job, due, due_to, ticks, origin, seq, outcome::text, final, round, attempt, reason, catch_up, version, token,
           worker, available_at, fired_at, started_at, finished_at, recorded_at FROM carillon.ledger`)
  const queue = await read(
    'SELECT job, due, origin, catch_up, attempt, available_at, holder FROM carillon.queue',
  )
  const replays = await read(
    `SELECT job, version, from_ms, to_ms, cursor_ms, total, done, state, reason FROM carillon.replays
     WHERE kind = 'catch_up'`,
  )
  const versions = await read('SELECT job, version, definition FROM carillon.job_versions')
  await client.query('COMMIT')
  return { jobs, segments, ledger, queue, replays, versions }
}

/** By job. @template {{ job: number }} Row @param {Row[]} rows @returns {Map<number, Row[]>} */
export function byJob(rows) {
  const groups = new Map()
  for (const row of rows) {
    const group = groups.get(row.job)
    if (group === undefined) groups.set(row.job, [row])
    else group.push(row)
  }
  return groups
}

/** What the tasks themselves wrote down: one entry for each attempt that began. */
export function readEvidence(folder) {
  const attempts = []
  for (const name of readdirSync(folder).filter((file) => /^evidence-\d+\.ndjson$/.test(file))) {
    const pid = Number(name.match(/\d+/)?.[0])
    const open = new Map()
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
      if (line === '') continue
      const { begun, ended, token, ...run } = JSON.parse(line)
      if (begun !== undefined) {
        const attempt = { ...run, pid, token, begun, ended: null }
        attempts.push(attempt)
        open.set(token, attempt)
      } else {
        const attempt = open.get(token)
        if (attempt !== undefined) attempt.ended = ended
      }
    }
  }
  return attempts
}
