// Invariants 1 and 2: every tick that the oracle names has exactly one final record, and nothing else has one.
import { judgeKept } from './kept.mjs'
import { SkipJudge } from './skips.mjs'

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
 * @param {{ job: object, segments: object[], ledger: object[], queue: object[], replays: object[], calls: object[],
 *   byVersion: Map<number, object> }} life of one job
 * @param {{ end: number, expectation: import('./expected.mjs').Expectation }} frame `end`: the last instant that is judged
 * @param {import('./verdict.mjs').Verdict} verdict
 */
export function accountFor(life, frame, verdict) {
  const { job, segments, ledger, queue, replays } = life
  const { end, expectation } = frame
  if (job.definition === null) return
  const skips = new SkipJudge(life, frame, verdict)
  const passedOver = []
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
  judgeGaps()
  judgeKept({ job, ticks, end, passedOver, replays, clock: frame.clock }, verdict)
  const owedUntil = owedOf(life, mine)
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
    if (row.outcome === 'skipped' || row.outcome === 'cancelled') skips.judge(row)
    if (row.reason === 'missed' || row.reason === 'overload')
      passedOver.push({ row, first, after: first + covered })
    if (covered !== row.ticks && (row.due_to === null || row.due_to <= end))
      verdict.add('miscounted', `${name(row.due)}: the ledger says ${row.ticks} ticks, the rule ${covered}`)
    const became =
      row.outcome === 'skipped' ? `skipped ${row.reason}` : row.catch_up ? 'caught up' : row.outcome
    verdict.tally('became', became, covered)
  }

  /** Of a job that catches up, the tick after those that were passed over is one that runs, unless its grace was over. */
  function judgeGaps() {
    const { missed_window, misfire_grace_seconds: grace } = job.definition
    if (missed_window === 'SKIP' || job.version > 1 || job.state === 'deleted') return
    const starts = new Set(passedOver.map(({ first }) => first))
    for (const { row, after } of passedOver) {
      const lateMs = row.recorded_at - (row.due_to ?? row.due)
      if (!starts.has(after) || (grace !== null && lateMs > grace * 1_000)) continue
      verdict.add('not_caught_up', `${name(ticks[after])} was passed over like those before it`)
    }
  }
}

/**
 * A job that ended after its last run owes nothing more; a deleted one only what it had been taken for; of a paused one the rest
 * is decided when it is resumed. Whether anybody asked for that is judged apart.
 */
function owedOf({ job, queue, replays }, ledger) {
  if (job.state === 'deleted' || job.state === 'paused') return job.accounted_through ?? 0
  const most = job.definition.max_runs ?? null
  if (job.state !== 'ended' || most === null) return Number.POSITIVE_INFINITY
  const waiting = replays.reduce((sum, { total, done }) => sum + total - done, 0)
  const hasRunAll = job.version > 1 || runsOf(ledger, queue) + waiting >= most
  return hasRunAll ? job.accounted_through : Number.POSITIVE_INFINITY
}

/** Ticks that became runs. */
function runsOf(ledger, queue) {
  const ran = ledger.filter(({ outcome, round }) => outcome !== 'skipped' && round === 0)
  return new Set([...ran, ...queue.filter(({ origin }) => origin === 0)].map(({ due }) => due)).size
}

function judgeMaxRuns(job, ledger, queue, verdict) {
  const most = job.definition.max_runs ?? null
  if (most === null || job.version > 1) return
  const made = runsOf(ledger, queue)
  if (made > most) verdict.add('too_many_runs', `${job.name}: ${made} of ${most}`)
}
