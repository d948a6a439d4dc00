import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { within } from '../../db/within.js'
import type { Clock } from '../../platform/clock.js'
import { parkedUntil } from '../parked.js'

/** The queue at one moment, in numbers. */
export interface FleetCounts {
  running: number
  /** Any worker with room could take them. */
  ready: number
  /** Due, and they wait for a place of their job, or for a host that is not called at present. */
  waiting: number
  ahead: number
  parked: number
  dead_letters: number
}

const claimStatement = statement<{ lease_ms: number; longest_ms: number }, { count_at: number }>(
  new URL('./claim-counts.sql', import.meta.url),
)
const countStatement = statement<{ parked_until: number; most_letters: number }, FleetCounts>(
  new URL('./count-fleet.sql', import.meta.url),
)
const keepStatement = statement<
  { claimed: number; counts: string; pause_ms: number },
  { counted_at: number }
>(new URL('./keep-counts.sql', import.meta.url))
const putOffStatement = statement<{ claimed: number; pause_ms: number }, { count_at: number }>(
  new URL('./put-off-counts.sql', import.meta.url),
)

const everyMs = 5_000
/** Counting takes no more than this part of somebody's time, however long the queue is. */
const keptFactor = 20
const defaultWithinMs = 5_000
const mostLetters = 1_000_000

/**
 * One count for the whole fleet, where it is time for one. Null: it is not, or somebody else counts. One that fails has taken its time
 * as well: a database on which it cannot be done is not asked for it again and again.
 */
export async function countFleet({
  database,
  clock,
  countWithinMs = defaultWithinMs,
}: {
  database: Database
  clock: Clock
  countWithinMs?: number
}): Promise<FleetCounts | null> {
  const longestMs = Math.max(everyMs, 2 * keptFactor * countWithinMs)
  const [claim] = await database.run(claimStatement, {
    ...{ lease_ms: countWithinMs + everyMs, longest_ms: longestMs + everyMs },
  })
  if (claim === undefined) return null
  const begun = clock.monotonic()
  const pauseMs = () =>
    Math.min(longestMs, Math.max(everyMs, Math.ceil(clock.monotonic() - begun) * keptFactor))
  try {
    const counts = await count(database, countWithinMs)
    await database.run(keepStatement, {
      ...{ claimed: claim.count_at, counts: JSON.stringify(counts), pause_ms: pauseMs() },
    })
    return counts
  } catch (error) {
    // The error is what is told, also where this cannot be noted either.
    await database
      .run(putOffStatement, { claimed: claim.count_at, pause_ms: pauseMs() })
      .catch(() => undefined)
    throw error
  }
}

function count(database: Database, withinMs: number): Promise<FleetCounts> {
  return database.transaction(async (runner) => {
    await within(runner, withinMs)
    const [counts] = await runner.run(countStatement, {
      ...{ parked_until: parkedUntil, most_letters: mostLetters },
    })
    if (counts === undefined) throw new Error('Counting the fleet gave no answer.')
    return counts
  })
}
