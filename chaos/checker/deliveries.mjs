// Invariants 5 and 7, by what the receiver and the tasks wrote down: nothing arrives before its time, and nothing arrives again
// that was not in flight when something went wrong.

/**
 * @param {{ name: string, rows: object[], deliveries: object[] }} run deliveries in the order in which they arrived
 * @param {{ clock: import('./timeline.mjs').Timeline, windows: import('./timeline.mjs').Windows }} frame
 */
export function judgeDeliveries({ name, rows, deliveries }, { clock, windows }, verdict) {
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
  for (const delivery of deliveries) if (wasInFlight(delivery.token)) verdict.count('extra_deliveries_bound')
  for (let at = 1; at < deliveries.length; at++) judgeAgain(deliveries[at - 1])

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

  /** Held by a process while something happened to it, or the answer missed its deadline. */
  function wasInFlight(token) {
    const row = closes.get(token)
    if (row === undefined) return windows.open(deliveries.find((delivery) => delivery.token === token).in)
    if (row.reason === 'timeout' || row.reason === 'connection') return true
    if (windows.met(row.worker, row.leased_at ?? row.recorded_at, row.recorded_at)) return true
    return row.reason === 'worker_lost' && windows.explain(row.worker, row.recorded_at)
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
