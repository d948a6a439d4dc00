// What a run found, for programs and for people.
import { killsIn, restartsIn } from './checker/evidence.mjs'

/**
 * @param {{ settings: object, nemesis: object[], verdict: import('./checker/verdict.mjs').Verdict, figures: object }} run
 */
export function resultOf({ settings, nemesis, verdict, figures }) {
  const { counts } = verdict
  const { skipped = {}, mutant = null } = settings
  const health = nemesis.find((entry) => entry.health !== undefined)?.health
  return {
    seed: settings.seed,
    ticks: counts.ticks ?? 0,
    kills: killsIn(nemesis),
    db_restarts: restartsIn(nemesis),
    unaccounted: verdict.of('unaccounted'),
    double_firings: verdict.of('double_firings'),
    early_starts: verdict.of('early_starts'),
    stale_overwrites: verdict.of('stale_epoch', 'stale_token', 'rescued_alive', 'changed_after_close'),
    extra_deliveries: counts.extra_deliveries ?? 0,
    extra_deliveries_bound: counts.extra_deliveries_bound ?? 0,
    takeover_ms: figures.takeover_ms,
    redelivery_ms: figures.redelivery_ms,
    redelivery_remote_ms: figures.redelivery_remote_ms,
    firing_again_ms: figures.firing_again_ms,
    takeover_after_restart_ms: figures.takeover_after_restart_ms,
    takeover_parts_ms: figures.takeover_parts_ms,
    drain_ms: health?.drainMs ?? null,
    seconds: Math.round((nemesis.at(-1).at - nemesis[0].at) / 1000),
    invariants: verdict.invariants,
    violations: Object.fromEntries(
      Object.entries(verdict.violations).map(([kind, { count }]) => [kind, count]),
    ),
    faults: countBy(nemesis.flatMap(({ fault }) => (fault === undefined ? [] : [fault]))),
    ...(Object.keys(skipped).length > 0 && { skipped }),
    became: verdict.tallies.became ?? {},
    deliveries: counts.deliveries ?? 0,
    retries_asked_for: counts.retries_asked_for ?? 0,
    dead_letters: counts.dead_letters ?? 0,
    api_calls: counts.api_calls ?? 0,
    asked_beside: Object.fromEntries(
      ['redriven', 'cancels', 'backfilled', 'orders', 'effects', 'bookings'].map((what) => [
        what,
        counts[what] ?? 0,
      ]),
    ),
    ...(mutant !== null && { mutant }),
  }
}

function countBy(names) {
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

const isObject = (value) => value !== null && typeof value === 'object'

/** A line for each thing that counts, then each kind of violation with some examples. */
export function table(result, verdict) {
  const text = (value) =>
    isObject(value)
      ? Object.entries(value)
          .map(([name, one]) => `${name} ${isObject(one) ? `(${text(one)})` : one}`)
          .join(', ') || 'none'
      : String(value)
  const width = Math.max(...Object.keys(result).map((name) => name.length))
  const lines = Object.entries(result).map(([name, value]) => `  ${name.padEnd(width)}  ${text(value)}`)
  for (const [kind, { count, examples }] of Object.entries(verdict.violations))
    lines.push(`  ✗ ${kind}: ${count}`, ...examples.map((one) => `      ${one}`))
  lines.push(
    verdict.isClean
      ? '  ✓ every tick accounted for, none doubled, none early, nothing overwritten'
      : '  ✗ an invariant broke: see above',
  )
  return lines.join('\n')
}
