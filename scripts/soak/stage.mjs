// Sets the soak up: database, clock, processes, jobs.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fleet } from './fleet.mjs'
import { drawJobs, soakCalendars } from './job-mix.mjs'
import { openPostgres, shiftClock, withClient } from './postgres.mjs'

const clockChanges = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'].map((at) => Date.parse(at))
/** About how long it takes until the jobs are registered. */
const settingUpMs = (jobs) => 10_000 + jobs * 22

/**
 * @param {{ minutes: number, jobs: number, seed: number, at: number | undefined, ttlSeconds: number, lateSeconds: number }} options
 * @param {import('./random.mjs').Random} random
 * @param {(line: string) => void} say
 * @param {(() => Promise<unknown>)[]} undo told how to end each thing, once there is something to end
 */
export async function setUp(options, random, say, undo) {
  const postgres = await openPostgres()
  undo.push(() => postgres.close())
  const folder = mkdtempSync(join(tmpdir(), 'carillon-soak-'))
  const lengthMs = options.minutes * 60_000
  const setUpMs = settingUpMs(options.jobs)
  // Unless told otherwise, the clocks of Europe change in the middle of it: forward with an even seed, back with an odd.
  const startsAt = options.at ?? clockChanges[options.seed % 2] - lengthMs / 2 - setUpMs
  const offsetMs = startsAt - Date.now()
  const calendars = soakCalendars(startsAt + setUpMs, startsAt + setUpMs + lengthMs)
  await shiftClock(postgres.url, offsetMs)
  await withClient(postgres.url, async (client) => {
    for (const [name, definition] of Object.entries(calendars)) {
      await client.query('INSERT INTO carillon.calendars (tenant, name, definition) VALUES (1, $1, $2)', [
        name,
        definition,
      ])
    }
  })
  const fleet = new Fleet({ databaseUrl: postgres.url, folder, ...options })
  undo.push(() => fleet.end())
  await fleet.start()
  say(`five processes are up; their output is in ${folder}`)
  const span = { startsAt: startsAt + setUpMs, endsAt: startsAt + setUpMs + lengthMs }
  const jobs = await register(fleet.desk.url, drawJobs(options.jobs, random, span), say)
  return { postgres, folder, fleet, jobs, calendars, offsetMs, lengthMs }
}

/** Rightly refused: drawn so that its end comes before its first tick, or its instant is over. */
const neverDue = new Set(['schedule_never_fires', 'schedule_in_past'])

async function register(url, all, say) {
  const jobs = []
  const waiting = all.entries()
  const one = async () => {
    for (const [, { input, ...drawn }] of waiting) {
      const response = await fetch(`${url}/api/v1/jobs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(input),
      })
      const answer = await response.json()
      if (neverDue.has(answer.code)) continue
      if (!response.ok) throw new Error(`${JSON.stringify(input)} was refused: ${JSON.stringify(answer)}`)
      jobs.push({ id: answer.job_id, name: input.name, ...drawn })
      if (jobs.length % 1_000 === 0) say(`${jobs.length} jobs are registered`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, one))
  return jobs
}
