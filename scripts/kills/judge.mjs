// What the deliveries and the ledger say about kills. Pure: all that happened comes in.

/**
 * @param {{
 *   deliveries: { at: number, tick: string, key: string, attempt: number, token: number }[],
 *   ledger: { tick: string, final: boolean, outcome: string, attempt: number, token: number }[],
 *   open: string[],
 *   kills: { at: number, inFlight: string[] }[],
 * }} seen
 */
export function judge({ deliveries, ledger, open, kills }) {
  const arrived = groupBy(deliveries, ({ tick }) => tick)
  const recorded = groupBy(ledger, ({ tick }) => tick)
  const bound = kills.reduce((sum, { inFlight }) => sum + inFlight.length, 0)
  const extra = [...arrived.values()].reduce((sum, { length }) => sum + length - 1, 0)
  const finals = (rows) => rows.filter(({ final }) => final)
  const violations = {
    not_closed: open,
    closed_twice: named(recorded, (rows) => finals(rows).length > 1),
    not_succeeded: named(recorded, (rows) => finals(rows).some(({ outcome }) => outcome !== 'success')),
    delivered_but_unknown: [...arrived.keys()].filter((tick) => !recorded.has(tick) && !open.includes(tick)),
    closed_but_not_delivered: [...recorded.keys()].filter((tick) => !arrived.has(tick)),
    another_key: named(arrived, (all) => new Set(all.map(({ key }) => key)).size > 1),
    shared_key: named(
      groupBy(deliveries, ({ key }) => key),
      (all) => new Set(all.map(({ tick }) => tick)).size > 1,
    ),
    token_not_grown: named(
      arrived,
      (all) => !all.every(({ token }, at) => at === 0 || token > all[at - 1].token),
    ),
    delivered_again_without_a_kill: named(
      arrived,
      (all) => all.length - 1 > kills.filter(({ inFlight }) => inFlight.includes(all[0].tick)).length,
    ),
    more_extra_than_in_flight: extra > bound ? [`${extra} extra, ${bound} in flight at kills`] : [],
  }
  return {
    runs: recorded.size,
    deliveries: deliveries.length,
    kills: kills.length,
    extra_deliveries: extra,
    extra_deliveries_bound: bound,
    redelivery_ms: quantiles(redeliveries(arrived, kills)),
    violations,
  }
}

/** From the kill of the one that had a run to its next delivery. */
function redeliveries(arrived, kills) {
  return kills.flatMap(({ at, inFlight }) =>
    inFlight.flatMap((tick) => {
      const next = arrived.get(tick)?.find((delivery) => delivery.at > at)
      return next === undefined ? [] : [next.at - at]
    }),
  )
}

function quantiles(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? null }
}

function groupBy(items, keyOf) {
  const groups = new Map()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

function named(groups, isWrong) {
  return [...groups].flatMap(([key, items]) => (isWrong(items) ? [key] : []))
}
