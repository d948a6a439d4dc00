// What the checker found: counts of everything, and of each violation some examples.

const examplesKept = 8

/** Which invariant of the design a kind of violation breaks. */
export const kinds = {
  unaccounted: 1,
  foreign: 1,
  miscounted: 1,
  too_many_runs: 1,
  unfounded_skip: 1,
  not_caught_up: 1,
  caught_up_too_many: 1,
  verify_disagrees: 1,
  double_firings: 2,
  stale_epoch: 3,
  stale_token: 3,
  rescued_alive: 3,
  shared_incarnation: 3,
  changed_after_close: 4,
  claimed: 4,
  early_starts: 5,
  lost_acknowledged: 6,
  half_done: 6,
  unasked: 6,
  server_error: 6,
  unexplained_delivery: 7,
  another_key: 7,
  too_many_deliveries: 7,
  unexplained_abort: 7,
  effect_repeated: 7,
  booked_wrong: 7,
  too_many_attempts: 8,
  too_few_attempts: 8,
  dead_letters: 8,
  beside: 9,
  after_pause: 9,
  after_delete: 9,
  after_cancel: 9,
  not_drained: 10,
  orphaned_lease: 10,
  not_back_to_baseline: 10,
  not_settled: 10,
  crashed: 10,
  no_evidence: 10,
}

export class Verdict {
  /** @type {Record<string, number>} */
  counts = {}
  /** @type {Record<string, Record<string, number>>} */
  tallies = {}
  /** @type {Record<string, { count: number, examples: string[] }>} */
  violations = {}

  count(what, by = 1) {
    this.counts[what] = (this.counts[what] ?? 0) + by
  }

  tally(table, what, by = 1) {
    const rows = (this.tallies[table] ??= {})
    rows[what] = (rows[what] ?? 0) + by
  }

  /** @param {keyof typeof kinds} kind @param {string} example */
  add(kind, example) {
    if (!(kind in kinds)) throw new Error(`There is no such violation: ${kind}`)
    const found = (this.violations[kind] ??= { count: 0, examples: [] })
    found.count += 1
    if (found.examples.length < examplesKept) found.examples.push(example)
  }

  of(...names) {
    return names.reduce((sum, name) => sum + (this.violations[name]?.count ?? 0), 0)
  }

  /** How often each invariant was broken. */
  get invariants() {
    const broken = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [at + 1, 0]))
    for (const [kind, { count }] of Object.entries(this.violations)) broken[kinds[kind]] += count
    return broken
  }

  get isClean() {
    return Object.keys(this.violations).length === 0
  }
}
