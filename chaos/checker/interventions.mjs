// What people asked for beside the schedule: re-drives, discards, cancels, backfills; what applications asked for in their
// transactions.

/** As after a pause: a request that was on its way arrives a little later on a busy machine. */
const silenceAfterMs = 2_000
/** What a statement sees may have been decided by one that began so long before. */
const statementMs = 4_000

/**
 * Of each round that ended without attempts left there is the letter, or the round that a re-drive began, or somebody discarded it;
 * exactly one of them. Rounds begin only because somebody asked.
 * @param {{ name: string, key: string, rows: object[], letters: object[], queued: object[], calls: object[] }} run `calls` about its job
 */
export function judgeRounds({ name, key, rows, letters, queued, calls }, verdict) {
  // Most runs ended well at once, and nobody asked for anything.
  const isPlain = rows.length === 1 && rows[0].outcome === 'success' && rows[0].round === 0
  if (isPlain && letters.length + queued.length === 0 && !calls.some(({ run }) => run === key)) return
  const asked = (kind, status) =>
    calls.filter(
      (one) => one.call === kind && one.run === key && (status === undefined || one.status === status),
    )
  const wasDiscarded = asked('discard').some(({ status }) => status !== 'failed')
  const begun = new Set([...rows, ...queued].map(({ round }) => round))
  const died = new Set(
    rows.filter(({ final, outcome }) => final && outcome === 'dead').map(({ round }) => round),
  )
  const kept = new Set(letters.map(({ round }) => round))
  verdict.count('dead_letters', letters.length)
  for (const round of died) {
    const ways = [kept.has(round), begun.has(round + 1)].filter(Boolean).length
    if (ways > 1) verdict.add('dead_letters', `${name}: round ${round} is a dead letter, and was re-driven`)
    if (ways === 0 && !wasDiscarded)
      verdict.add('dead_letters', `${name}: round ${round} has no attempts left, and is no dead letter`)
  }
  for (const round of kept)
    if (!died.has(round))
      verdict.add('dead_letters', `${name}: a dead letter of round ${round}, which did not die`)
  const rounds = Math.max(0, ...begun)
  verdict.count('redriven', rounds)
  const mayHave = asked('redrive').filter(({ status }) => status !== 'failed').length
  if (rounds > mayHave)
    verdict.add(
      'unasked',
      `${name}: ${rounds} rounds beyond the first, and ${mayHave} re-drives were asked for`,
    )
  const acknowledged = asked('redrive', 'ok').length
  if (rounds < acknowledged)
    verdict.add(
      'lost_acknowledged',
      `${name}: ${acknowledged} re-drives were acknowledged, and ${rounds} are there`,
    )
  if (asked('discard', 'ok').length > 0 && kept.size > 0)
    verdict.add('lost_acknowledged', `${name}: was discarded, and is a dead letter`)
}

/** After an acknowledged cancel nothing of the run begins, and it ends. */
export function judgeCancels({ name, key, rows, deliveries, queued, calls }, isExcused, verdict) {
  for (const { call, run, status, answered } of calls) {
    if (call !== 'cancel' || run !== key || status !== 'ok') continue
    verdict.count('cancels')
    if (!rows.some(({ final }) => final) && queued.every(({ held_by }) => held_by === null))
      verdict.add('lost_acknowledged', `${name}: was cancelled, and has not ended`)
    for (const delivery of deliveries)
      if (delivery.in > answered + silenceAfterMs && !isExcused(delivery))
        verdict.add(
          'after_cancel',
          `${name}: ${Math.round(delivery.in - answered)} ms after it was acknowledged`,
        )
  }
}

/**
 * Backfills that were acknowledged are there, none that nobody asked for; each made a run of each of its ticks, once, and of no other.
 * @param {{ job: object, ledger: object[], queue: object[], backfills: object[], calls: object[] }} life of one job
 * @param {{ ticksBetween: (from: number, to: number) => number[], knownFrom: number }} rule by the oracle, in a span: from, up to but
 *   not at `to`; it knows of no tick up to `knownFrom`
 */
export function judgeBackfills(
  { job, ledger, queue, backfills, calls },
  { ticksBetween, knownFrom },
  verdict,
) {
  const asked = calls.filter(({ call }) => call === 'backfill')
  const possible = asked.filter(({ status }) => status !== 'failed').length
  if (backfills.length > possible)
    verdict.add('unasked', `${job.name}: ${backfills.length} backfills, and ${possible} were asked for`)
  const acknowledged = asked.filter(({ status }) => status === 'ok').length
  if (backfills.length < acknowledged)
    verdict.add(
      'lost_acknowledged',
      `${job.name}: ${acknowledged} backfills were acknowledged, ${backfills.length} are there`,
    )
  for (const { seq, from_ms, to_ms, created_at, ticks, done, state } of backfills) {
    const name = `${job.name}: the backfill from ${new Date(from_ms).toISOString()}`
    verdict.count('backfilled', done)
    const named = ticksBetween(from_ms, to_ms + 1)
    const chosen = new Set(ticks)
    // Those that had not been decided then, or were on their way, are left out.
    const wasDone = (tick) =>
      ledger.some(
        (row) =>
          row.origin === 0 &&
          row.final &&
          row.due <= tick &&
          tick <= (row.due_to ?? row.due) &&
          row.recorded_at < created_at - statementMs,
      )
    const missing = named.filter((tick) => !chosen.has(tick) && wasDone(tick))
    const tooMany = ticks.filter((tick) => tick > knownFrom && !named.includes(tick))
    if (missing.length + tooMany.length > 0)
      verdict.add(
        'miscounted',
        `${name} lacks ${missing.length} ticks that were over, and has ${tooMany.length} that the rule does not name`,
      )
    const isOfIt = (row) => row.origin === 2 && row.seq === seq
    const made = new Set([...ledger, ...queue].filter(isOfIt).map(({ due }) => due))
    for (const due of made)
      if (!ticks.includes(due)) verdict.add('foreign', `${name} ran ${new Date(due).toISOString()}`)
    for (const due of ticks.slice(0, state === 'done' ? ticks.length : done))
      if (!made.has(due)) verdict.add('unaccounted', `${name} did not run ${new Date(due).toISOString()}`)
    for (const due of made) {
      const finals = ledger.filter(
        (row) => isOfIt(row) && row.due === due && row.final && row.round === 0,
      ).length
      if (finals > 1)
        verdict.add('double_firings', `${name}: ${new Date(due).toISOString()} ended ${finals} times`)
    }
  }
}

/**
 * An order and its task commit together: what the application's own table has is what was committed.
 * @param {object[]} client @param {{ id: number, job_id: string }[]} orders @param {Set<string>} jobs ids that there are
 */
export function judgeOrders(client, orders, jobs, verdict) {
  const committed = new Map(orders.map(({ id, job_id }) => [id, job_id]))
  for (const { call, order, jobId, status } of client) {
    if (call !== 'order') continue
    verdict.count('orders')
    if (status === 'ok' && !committed.has(order))
      verdict.add('lost_acknowledged', `order ${order} was committed, and is not there`)
    if (committed.has(order) && !jobs.has(committed.get(order)))
      verdict.add('lost_acknowledged', `order ${order} is there, and the task that it asked for is not`)
    if (jobId !== undefined && !committed.has(order) && jobs.has(jobId))
      verdict.add('half_done', `order ${order} was not committed, and the task that it asked for is there`)
  }
}
