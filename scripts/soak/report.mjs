// What the soak found, for people and for programs.

/** @param {number[]} values @param {number} share */
export function quantile(values, share) {
  const rising = [...values].sort((a, b) => a - b)
  return rising.length === 0
    ? null
    : rising[Math.min(rising.length - 1, Math.ceil(rising.length * share) - 1)]
}

export function takeoverFigures(seen) {
  const figures = {}
  for (const fault of new Set(seen.map((one) => one.fault))) {
    const mine = seen.filter((one) => one.fault === fault)
    const times = mine.flatMap(({ ms }) => (ms === null ? [] : [ms]))
    figures[fault] = {
      count: mine.length,
      p50_ms: quantile(times, 0.5),
      p99_ms: quantile(times, 0.99),
      max_ms: quantile(times, 1),
      never: mine.length - times.length,
    }
  }
  return figures
}

/** How late runs started, by the ledger: first attempts that were no catch-up. */
export function lateness(ledger) {
  const late = ledger
    .filter((row) => row.attempt === 1 && row.started_at !== null && !row.catch_up && row.origin === 0)
    .map((row) => row.started_at - row.available_at)
  return {
    count: late.length,
    p50_ms: quantile(late, 0.5),
    p99_ms: quantile(late, 0.99),
    max_ms: quantile(late, 1),
  }
}

/** One line for each thing that counts, then each kind of violation with some examples. */
export function table(result) {
  const rows = [
    ['jobs', `${result.jobs} (${pairs(result.kinds)})`],
    ['span', `${result.seconds} s, ${result.from} to ${result.to}, seed ${result.seed}`],
    ['faults', pairs(result.faults)],
    ['load average', result.load.join(', ')],
    ['API calls', pairs(result.api)],
    [
      'ticks',
      `${result.ticks.expected} expected: ran ${result.ticks.ran}, caught up ${result.ticks.caught_up}, ` +
        `in flight ${result.ticks.in_flight}, not run ${pairs(result.ticks.skipped)}`,
    ],
    [
      'start lag',
      `p50 ${result.lateness.p50_ms} ms, p99 ${result.lateness.p99_ms} ms, max ${result.lateness.max_ms} ms`,
    ],
    ...Object.entries(result.takeover).map(([fault, one]) => [
      `takeover ${fault}`,
      `${one.count}: p50 ${one.p50_ms} ms, p99 ${one.p99_ms} ms, max ${one.max_ms} ms` +
        (one.never > 0 ? `, ${one.never} not in time` : ''),
    ]),
    ['refused by epoch', String(result.refused_by_epoch)],
    ['verify', result.verify === null ? 'this build has no such command' : JSON.stringify(result.verify)],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
  const bad = Object.entries(result.violations).filter(([, list]) => list.length > 0)
  for (const [name, list] of bad) {
    lines.push(`  ✗ ${name}: ${list.length}`, ...list.slice(0, 8).map((one) => `      ${one}`))
  }
  lines.push(
    bad.length === 0 ? '  ✓ every tick accounted for, none doubled, none early' : '  ✗ violations: see above',
  )
  return lines.join('\n')
}

function pairs(counts) {
  const list = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  return list.length === 0 ? 'none' : list.join(', ')
}
