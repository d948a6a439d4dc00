import type { Run } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { CalendarSet } from '../../time/schedule.js'
import { jobIdOf, runIdOf } from '../../platform/ids.js'
import { audit } from '../audit.js'
import {
  changing,
  type JobName,
  type QueuedRun,
  type Situation,
  subjectOf,
  type Transactional,
} from './change.js'
import { type Move, moveCursors, nothingOwed } from './move.js'
import { readable } from './reading.js'
import { isStaged, tickBefore } from './taking-back.js'
import { type Way, wayFor } from './way.js'
import { utcText } from '../../time/iso-text.js'

const makeWayStatement = statement<
  {
    jobs: number[]
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
    jobs: number[]
    now: number
    runs: boolean[]
    slots: (number | null)[]
    places: (number | null)[]
    max_attempts: number[]
  },
  Made
>(new URL('./trigger-jobs.sql', import.meta.url))

interface Made {
  job: number
  seq: number
  version: number
  partition: number
}

/** A run to be made, and what leaves its place for it. */
export interface PlannedTrigger {
  situation: Situation
  /** The staged tick that steps back for it. */
  move: Move | null
  way: Way
  maxAttempts: number
}

const triggerOrigin = 1

/** A run now, beside the schedule: it takes no tick's place in the account, and the next tick comes all the same. */
export function triggerJob(database: Transactional, name: JobName): Promise<Run> {
  return changing(database, name, async (situation, calendars, runner) => {
    const [run] = await triggerJobs(runner, [planTrigger(situation, calendars)])
    if (run === undefined) throw new Error(`The run of job ${situation.job} was not made.`)
    await audit(runner, { ...subjectOf(name), detail: { run_id: run.run_id, status: run.status } })
    return run
  })
}

export function planTrigger(situation: Situation, calendars: CalendarSet): PlannedTrigger {
  const { definition, now, queued } = situation
  const staged = stagedInTheWay(situation)
  const left = queued.filter((run) => run !== staged)
  return {
    situation,
    move: staged === null ? null : steppingBack(situation, calendars, staged),
    way: wayFor(left, definition, now),
    maxAttempts: 1 + definition.max_retries,
  }
}

/** Jobs whose timers are locked, all at once. Answers the runs, in the order of the jobs' keys. */
export async function triggerJobs(runner: Runner, planned: readonly PlannedTrigger[]): Promise<Run[]> {
  const now = planned[0]?.situation.now
  if (now === undefined) return []
  const moved = planned.flatMap(({ situation, move }) => (move === null ? [] : { situation, move }))
  if (moved.length > 0) await moveCursors(runner, now, moved)
  await makeWay(runner, now, planned)
  const made = await runner.run(triggerStatement, {
    jobs: planned.map(({ situation }) => situation.job),
    now,
    runs: planned.map(({ way }) => way.runs),
    slots: planned.map(({ way }) => way.slot),
    places: planned.map(({ way }) => way.places),
    max_attempts: planned.map(({ maxAttempts }) => maxAttempts),
  })
  const runs = new Map(made.map((run) => [run.job, run]))
  return planned.flatMap((one) => {
    const run = runs.get(one.situation.job)
    return run === undefined ? [] : runView(one, run)
  })
}

/** A staged tick that has the last place steps back for a run that comes before it. */
function stagedInTheWay({ queued, now, state, definition }: Situation): QueuedRun | null {
  const [last] = ticksOf(queued)
  const inTheWay = !placeWithout(queued, definition, now)
  return inTheWay && state === 'active' && last !== undefined && isStaged(last, now) ? last : null
}

/** The staged run is deleted, and the cursor is on its tick again. */
function steppingBack(situation: Situation, calendars: CalendarSet, staged: QueuedRun): Move {
  const { definition, queued } = situation
  const [, before] = ticksOf(queued)
  return {
    ...nothingOwed,
    taken: { from: staged.due, count: 1 },
    accounted: tickBefore(staged.due, situation, readable({ definition, calendars }), before?.due),
    due: staged.due,
    startAt: staged.available_at,
    reason: 'edited',
    replayState: 'running',
  }
}

/** The runs of the schedule, the latest first. */
function ticksOf(queued: readonly QueuedRun[]): QueuedRun[] {
  return queued.filter(({ origin }) => origin === 0).sort((a, b) => b.due - a.due)
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

async function makeWay(runner: Runner, now: number, planned: readonly PlannedTrigger[]): Promise<void> {
  const steps = planned.flatMap(({ way: { ended, asked, promoted } }) => [
    ...ended.map((run) => ({ way: 'ended', run, slot: null })),
    ...asked.map((run) => ({ way: 'asked', run, slot: null })),
    ...(promoted === null ? [] : [{ way: 'promoted', ...promoted }]),
  ])
  if (steps.length === 0) return
  await runner.run(makeWayStatement, {
    jobs: steps.map(({ run }) => run.job),
    now,
    ways: steps.map(({ way }) => way),
    dues: steps.map(({ run }) => run.due),
    origins: steps.map(({ run }) => run.origin),
    seqs: steps.map(({ run }) => run.seq),
    slots: steps.map(({ slot }) => slot),
  })
}

function runView(
  { situation: { job, uuid, now }, way: { runs, slot, places }, maxAttempts }: PlannedTrigger,
  { seq, version, partition }: Made,
): Run {
  const at = utcText(now)
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
