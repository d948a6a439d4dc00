import type { IncarnationRow, PartitionRow } from '../rows.js'
import { type Execution, type Steps, StoreError, timelineBase } from '../store.js'

/** The statements of cluster/postgres. The lock of each is named where it is taken. */

interface Held {
  incarnation: number
  partitions: number[]
  epochs: number[]
}

export function* join(
  run: Execution,
  params: Pick<IncarnationRow, 'incarnation' | 'host' | 'pid' | 'roles' | 'tasks' | 'commands'>,
): Steps {
  const { incarnation, host, pid, roles, tasks, commands } = params
  const before = yield* run.lock('incarnations', incarnation, 'update')
  if (before !== null) throw new StoreError('23505', 'this incarnation was there before', 'incarnations_pkey')
  run.write('incarnations', incarnation, null, {
    ...{ incarnation, host, pid, roles, tasks, commands, state: 'alive', beat: 0, beat_at: run.now },
    ...{ session_lock: false, started_at: run.now, ended_at: null, rescued_at: null },
  })
  return [{ now: run.now }]
}

export function* heartbeat(
  run: Execution,
  { incarnation, session_lock, roles }: { incarnation: number; session_lock: boolean; roles: string[] },
): Steps {
  const revives = run.has('the dead come back')
  const counts = (row: IncarnationRow | null | undefined) => row != null && (row.state === 'alive' || revives)
  if (!counts(run.table('incarnations').get(incarnation))) return [{ now: run.now, alive: false }]
  const row = yield* run.lock('incarnations', incarnation, 'no key update')
  if (row === null || !counts(row)) return [{ now: run.now, alive: false }]
  run.write('incarnations', incarnation, row, {
    ...{ ...row, beat: row.beat + 1, beat_at: run.now, session_lock, roles },
    ...(revives && { state: 'alive' as const, ended_at: null }),
  })
  return [{ now: run.now, alive: true }]
}

/** Longer than any lease: the server was not restarted of late. */
const serverAgeMs = 3_600_000

export function* peers(run: Execution): Steps {
  return [...run.table('incarnations').values()]
    .filter(({ state }) => state === 'alive')
    .sort((a, b) => a.incarnation - b.incarnation)
    .map(({ incarnation, host, pid, roles, tasks, beat, beat_at, session_lock }) => ({
      ...{ incarnation, host, pid, roles, tasks, beat, beat_at, session_lock, now: run.now },
      ...{ locked: run.store.sessions.has(incarnation), server_age_ms: serverAgeMs },
    }))
}

export function* declareDead(
  run: Execution,
  { incarnation, beat, expired_before }: { incarnation: number; beat: number; expired_before: number | null },
): Steps {
  const dying = (row: IncarnationRow | null | undefined): row is IncarnationRow =>
    row != null &&
    row.state === 'alive' &&
    row.beat === beat &&
    (expired_before === null ? run.tryAdvisory(incarnation) : row.beat_at < expired_before)
  if (!dying(run.table('incarnations').get(incarnation))) return []
  const row = yield* run.lock('incarnations', incarnation, 'update')
  if (!dying(row)) return []
  run.write('incarnations', incarnation, row, { ...row, state: 'dead', ended_at: run.now })
  return [{ incarnation }]
}

export function* disown(
  run: Execution,
  { incarnations, beats }: { incarnations: number[]; beats: number[] },
): Steps {
  const silent = new Set(
    incarnations.filter((incarnation, at) => {
      const row = run.table('incarnations').get(incarnation)
      return row?.state === 'alive' && row.beat === beats[at] && run.tryAdvisory(incarnation)
    }),
  )
  const theirs = ({ owner }: PartitionRow) => owner !== null && silent.has(owner)
  return yield* freed(run, [...run.table('partitions').values()], theirs)
}

export function* leave(run: Execution, { incarnation }: { incarnation: number }): Steps {
  if (run.table('incarnations').get(incarnation)?.state !== 'alive') return []
  const row = yield* run.lock('incarnations', incarnation, 'update')
  if (row?.state !== 'alive') return []
  run.write('incarnations', incarnation, row, { ...row, state: 'left', ended_at: run.now })
  return [{ incarnation }]
}

export function* release(run: Execution, { incarnation, partitions, epochs }: Held): Steps {
  const held = epochsOf(partitions, epochs)
  const mine = (row: PartitionRow) => held.get(row.partition) === row.epoch && row.owner === incarnation
  return yield* freed(run, [...run.table('partitions').values()], mine)
}

function* freed(run: Execution, seen: PartitionRow[], wanted: (row: PartitionRow) => boolean): Steps {
  const answer: object[] = []
  for (const { partition } of seen.filter(wanted).sort(byPartition)) {
    const row = yield* run.lock('partitions', partition, 'no key update')
    if (row === null || !wanted(row)) continue
    run.write('partitions', partition, row, { ...row, owner: null, expires_at: 0 })
    answer.push({ partition })
  }
  return answer
}

export function* renew(
  run: Execution,
  { incarnation, partitions, epochs, ttl_ms }: Held & { ttl_ms: number },
): Steps {
  const held = epochsOf(partitions, epochs)
  const alive = run.table('incarnations').get(incarnation)?.state === 'alive'
  const mine = (row: PartitionRow) =>
    held.get(row.partition) === row.epoch && row.owner === incarnation && alive && row.expires_at > run.now
  const answer: object[] = []
  for (const { partition } of [...run.table('partitions').values()].filter(mine).sort(byPartition)) {
    const row = yield* run.lock('partitions', partition, 'no key update')
    if (row === null || !mine(row)) continue
    run.write('partitions', partition, row, { ...row, expires_at: run.now + ttl_ms })
    answer.push({ partition, epoch: row.epoch })
  }
  return answer
}

/** Changes a key column, so it waits for nobody but passes over what a fire holds. */
export function* take(
  run: Execution,
  { incarnation, wanted, ttl_ms }: { incarnation: number; wanted: number[]; ttl_ms: number },
): Steps {
  const processes = run.table('incarnations')
  if (processes.get(incarnation)?.state !== 'alive') return []
  const free = ({ owner, expires_at }: PartitionRow) => {
    if (owner === null || owner === incarnation || expires_at <= run.now) return true
    const process = processes.get(owner)
    return process !== undefined && process.state !== 'alive'
  }
  const asked = new Set(wanted)
  const answer: object[] = []
  for (const seen of [...run.table('partitions').values()].sort(byPartition)) {
    const { partition } = seen
    if (!asked.has(partition) || !free(seen)) continue
    const row = run.lockOrSkip('partitions', partition, 'update')
    if (row === null || !free(row)) continue
    const epoch = Math.max(row.epoch + 1, timelineBase)
    run.write('partitions', partition, row, {
      ...row,
      ...{ epoch, owner: incarnation, taken_at: run.now, expires_at: run.now + ttl_ms },
    })
    answer.push({ partition, epoch })
  }
  return answer
}

export function epochsOf(partitions: readonly number[], epochs: readonly number[]): Map<number, number> {
  return new Map(partitions.map((partition, at) => [partition, epochs[at] as number]))
}

function byPartition(a: PartitionRow, b: PartitionRow): number {
  return a.partition - b.partition
}
