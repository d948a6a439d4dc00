// Invariants 1 and 2: every tick that the oracle names has exactly one final record, and nothing else has one.

/** Stretches of a job's life, oldest first: from which position which definition applied. */
function stretchesOf(job, segments, end) {
  const starts = [...segments, { from_ms: job.effective_from, definition: job.definition }]
  return starts.map(({ from_ms, definition }, at) => ({
    from: from_ms,
    to: Math.min(end, starts[at + 1]?.from_ms ?? end),
    definition,
  }))
}

/**
 * @param {{ job: object, segments: object[], ledger: object[], queue: object[], replays: object[] }} life of one job
 * @param {{ end: number, expectation: import('./expected.mjs').Expectation }} frame `end`: the last instant that is judged
 * @param {import('./verdict.mjs').Verdict} verdict
 */
export function accountFor({ job, segments, ledger, queue, replays }, { end, expectation }, verdict) {
  if (job.definition === null) return
  const stretches = stretchesOf(job, segments, end)
  const ticks = expectation.ticksOf(stretches)
  const place = new Map(ticks.map((tick, at) => [tick, at]))
  const counts = new Uint8Array(ticks.length)
  const name = (tick) => `${job.name} ${new Date(tick).toISOString()}`
  const mine = ledger.filter((row) => row.origin === 0 && row.due <= end)
  for (const row of mine) {
    if (!row.final || row.round !== 0 || row.reason === 'dst_gap') continue
    cover(row)
  }
  for (const { due, origin } of queue) {
    if (origin !== 0 || due > end) continue
    if (place.has(due)) counts[place.get(due)] += 1
    else verdict.add('foreign', `${name(due)} is in the queue`)
    verdict.count('in_flight')
  }
  for (const { state, cursor_ms, to_ms } of replays) {
    if (state !== 'running' && state !== 'paused') continue
    for (const [at, tick] of ticks.entries()) if (tick >= cursor_ms && tick <= to_ms) counts[at] += 1
  }
  const owedUntil = owedOf(job)
  for (const [at, tick] of ticks.entries()) {
    if (counts[at] > 1) verdict.add('double_firings', `${name(tick)} is on record ${counts[at]} times`)
    if (tick > owedUntil) continue
    verdict.count('ticks')
    if (counts[at] === 0) verdict.add('unaccounted', `${name(tick)} (${stretches.length} stretches)`)
  }
  judgeMaxRuns(job, mine, queue, verdict)

  function cover(row) {
    const first = place.get(row.due)
    if (first === undefined)
      return verdict.add('foreign', `${name(row.due)} ${row.outcome} ${row.reason ?? ''}`)
    let covered = 0
    for (let at = first; at < ticks.length && ticks[at] <= (row.due_to ?? row.due); at++) {
      counts[at] += 1
      covered += 1
    }
    if (covered !== row.ticks && (row.due_to === null || row.due_to <= end))
      verdict.add('miscounted', `${name(row.due)}: the ledger says ${row.ticks} ticks, the rule ${covered}`)
    const became =
      row.outcome === 'skipped' ? `skipped ${row.reason}` : row.catch_up ? 'caught up' : row.outcome
    verdict.tally('became', became, covered)
  }
}

/**
 * An ended job owes nothing after its last run; a deleted one only what it had been taken for; of a paused one the rest is
 * decided when it is resumed.
 */
function owedOf(job) {
  if (job.state === 'deleted' || job.state === 'paused') return job.accounted_through ?? 0
  if (job.definition.max_runs !== null && job.state === 'ended') return job.accounted_through
  return Number.POSITIVE_INFINITY
}

function judgeMaxRuns(job, ledger, queue, verdict) {
  const most = job.definition.max_runs
  if (most === null || most === undefined || job.version > 1) return
  const runs = [...ledger.filter(({ attempt }) => attempt > 0), ...queue.filter(({ origin }) => origin === 0)]
  const made = new Set(runs.map(({ due }) => due)).size
  if (made > most) verdict.add('too_many_runs', `${job.name}: ${made} of ${most}`)
}
