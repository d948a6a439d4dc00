import type { JobDefinition } from '@carillon/contract'
import type { QueuedRun } from './change.js'

/** Where a triggered run goes, and what leaves its place for it. */
export interface Way {
  /** False: its overlap policy passes over it. */
  runs: boolean
  slot: number | null
  places: number | null
  /** Held by nobody: they end. */
  ended: QueuedRun[]
  /** Their holders are asked to cancel them. */
  asked: QueuedRun[]
  /** Leaves the waiting place for this running one. */
  promoted: { run: QueuedRun; slot: number } | null
}

const waitingPlace = -1

/** What the overlap policy says to a run that comes now. Equal to what it says to a tick at its instant. */
export function wayFor(
  queued: readonly QueuedRun[],
  { overlap_policy: policy, max_concurrent: most }: Pick<JobDefinition, 'overlap_policy' | 'max_concurrent'>,
  now: number,
): Way {
  const places = policy === 'ALLOW' ? most : 1
  const run = (slot: number | null): Way => ({
    runs: true,
    slot,
    places,
    ended: [],
    asked: [],
    promoted: null,
  })
  const skip: Way = { ...run(null), runs: false }
  if (places === null) return run(null)
  const free = freePlace(queued, places, now)
  const waiting = queued.find(({ slot }) => slot === waitingPlace)
  if (policy === 'REPLACE') return replacing(queued, places, now, run)
  // One that waits for the only place since before an edit is not overtaken.
  const overtakes = places === 1 && waiting !== undefined
  if (policy !== 'QUEUE') return free === null || overtakes ? skip : run(free)
  if (waiting === undefined) return run(free ?? waitingPlace)
  // The one that waits comes first.
  return free === null ? skip : { ...run(waitingPlace), promoted: { run: waiting, slot: free } }
}

function replacing(
  queued: readonly QueuedRun[],
  places: number,
  now: number,
  run: (slot: number | null) => Way,
): Way {
  // What has a place, or waits for one. A tick ahead is not the trigger's to take.
  const older = queued.filter((other) => !isAhead(other, now) && !waitsUnlimited(other, now))
  const ended = older.filter(({ holder }) => holder === null)
  const asked = older.filter(({ holder }) => holder !== null)
  const left = queued.filter((other) => !ended.includes(other))
  const free = freePlace(left, places, now)
  return { ...run(free ?? waitingPlace), ended, asked }
}

/** The lowest running place. None while a run of an older version is beyond the places there are. */
function freePlace(queued: readonly QueuedRun[], places: number, now: number): number | null {
  if (queued.some((run) => (run.slot ?? 0) >= places || (isUnlimited(run) && !waitsUnlimited(run, now)))) {
    return null
  }
  const taken = new Set(queued.map(({ slot }) => slot))
  for (let place = 0; place < places; place++) if (!taken.has(place)) return place
  return null
}

function isUnlimited({ slot, places }: QueuedRun): boolean {
  return slot === null && places === null
}

/** An unlimited run of an older version that only waits for its retry holds nobody up. */
function waitsUnlimited(run: QueuedRun, now: number): boolean {
  return isUnlimited(run) && run.holder === null && run.attempt > 1 && run.available_at > now
}

/** The next tick, staged or leased ahead: it has not begun. */
function isAhead({ origin, attempt, due, available_at: availableAt }: QueuedRun, now: number): boolean {
  return origin === 0 && attempt === 1 && due > now && availableAt > now
}
