import type { Run } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { CalendarSet } from '../../time/schedule.js'
import { jobIdOf, runIdOf } from '../../platform/ids.js'
import { changing, type JobName, type QueuedRun, type Situation } from './change.js'
import { moveCursors, nothingOwed } from './move.js'
import { readable } from './reading.js'
import { isStaged, tickBefore } from './taking-back.js'
import { type Way, wayFor } from './way.js'

const makeWayStatement = statement<
  {
    job: number
    now: number
    ways: string[]
    dues: number[]
    origins: number[]
    seqs: number[]
    slots: (number | null)[]
  },
  { job: number }
>(new URL('./make-way.sql', import.meta.url))
const triggerStatement = statement<
  {
    job: number
    now: number
    runs: boolean
    slot: number | null
    places: number | null
    max_attempts: number
  },
  { seq: number; version: number; partition: number }
>(new URL('./trigger-job.sql', import.meta.url))

const triggerOrigin = 1

/** A run now, beside the schedule: it takes no tick's place in the account, and the next tick comes all the same. */
export function triggerJob(database: Pick<Database, 'transaction'>, name: JobName): Promise<Run> {
  return changing(database, name, async (situation, calendars, runner) => {
    const { job, now, definition } = situation
    const queued = await clearStaged(runner, situation, calendars)
    const way = wayFor(queued, definition, now)
    await makeWay(runner, situation, way)
    const maxAttempts = 1 + definition.max_retries
    const [made] = await runner.run(triggerStatement, {
      job,
      now,
      runs: way.runs,
      slot: way.slot,
      places: way.places,
      max_attempts: maxAttempts,
    })
    if (made === undefined) throw new Error(`The run of job ${job} was not made.`)
    return runView(situation, made, way, maxAttempts)
  })
}

/**
 * A staged tick that has the last place steps back for a run that comes before it: deleted, and the cursor is on it again.
 * Answers the runs that are left.
 */
async function clearStaged(
  runner: Runner,
  situation: Situation,
  calendars: CalendarSet,
): Promise<QueuedRun[]> {
  const { queued, now, state, definition } = situation
  const ticks = queued.filter(({ origin }) => origin === 0).sort((a, b) => b.due - a.due)
  const [last, before] = ticks
  const inTheWay = !placeWithout(queued, definition, now)
  if (!inTheWay || state !== 'active' || last === undefined || !isStaged(last, now)) return queued
  const move = {
    ...nothingOwed,
    taken: { from: last.due, count: 1 },
    accounted: tickBefore(last.due, situation, readable({ definition, calendars }), before?.due),
    due: last.due,
    startAt: last.available_at,
    reason: 'edited',
    replayState: 'running',
  } as const
  await moveCursors(runner, now, [{ situation, move }])
  return queued.filter((run) => run !== last)
}

/** Whether the run gets a running place as things are, without anybody leaving one. */
function placeWithout(
  queued: readonly QueuedRun[],
  definition: Situation['definition'],
  now: number,
): boolean {
  const { runs, slot, places, ended, asked, promoted } = wayFor(queued, definition, now)
  const alone = ended.length === 0 && asked.length === 0 && promoted === null
  return runs && alone && (places === null || (slot ?? -1) >= 0)
}

async function makeWay(
  runner: Runner,
  { job, now }: Situation,
  { ended, asked, promoted }: Way,
): Promise<void> {
  const steps = [
    ...ended.map((run) => ({ way: 'ended', run, slot: null })),
    ...asked.map((run) => ({ way: 'asked', run, slot: null })),
    ...(promoted === null ? [] : [{ way: 'promoted', ...promoted }]),
  ]
  if (steps.length === 0) return
  await runner.run(makeWayStatement, {
    job,
    now,
    ways: steps.map(({ way }) => way),
    dues: steps.map(({ run }) => run.due),
    origins: steps.map(({ run }) => run.origin),
    seqs: steps.map(({ run }) => run.seq),
    slots: steps.map(({ slot }) => slot),
  })
}

function runView(
  { job, uuid, now }: Situation,
  { seq, version, partition }: { seq: number; version: number; partition: number },
  { runs, slot, places }: Way,
  maxAttempts: number,
): Run {
  const at = new Date(now).toISOString()
  const waits = places !== null && (slot ?? -1) < 0
  return {
    run_id: runIdOf({ due: now, job, origin: triggerOrigin, seq, partition }),
    job_id: jobIdOf(uuid),
    scheduled_at: at,
    available_at: runs ? at : null,
    started_at: null,
    finished_at: null,
    duration_ms: null,
    status: runs ? 'pending' : 'skipped',
    attempt: runs ? 1 : 0,
    max_attempts: runs ? maxAttempts : null,
    error: null,
    reason: runs ? (waits ? 'waiting_for_overlap_place' : 'waiting_for_worker') : 'overlap',
    result: null,
    catch_up: false,
    version,
    fencing_token: null,
    worker: null,
    skipped_until: null,
    skipped_count: runs ? null : 1,
  }
}
