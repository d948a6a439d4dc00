// Every tick has exactly one record. Expected ticks come from the oracle, records from the database.
import { byJob } from './records.mjs'

/** Stretches of a job's life, oldest first. */
function stretchesOf(job, segments, end) {
  const starts = [
    ...segments,
    { from_ms: job.effective_from, version: job.version, definition: job.definition },
  ]
  return starts.map(({ from_ms, version, definition }, at) => ({
    from: from_ms,
    to: Math.min(end, starts[at + 1]?.from_ms ?? end),
    version,
    definition,
  }))
}

/**
 * @param {Awaited<ReturnType<typeof import('./records.mjs').readRecords>>} records
 * @param {import('./expected.mjs').Expectation} expectation
 * @param {number} end the last instant that is judged
 */
export function accountOf(records, expectation, end) {
  const [segments, ledger, queue, replays] = [
    records.segments,
    records.ledger,
    records.queue,
    records.replays,
  ].map(byJob)
  const total = { expected: 0, ran: 0, caught_up: 0, skipped: {}, in_flight: 0 }
  const faults = { missing: [], doubled: [], foreign: [], miscounted: [], too_many_runs: [] }
  for (const job of byZone(records.jobs.filter(({ definition }) => definition !== null))) {
    const mine = {
      ledger: (ledger.get(job.job) ?? []).filter((row) => row.origin === 0 && row.due <= end),
      queue: (queue.get(job.job) ?? []).filter((row) => row.origin === 0 && row.due <= end),
      replays: (replays.get(job.job) ?? []).filter(({ state }) => state === 'running' || state === 'paused'),
    }
    const stretches = stretchesOf(job, segments.get(job.job) ?? [], end)
    judgeJob({ job, stretches, ticks: expectation.ticksOf(stretches), ...mine, end }, total, faults)
  }
  return { total, faults }
}

/** The oracle keeps what the wall clock showed in the last few zones: one zone after the other. */
function byZone(jobs) {
  const keyOf = ({ definition }) => `${definition.timezone} ${JSON.stringify(definition.schedule).length}`
  return [...jobs].sort((a, b) => keyOf(a).localeCompare(keyOf(b)))
}

function judgeJob({ job, stretches, ticks, ledger, queue, replays, end }, total, faults) {
  const name = (tick) =>
    `${job.definition.name} (${stretches.length} stretches) ${new Date(tick).toISOString()}`
  const counts = new Map()
  const count = (tick) => counts.set(tick, (counts.get(tick) ?? 0) + 1)
  const known = new Set(ticks)
  for (const row of ledger.filter(
    ({ final, round, reason }) => final && round === 0 && reason !== 'dst_gap',
  )) {
    const covered = ticks.filter((tick) => tick >= row.due && tick <= (row.due_to ?? row.due))
    const whole = row.due_to === null || row.due_to <= end
    if (whole && covered.length !== row.ticks && known.has(row.due)) {
      faults.miscounted.push(
        `${name(row.due)}: the ledger says ${row.ticks} ticks, the rule ${covered.length}`,
      )
    }
    if (covered[0] !== row.due) faults.foreign.push(`${name(row.due)} ${row.outcome} ${row.reason ?? ''}`)
    for (const tick of covered) count(tick)
    tally(total, row, covered.length)
  }
  for (const { due } of queue) {
    if (!known.has(due)) faults.foreign.push(`${name(due)} in the queue`)
    count(due)
    total.in_flight += 1
  }
  for (const { cursor_ms, to_ms } of replays) {
    for (const tick of ticks.filter((at) => at >= cursor_ms && at <= to_ms)) {
      count(tick)
      total.in_flight += 1
    }
  }
  const owed = owedOf(job, ticks)
  total.expected += owed.length
  for (const tick of owed) if (!counts.has(tick)) faults.missing.push(name(tick))
  for (const [tick, times] of counts) if (times > 1) faults.doubled.push(`${name(tick)} × ${times}`)
  judgeRuns(job, ledger, queue, replays, faults)
}

/** An ended job owes nothing after its last run; a deleted one only what it had been taken for. */
function owedOf(job, ticks) {
  if (job.state === 'deleted') return ticks.filter((tick) => tick <= (job.accounted_through ?? 0))
  if (job.definition.max_runs === null || job.state !== 'ended') return ticks
  return ticks.filter((tick) => tick <= job.accounted_through)
}

function judgeRuns(job, ledger, queue, replays, faults) {
  const most = job.definition.max_runs
  if (most === null || most === undefined || job.version > 1) return
  const made = new Set([...ledger.filter(({ attempt }) => attempt > 0), ...queue].map(({ due }) => due)).size
  const promised = replays.reduce((sum, { total, done }) => sum + total - done, 0)
  if (made + promised > most)
    faults.too_many_runs.push(`${job.definition.name}: ${made} + ${promised} of ${most}`)
}

function tally(total, row, ticks) {
  if (row.outcome === 'skipped') {
    const reason = row.reason ?? 'none'
    total.skipped[reason] = (total.skipped[reason] ?? 0) + ticks
  } else if (row.catch_up) total.caught_up += ticks
  else total.ran += ticks
}
