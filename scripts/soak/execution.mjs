// Nothing starts before its time, nothing goes on beside more than its policy allows, nothing is said to have run that
// did not: by the ledger's times, and by what the tasks wrote down themselves.
import { byJob } from './records.mjs'

/** The clocks of two workers are bounds from below, each a round trip behind at most. */
const clocksApartMs = 250

/** @param {{ definition: object }[]} versions every definition that the job has had */
function placesOf(versions) {
  return Math.max(
    ...versions.map(({ definition }) => {
      if (definition.overlap_policy !== 'ALLOW') return 1
      return definition.max_concurrent ?? Number.POSITIVE_INFINITY
    }),
  )
}

/**
 * @param {Awaited<ReturnType<typeof import('./records.mjs').readRecords>>} records
 * @param {ReturnType<typeof import('./records.mjs').readEvidence>} evidence
 * @param {{ pid: number, at: number }[]} deaths
 * @param {number} offsetMs by which the database's clock is ahead of this machine's
 */
export function judgeExecution(records, evidence, deaths, offsetMs) {
  const versions = byJob(records.versions)
  const places = new Map(
    records.jobs
      .filter(({ definition }) => definition !== null)
      .map((job) => [job.job, placesOf([job, ...(versions.get(job.job) ?? [])])]),
  )
  const names = new Map(records.jobs.map((job) => [job.job, job.definition?.name ?? String(job.job)]))
  const faults = { early: [], beside: [], claimed: [], twice: [] }
  judgeLedger(records.ledger, places, names, faults)
  judgeEvidence(records, evidence, deaths, places, names, offsetMs, faults)
  return faults
}

function judgeLedger(ledger, places, names, faults) {
  const started = ledger.filter((row) => row.started_at !== null && row.outcome !== 'stale')
  for (const row of started) {
    if (row.started_at < row.due || row.started_at < (row.available_at ?? row.due)) {
      faults.early.push(
        `${names.get(row.job)} ${row.due}: started ${row.started_at}, not before ${row.available_at}`,
      )
    }
  }
  for (const [job, rows] of byJob(started.filter((row) => row.finished_at !== null))) {
    const intervals = rows.map((row) => ({
      from: row.started_at,
      to: row.finished_at,
      who: row.worker,
      due: row.due,
    }))
    const crowd = crowdOf(intervals, places.get(job) ?? 1, clocksApartMs)
    if (crowd !== null) faults.beside.push(`${names.get(job)} by the ledger: ${crowd}`)
  }
}

function judgeEvidence(records, evidence, deaths, places, names, offsetMs, faults) {
  const diedAt = new Map(deaths.map(({ pid, at }) => [pid, at]))
  const keyOf = new Map([...names].map(([job, name]) => [name, job]))
  const begun = new Set()
  const attempts = evidence.map((attempt) => ({ ...attempt, job: keyOf.get(attempt.job) }))
  for (const { token, begun: at, due, job } of attempts) {
    if (begun.has(token)) faults.twice.push(`${names.get(job)} ${due}: token ${token} was delivered twice`)
    begun.add(token)
    if (at + offsetMs < due)
      faults.early.push(`${names.get(job)} ${due}: its task began ${due - at - offsetMs} ms early`)
  }
  for (const row of records.ledger) {
    if (row.outcome === 'success' && !begun.has(row.token)) {
      faults.claimed.push(`${names.get(row.job)} ${row.due} succeeded, and no task saw it`)
    }
  }
  for (const [job, mine] of byJob(attempts)) {
    const intervals = mine.map(({ begun: from, ended, pid, due }) => ({
      from,
      to: ended ?? diedAt.get(pid) ?? from,
      who: 0,
      due,
    }))
    const crowd = crowdOf(intervals, places.get(job) ?? 1, 0)
    if (crowd !== null) faults.beside.push(`${names.get(job)} by its task: ${crowd}`)
  }
}

/** Says where more intervals go on at once than there are places; null if nowhere. */
function crowdOf(intervals, places, toleranceMs) {
  if (intervals.length <= places) return null
  const ordered = [...intervals].sort((a, b) => a.from - b.from)
  let going = []
  for (const next of ordered) {
    going = going.filter(({ to, who }) => to > next.from + (who === next.who ? 0 : toleranceMs))
    going.push(next)
    if (going.length > places) {
      const list = going.map(({ due, from, to }) => `${due} (${from}–${to})`).join(', ')
      return `${going.length} at once, ${places} allowed: ${list}`
    }
  }
  return null
}
