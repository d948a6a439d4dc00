import { type QueueRow, runKey } from '../rows.js'
import type { Execution, Steps } from '../store.js'
import { shareJobs } from './queue.js'
import { attemptOf, writeLetter } from './record.js'

/** The statements of pipeline/recover. */

/** What the mutant takes for dead: no heartbeat for so long. */
const silentMs = 1_000

export function* orphaning(run: Execution): Steps {
  const silent = (beatAt: number) => run.has('rescue of the living') && run.now - beatAt > silentMs
  return [...run.table('incarnations').values()]
    .filter(
      ({ state, rescued_at, roles }) => state !== 'alive' && rescued_at === null && roles.includes('worker'),
    )
    .concat(
      [...run.table('incarnations').values()].filter((row) => row.state === 'alive' && silent(row.beat_at)),
    )
    .sort((a, b) => a.incarnation - b.incarnation)
    .map(({ incarnation }) => ({ incarnation, remote: false }))
}

const gone = 'the worker that ran it is gone'

export function* rescue(run: Execution, { incarnation, most }: { incarnation: number; most: number }): Steps {
  const dead = run.table('incarnations').get(incarnation)
  if (dead === undefined || (dead.state === 'alive' && !run.has('rescue of the living')))
    return [{ rescued: 0 }]
  const orphans: QueueRow[] = []
  const held = [...run.table('queue').values()].filter((row) => row.holder === incarnation)
  for (const seen of held.sort((a, b) => a.due - b.due || a.job - b.job)) {
    if (orphans.length >= most) break
    const row = run.lockOrSkip('queue', runKey(seen), 'update')
    if (row?.holder === incarnation) orphans.push(row)
  }
  const judged = orphans.map((row) => {
    const begun = row.available_at <= run.now
    const never = run.table('jobs').get(row.job)?.definition.on_lost === 'fail'
    return { row, begun, final: begun && (row.attempt >= row.max_attempts || never) }
  })
  yield* shareJobs(
    run,
    judged.flatMap(({ row, final }) => (final ? [] : [row])),
  )
  for (const { row, begun, final } of judged) {
    if (final) run.freePlace(row)
    run.write('queue', runKey(row), row, final ? null : back(row, begun))
    if (final) writeLetter(run, row, 'worker_lost', gone)
    if (begun)
      run.note({
        ...{
          ...attemptOf(row),
          outcome: final ? 'dead' : 'failed',
          final,
          reason: 'worker_lost',
          error: gone,
        },
      })
  }
  return [{ rescued: orphans.length }]
}

/** The attempt counts as lost, unless it had not begun. The place is kept. */
function back(row: QueueRow, begun: boolean): QueueRow {
  const free = { ...row, holder: null, token: null, leased_at: null }
  return begun ? { ...free, attempt: row.attempt + 1, last_error: gone } : free
}

export function* rescued(run: Execution, { incarnation }: { incarnation: number }): Steps {
  const counts = (state?: string) => state !== undefined && state !== 'alive'
  if (!counts(run.table('incarnations').get(incarnation)?.state)) return []
  for (const row of run.table('queue').values()) if (row.holder === incarnation) return []
  const row = yield* run.lock('incarnations', incarnation, 'no key update')
  if (row === null || !counts(row.state)) return []
  run.write('incarnations', incarnation, row, { ...row, rescued_at: run.now })
  return [{ incarnation }]
}
