// Invariants 3 and 4: no write under an epoch or a token that was no longer the present one, and what is closed stays as it is.

/**
 * The epochs under which the ticks of one partition were fired or passed over, in the order of the database's clock: they never fall.
 * A fire that commits has its epoch's row locked, and a takeover waits for it: its time is before every fire of the next.
 */
export class EpochOrder {
  #fires = []

  /** @param {import('./timeline.mjs').Timeline} clock */
  constructor(clock) {
    this.clock = clock
  }

  /** @param {object[]} rows of one job of the partition */
  see(rows, name) {
    for (const row of rows) {
      if (row.origin !== 0 || row.round !== 0) continue
      // What was passed over was written under an epoch as well; what the API decides is under none.
      const at = row.fired_at ?? (row.outcome === 'skipped' && row.epoch > 0 ? row.recorded_at : null)
      if (at === null || this.clock.isUnclear(at)) continue
      this.#fires.push({ at, epoch: row.epoch, due: row.due, name })
    }
  }

  /** At the end of a partition. */
  judge(verdict) {
    const fires = this.#fires.sort((a, b) => a.at - b.at || a.epoch - b.epoch)
    let newest = fires[0]
    for (const fire of fires) {
      if (fire.epoch > newest.epoch) newest = fire
      else if (fire.epoch < newest.epoch && fire.at > newest.at)
        verdict.add(
          'stale_epoch',
          `${fire.name} ${new Date(fire.due).toISOString()} was fired under epoch ${fire.epoch} after epoch ${newest.epoch} had fired`,
        )
    }
    this.#fires = []
  }
}

/**
 * The closes of one round of a run, in the order in which they were recorded, beside the tokens under which it was delivered.
 * @param {{ name: string, rows: object[], deliveries: object[] }} run
 * @param {{ incarnations: Map<number, { state: string, ended_at: number | null }>, clock: import('./timeline.mjs').Timeline }} frame
 */
export function judgeWrites({ name, rows, deliveries }, { incarnations, clock }, verdict) {
  // Where the database's clock was set back, what was recorded later has the earlier time.
  if (rows.some(({ recorded_at }) => clock.isUnclear(recorded_at))) return
  const closes = rows.filter(({ outcome, token }) => outcome !== 'stale' && token !== null)
  let highest = Number.NEGATIVE_INFINITY
  for (const row of closes) {
    if (row.token <= highest)
      verdict.add('stale_token', `${name}: closed under ${row.token} after ${highest}`)
    highest = Math.max(highest, row.token)
    if (row.reason === 'worker_lost') judgeRescue(name, row, incarnations.get(row.worker), verdict)
  }
  const final = rows.find((row) => row.final)
  if (final === undefined) return
  for (const row of rows.slice(rows.indexOf(final) + 1).filter(({ outcome }) => outcome !== 'stale'))
    verdict.add('changed_after_close', `${name}: ${row.outcome} after ${final.outcome}`)
  if (final.token === null) return
  const later = deliveries.find(({ token }) => token > final.token)
  if (later !== undefined)
    verdict.add('stale_token', `${name}: closed under ${final.token}, and was delivered under ${later.token}`)
}

/** Runs are taken only from those who were declared dead, or have left, before. */
function judgeRescue(name, row, worker, verdict) {
  if (worker !== undefined && worker.state !== 'alive' && worker.ended_at <= row.recorded_at) return
  verdict.add(
    'rescued_alive',
    `${name}: taken from worker ${row.worker}, which was ${worker?.state ?? 'unknown'}`,
  )
}

/** Each life of a process is an incarnation of its own: never two lives under one id. */
export function judgeIncarnations(starts, incarnations, verdict) {
  const joined = new Set(incarnations.map(({ pid }) => pid))
  for (const { name, pid, ready } of starts)
    if (ready && !joined.has(pid))
      verdict.add('shared_incarnation', `${name} (pid ${pid}) has no incarnation of its own`)
}
