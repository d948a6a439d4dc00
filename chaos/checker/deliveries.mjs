// Invariants 5 and 7, by what the receiver and the tasks wrote down: nothing arrives before its time, and nothing arrives again
// that was not in flight when something went wrong.

/** A deadline is kept by another clock than the one that the ledger's times are of. */
const deadlineSlackMs = 100

/**
 * @param {{ name: string, rows: object[], deliveries: object[], byVersion: Map<number, object>, isHostile: boolean }} run deliveries
 *   in the order in which they arrived; `isHostile`: its target may close in the middle
 * @param {{ clock: import('./timeline.mjs').Timeline, windows: import('./timeline.mjs').Windows }} frame
 */
export function judgeDeliveries(
  { name, rows, deliveries: arrived, byVersion, isHostile },
  { clock, windows },
  verdict,
) {
  // By lease: whoever was cut off when its lease passed to another may start after that one.
  const deliveries = [...arrived].sort((a, b) => a.token - b.token)
  const closes = closesOf(rows)
  const { due } = deliveries[0]
  for (const { in: at, attempt } of deliveries) {
    if (clock.latest(at) < due)
      verdict.add('early_starts', `${name}: attempt ${attempt} came ${due - clock.latest(at)} ms early`)
  }
  if (new Set(deliveries.map(({ key }) => key)).size > 1) verdict.add('another_key', name)
  const tokens = new Set()
  const attempts = new Map()
  for (const { token, attempt } of deliveries) {
    if (tokens.has(token)) verdict.add('double_firings', `${name}: delivered twice under token ${token}`)
    tokens.add(token)
    if (attempts.has(attempt) && attempts.get(attempt) !== token && !wasInFlight(attempts.get(attempt)))
      verdict.add(
        'double_firings',
        `${name}: attempt ${attempt} was delivered under ${attempts.get(attempt)} and ${token}`,
      )
    attempts.set(attempt, token)
  }
  const inFlight = deliveries.filter(({ token }) => wasInFlight(token)).length
  verdict.count('extra_deliveries_bound', inFlight)
  // Each delivery but the first follows one that was refused, or one that was in flight when something went wrong.
  const refused = deliveries.filter(({ token, said }) => said === 'refused' && !wasInFlight(token)).length
  if (deliveries.length > 1 + inFlight + refused)
    verdict.add(
      'too_many_deliveries',
      `${name}: ${deliveries.length} deliveries, of which ${refused} were refused and ${inFlight} in flight at faults`,
    )
  for (let at = 1; at < deliveries.length; at++) judgeAgain(deliveries[at - 1])
  for (const { token, said } of deliveries) if (said === 'aborted') judgeAbort(token)

  /** The one that follows is a retry that the target asked for, or an extra delivery that something must explain. */
  function judgeAgain(before) {
    if (before.said === 'refused') return verdict.count('retries_asked_for')
    verdict.count('extra_deliveries')
    if (wasInFlight(before.token)) return
    const row = closes.get(before.token)
    verdict.add(
      'unexplained_delivery',
      `${name}: token ${before.token} ended as ${row?.outcome ?? 'nothing'} ${row?.reason ?? ''}`,
    )
  }

  /** A handler is stopped when its run is cancelled, or when something happened to its worker; not otherwise. */
  function judgeAbort(token) {
    const row = closes.get(token)
    if (row?.outcome === 'cancelled' || wasInFlight(token)) return
    verdict.add(
      'unexplained_abort',
      `${name}: token ${token} was stopped, and ended as ${row?.outcome ?? 'nothing'} ${row?.reason ?? ''}`,
    )
  }

  /** Held by a process while something happened to it, or the answer missed its deadline. */
  function wasInFlight(token) {
    const row = closes.get(token)
    if (row === undefined) return windows.open(deliveries.find((delivery) => delivery.token === token).in)
    if (row.reason === 'timeout' && missedDeadline(row)) return true
    if (row.reason === 'connection' && isHostile) return true
    // A late result does not say when it was leased.
    if (windows.met(row.worker, row.leased_at ?? row.started_at ?? row.recorded_at, row.recorded_at))
      return true
    return row.reason === 'worker_lost' && windows.explain(row.worker, row.recorded_at)
  }

  function missedDeadline({ started_at, finished_at, version }) {
    const limitMs = 1_000 * (byVersion.get(version)?.timeout_seconds ?? 300)
    return (
      started_at !== null && finished_at !== null && finished_at - started_at + deadlineSlackMs >= limitMs
    )
  }
}

/** What became of each lease: a late result that was kept as stale says nothing of it. */
export function closesOf(rows) {
  const late = rows.filter(({ outcome }) => outcome === 'stale')
  const others = rows.filter(({ outcome }) => outcome !== 'stale')
  return new Map([...late, ...others].map((row) => [row.token, row]))
}

/** What is said to have gone well was delivered. */
export function judgeClaims(name, rows, deliveries, verdict) {
  const delivered = new Set(deliveries.map(({ token }) => token))
  for (const { outcome, token } of rows)
    if (outcome === 'success' && !delivered.has(token))
      verdict.add('claimed', `${name} succeeded under ${token}, and nobody saw it`)
}

/** The ledger's own times. */
export function judgeStarts(name, rows, verdict) {
  for (const { started_at, available_at, due, outcome } of rows) {
    if (started_at === null || outcome === 'stale') continue
    if (started_at < due || started_at < (available_at ?? due))
      verdict.add('early_starts', `${name}: started ${started_at}, not before ${available_at}`)
  }
}
