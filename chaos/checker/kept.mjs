// Invariant 1, of ticks that were missed: how many of them run after all is what the policy says, not one more, not one less.

/** A decision is made with the time at which its timers were read, and recorded by a statement that follows. */
const readToRecordMs = 4_000
/** What RUN_ALL means where the job names no grace. */
const ordinaryGraceMs = 3_600_000

/**
 * Where ticks were passed over as missed, the youngest that were due by then are kept: one, or `max_missed` of them.
 * @param {{ job: object, ticks: number[], end: number, passedOver: { row: object, after: number }[],
 *   replays: object[], clock: import('./timeline.mjs').Timeline }} life
 *   `passedOver`: ranges of ticks that were missed, each with the place of the tick that follows it
 */
export function judgeKept({ job, ticks, end, passedOver, replays, clock }, verdict) {
  const { missed_window, max_missed, max_runs, misfire_grace_seconds: grace } = job.definition
  const { jitter_seconds, fire_window_seconds } = job.definition
  // What an edit, an end or a delete changed about that is judged by what they leave to be done.
  if (missed_window === 'SKIP' || job.version > 1 || max_runs !== null || job.state === 'deleted') return
  const most = missed_window === 'RUN_ONCE' ? 1 : max_missed
  const graceMs =
    grace === null
      ? missed_window === 'RUN_ALL'
        ? ordinaryGraceMs
        : Number.POSITIVE_INFINITY
      : grace * 1_000
  for (const { from_ms, total } of replays)
    if (total > most)
      verdict.add(
        'caught_up_too_many',
        `${job.name} ${new Date(from_ms).toISOString()}: ${total} are caught up, and ${most} is the most`,
      )
  for (const { row, after } of passedOver) {
    // What a resumed job passes over is decided by the API, under no epoch.
    if (!(row.epoch > 0) || row.recorded_at > end || clock.isUnclear(row.recorded_at)) continue
    const keptBy = (at) => countThrough(ticks, at) - after
    const name = `${job.name} ${new Date(row.due).toISOString()}: of what was missed`
    // What starts later than it is due is decided as of then; how much later a window makes it nobody else knows.
    const decidedAt = row.recorded_at - readToRecordMs - jitter_seconds * 1_000
    if (fire_window_seconds === 0 && keptBy(decidedAt) > most)
      verdict.add(
        'caught_up_too_many',
        `${name} ${keptBy(row.recorded_at)} are kept, and ${most} is the most`,
      )
    const wasInGrace = row.recorded_at - (row.due_to ?? row.due) <= graceMs - readToRecordMs
    if (wasInGrace && keptBy(row.recorded_at) < most)
      verdict.add('not_caught_up', `${name} ${keptBy(row.recorded_at)} are kept, and ${most} may be`)
  }
}

/** How many of the rising ticks are not after an instant. */
function countThrough(ticks, at) {
  let [low, high] = [0, ticks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ticks[middle] <= at) low = middle + 1
    else high = middle
  }
  return low
}
