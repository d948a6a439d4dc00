// Invariants 8 and 9: attempts and dead letters as the job's policy has them; overlap, pause and delete as a model has them.
import { placesOf } from './definitions.mjs'
import { closesOf } from './deliveries.mjs'

/** An HTTP request that was on its way when the pause was acknowledged arrives a little later on a busy machine. */
const silenceAfterMs = 1_000 + 1_000
/** Times of two clocks are compared: both are rounded. */
const roundingMs = 5

/** @param {{ name: string, rows: object[], byVersion: Map<number, object>, isHostile: boolean, isHog?: boolean }} run */
export function judgeAttempts({ name, rows, byVersion, isHostile, isHog = false }, verdict) {
  for (const { attempt, max_attempts, version, outcome, reason } of rows) {
    if (max_attempts === null) continue
    // Its handler never ends otherwise.
    if (isHog && (outcome === 'success' || (reason !== 'worker_lost' && reason !== 'worker_stopped')))
      verdict.add('claimed', `${name}: ${outcome} ${reason ?? ''}, and its worker died of it`)
    const definition = byVersion.get(version)
    const allowed = definition === undefined ? max_attempts : 1 + definition.max_retries
    if (attempt > allowed || max_attempts > allowed)
      verdict.add('too_many_attempts', `${name}: attempt ${attempt} of ${max_attempts}, ${allowed} allowed`)
    const isLost = reason === 'worker_lost' || reason === 'worker_stopped'
    // An answer that asks for no repetition: only the hostile host gives one.
    const mayStop = (isHostile && reason === 'http_status') || (isLost && definition?.on_lost === 'fail')
    if (max_attempts < allowed || (outcome === 'dead' && attempt < allowed && !mayStop))
      verdict.add(
        'too_few_attempts',
        `${name}: ${outcome} ${reason ?? ''} with attempt ${attempt} of ${max_attempts}, ${allowed} allowed`,
      )
  }
}

/**
 * No more deliveries at once than there are places. A delivery holds its place from its arrival until its attempt is on
 * record: whoever lost its lease has none any more, whatever it still does.
 * @param {{ job: object, byVersion: Map<number, object>, ledger: object[], deliveries: object[] }} life
 * @param {import('./timeline.mjs').Timeline} clock
 */
export function judgeOverlap({ job, byVersion, ledger, deliveries }, clock, verdict) {
  const allowed = new Map([...byVersion].map(([version, definition]) => [version, placesOf(definition)]))
  const widest = Math.max(0, ...allowed.values())
  if (Math.min(...allowed.values()) === Number.POSITIVE_INFINITY) return
  const closes = closesOf(ledger)
  let going = []
  for (const delivery of deliveries) {
    if (clock.isNearStep(delivery.in)) continue
    const from = clock.database(delivery.in)
    going = going.filter(({ to }) => to > from + roundingMs)
    const close = closes.get(delivery.token)
    // Begun by somebody who had slept, after its lease had been taken back: it has no place, and takes none.
    if (close !== undefined && close.recorded_at + roundingMs < from) continue
    // A run keeps the policy that it was made with. After an edit those of both versions may go on beside each other.
    going.push({
      to: close?.recorded_at ?? from,
      due: delivery.due,
      allowed: allowed.get(close?.version) ?? widest,
    })
    const places = Math.max(...going.map((run) => run.allowed))
    if (going.length > places)
      verdict.add(
        'beside',
        `${job.name}: ${going.length} at once (${going.map(({ due }) => new Date(due).toISOString()).join(', ')}), ${places} allowed`,
      )
  }
}

/**
 * After an acknowledged pause or delete no run of the schedule begins.
 * @param {{ job: object, calls: object[], deliveries: object[] }} life calls about the job, in order
 * @param {(delivery: object) => boolean} isExcused its worker stood still between its look and its start
 */
export function judgeSilence({ job, calls, deliveries }, isExcused, verdict) {
  for (const [at, { call, status, answered }] of calls.entries()) {
    if (status !== 'ok' || (call !== 'pause' && call !== 'delete')) continue
    const from = answered + silenceAfterMs
    const to =
      call === 'delete'
        ? Number.POSITIVE_INFINITY
        : (calls.slice(at).find((later) => later.call === 'resume' && later.status !== 'failed')?.invoked ??
          Number.POSITIVE_INFINITY)
    for (const delivery of deliveries) {
      if (delivery.in <= from || delivery.in >= to || delivery.origin !== 0 || isExcused(delivery)) continue
      const kind = call === 'pause' ? 'after_pause' : 'after_delete'
      verdict.add(
        kind,
        `${job.name} ${new Date(delivery.due).toISOString()}: ${Math.round(delivery.in - answered)} ms after it was acknowledged`,
      )
    }
  }
}
