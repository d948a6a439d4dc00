// Invariant 1, of ticks that did not run: the reason on record is one that there was.
import { placesOf } from './definitions.mjs'

/** Times of one clock, read by two statements. */
const roundingMs = 50
/** A statement has the time at which it began, and may see what one that began before it had not yet committed. */
const statementMs = 4_000

/**
 * @param {{ job: object, byVersion: Map<number, object>, ledger: object[], queue: object[], calls: object[] }} life of one job
 * @param {{ settings: { lateMs: number, overloadMs: number }, clock: import('./timeline.mjs').Timeline }} frame
 */
export class SkipJudge {
  #life
  #frame
  #verdict
  #runs

  constructor(life, frame, verdict) {
    this.#life = life
    this.#frame = frame
    this.#verdict = verdict
  }

  /** @param {object} row of a tick or a range of them, skipped or cancelled */
  judge(row) {
    const { job } = this.#life
    const problem = row.outcome === 'skipped' ? this.#skip(row) : this.#cancelled(row)
    if (problem !== null)
      this.#verdict.add(
        'unfounded_skip',
        `${job.name} ${new Date(row.due).toISOString()} is ${row.outcome} as ${row.reason}, and ${problem}`,
      )
  }

  #skip(row) {
    const { lateMs, overloadMs } = this.#frame.settings
    if (row.reason === 'missed') return this.#late(row, lateMs)
    if (row.reason === 'overload') return this.#late(row, Math.min(lateMs, overloadMs))
    if (row.reason === 'overlap') return this.#overlap(row)
    if (row.reason === 'paused') return this.#asked('pause')
    if (row.reason === 'edited') return this.#asked('edit', 'trigger')
    if (row.reason === 'deleted') return this.#asked('delete')
    return 'nobody asked for that'
  }

  /** The oldest of a range was later than may be; where nothing of it runs after all, each of them was. */
  #late(row, allowedMs) {
    if (this.#frame.clock.isUnclear(row.recorded_at)) return null
    const { missed_window } = this.#life.byVersion.get(row.version) ?? this.#life.job.definition
    const youngest = missed_window === 'SKIP' && row.epoch > 0 ? (row.due_to ?? row.due) : row.due
    const lateMs = row.recorded_at - youngest
    return lateMs + roundingMs >= allowedMs ? null : `it was ${lateMs} ms late, of ${allowedMs} allowed`
  }

  /** No place was left: another run of the job was open then. */
  #overlap(row) {
    if (this.#frame.clock.isUnclear(row.recorded_at)) return null
    const definition = this.#life.byVersion.get(row.version) ?? this.#life.job.definition
    if (placesOf(definition) === Number.POSITIVE_INFINITY) return 'its job has no limit'
    const at = row.recorded_at
    const isThere = this.#openings().some(
      ({ due, origin, seq, from, to }) =>
        from <= at + statementMs &&
        to >= at - statementMs &&
        !(due === row.due && origin === row.origin && seq === row.seq),
    )
    return isThere ? null : 'no other run was open'
  }

  #cancelled({ reason, due, origin, seq }) {
    const { byVersion, calls } = this.#life
    const key = `${due} ${origin} ${seq}`
    if (calls.some(({ call, run, status }) => call === 'cancel' && run === key && status !== 'failed'))
      return null
    const replaces = [...byVersion.values()].some(({ overlap_policy }) => overlap_policy === 'REPLACE')
    if (replaces && reason !== 'deleted') return null
    return this.#asked('delete', 'pause', 'edit')
  }

  /** A call of one of these kinds that was done, or may have been. */
  #asked(...kinds) {
    const { calls } = this.#life
    const wasAsked = calls.some(({ call, status }) => kinds.includes(call) && status !== 'failed')
    return wasAsked ? null : `nobody asked for a ${kinds.join(' or a ')}`
  }

  /** Of each run, from when to when it was in the queue. */
  #openings() {
    this.#runs ??= openingsOf(this.#life)
    return this.#runs
  }
}

function openingsOf({ ledger, queue }) {
  const runs = new Map()
  const see = ({ due, origin, seq }, from, to) => {
    const key = `${due} ${origin} ${seq}`
    const known = runs.get(key) ?? { due, origin, seq, from, to }
    runs.set(key, { ...known, from: Math.min(known.from, from), to: Math.max(known.to, to) })
  }
  for (const row of ledger)
    if (row.outcome !== 'skipped' && row.outcome !== 'stale')
      see(row, row.fired_at ?? row.recorded_at, row.recorded_at)
  for (const row of queue) see(row, row.fired_at ?? 0, Number.POSITIVE_INFINITY)
  return [...runs.values()]
}
