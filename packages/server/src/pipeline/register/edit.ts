import { isDeepStrictEqual } from 'node:util'
import { CarillonError, type JobDefinition, type JobPatch } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { storedText } from '../../db/stored-definition.js'
import { type CalendarSet, checkFrequency } from '../../time/schedule.js'
import { jobIdOf } from '../../platform/ids.js'
import { calendarsNamed } from './calendar-content.js'
import { audit, describeChange } from '../audit.js'
import { changing, type JobName, type Situation, subjectOf, type Transactional } from './change.js'
import { checkDefinition, neverFires, patchDefinition } from './definition.js'
import { hasEnded } from './ended.js'
import { moveCursors } from './move.js'
import { type Rescheduled, reschedule } from './reschedule.js'
import { takeBack } from './taking-back.js'
import { utcText } from '../../time/iso-text.js'

const editStatement = statement<
  {
    jobs: number[]
    now: number
    from_mss: number[]
    names: string[]
    definitions: string[]
    one_offs: boolean[]
    routes: number[]
    zone_data: string
    calendars: (string | null)[]
    states: string[]
    reason: string | null
  },
  { job: number; version: number }
>(new URL('./edit-jobs.sql', import.meta.url))

export interface EditPorts {
  database: Transactional
  lateToleranceMs: number
  checkTarget: (target: JobDefinition['target']) => void
  /** Whether the tenant may have such a job. */
  checkAllowed: (runner: Runner, tenant: number, definition: JobDefinition) => Promise<void>
  routeOf: (runner: Runner, tenant: number, definition: JobDefinition) => Promise<number>
  minIntervalMs: (runner: Runner, tenant: number) => Promise<number>
}

/** Merges the given fields into the definition: a new version, from the next tick on. Nothing given, nothing done. */
export async function editJob(
  ports: EditPorts,
  name: JobName,
  patch: JobPatch,
  expected: { version?: number } = {},
): Promise<void> {
  await changeDefinition(ports, name, {
    to: ({ definition }) => patchDefinition(definition, patch),
    ...expected,
  })
}

export interface DefinitionChange {
  /** The definition that it shall have, by what it is under the lock. May read; may throw. */
  to: (situation: Situation, runner: Runner) => JobDefinition | Promise<JobDefinition>
  /** The version that the change was made for. */
  version?: number
  /** Why, for people. */
  reason?: string
}

/** Gives a job another definition: a new version, from the next tick on. The same one: nothing is done. */
export async function changeDefinition(
  ports: EditPorts,
  name: JobName,
  { to, version: expected, reason }: DefinitionChange,
): Promise<void> {
  await changing(ports.database, name, async (situation, calendars, runner) => {
    const { tenant, definition: old } = situation
    const planned = await planAndCheck(ports, situation, calendars, runner, { to, version: expected })
    if (planned === null) return
    const { definition } = planned
    await ports.checkAllowed(runner, tenant, definition)
    const route = await ports.routeOf(runner, tenant, definition)
    await changeJobs(runner, [{ ...planned, route }], reason)
    await audit(runner, {
      ...subjectOf(name),
      detail: { version: situation.version + 1, changed: describeChange(old, definition) },
    })
  })
}

/** All that is checked before a change, under the lock of its job. Null: it has this definition already. */
export async function planAndCheck(
  ports: Pick<EditPorts, 'lateToleranceMs' | 'checkTarget' | 'minIntervalMs'>,
  situation: Situation,
  calendars: CalendarSet,
  runner: Runner,
  { to, version }: { to: DefinitionChange['to']; version?: number | undefined },
): Promise<PlannedChange | null> {
  checkVersion(situation, version)
  const definition = await to(situation, runner)
  const planned = planChange(situation, definition, { calendars, lateToleranceMs: ports.lateToleranceMs })
  if (planned === null) return null
  ports.checkTarget(definition.target)
  checkTicks(planned, situation, definition, await ports.minIntervalMs(runner, situation.tenant))
  return planned
}

/** A job that gets another definition, and where its cursor goes. */
export interface PlannedChange extends Rescheduled {
  situation: Situation
  definition: JobDefinition
  route: number
  /** What the calendars that the old definition names excluded. */
  calendarsBefore: string | null
}

/** Null: it has this definition already. The route is the present one: a change of the target needs another. */
export function planChange(
  situation: Situation,
  definition: JobDefinition,
  { calendars, lateToleranceMs }: { calendars: CalendarSet; lateToleranceMs: number },
): PlannedChange | null {
  const { state, definition: old, route } = situation
  if (state === 'ended' && takeBack(situation, null).count === 0) throw hasEnded(situation)
  if (sameDefinition(definition, old)) return null
  checkDefinition(definition)
  const [before, after] = [
    { definition: old, calendars },
    { definition, calendars },
  ]
  const rescheduled = reschedule(situation, before, after, lateToleranceMs)
  return { ...rescheduled, situation, definition, route, calendarsBefore: contentOf(calendars, old) }
}

/** Jobs whose timers are locked, all at once. `reason`: why, for people. */
export async function changeJobs(
  runner: Runner,
  planned: readonly PlannedChange[],
  reason?: string,
): Promise<void> {
  const now = planned[0]?.situation.now
  if (now === undefined) return
  await moveCursors(runner, now, planned)
  await runner.run(editStatement, {
    jobs: planned.map(({ situation }) => situation.job),
    now,
    from_mss: planned.map(({ from }) => from),
    names: planned.map(({ definition }) => definition.name),
    definitions: planned.map(({ definition }) => storedText(definition)),
    one_offs: planned.map(({ schedule }) => schedule.kind === 'once'),
    routes: planned.map(({ route }) => route),
    zone_data: process.versions.tz ?? 'unknown',
    calendars: planned.map(({ calendarsBefore }) => calendarsBefore),
    states: planned.map(stateAfter),
    reason: reason ?? null,
  })
}

export function stateAfter({ ends, situation }: PlannedChange): string {
  return ends ? 'ended' : situation.state === 'paused' ? 'paused' : 'active'
}

/** One that was stored before a field came into being says of it what the default says. */
export function sameDefinition(one: JobDefinition, other: JobDefinition): boolean {
  return isDeepStrictEqual(asStored(one), asStored(other))
}

/** As it is after it was stored and read: JSON has no minus zero, for one. */
function asStored(definition: JobDefinition): unknown {
  return JSON.parse(JSON.stringify(patchDefinition(definition, {})))
}

function contentOf(calendars: CalendarSet, definition: JobDefinition): string | null {
  const named = calendarsNamed(definition, calendars)
  return named === null ? null : JSON.stringify(named)
}

function checkVersion({ uuid, version }: Situation, expected: number | undefined): void {
  if (expected === undefined || expected === version) return
  throw new CarillonError('job_version_conflict', {
    detail: `The job ${jobIdOf(uuid)} is at version ${version}, not ${expected}.`,
  })
}

function checkTicks(
  { schedule, next, from, move }: Rescheduled,
  { now, runs }: Situation,
  { max_runs: mostRuns }: JobDefinition,
  minIntervalMs: number,
): void {
  const made = runs - move.taken.count
  if (mostRuns !== null && made >= mostRuns) {
    throw new CarillonError('validation_failed', {
      detail: `The schedule has made ${made} runs already; max_runs is ${mostRuns}.`,
      errors: [{ pointer: '/max_runs', message: `must be more than the ${made} runs made so far` }],
    })
  }
  if (schedule.kind !== 'once') {
    if (next === null) throw new CarillonError('schedule_never_fires', { errors: [neverFires] })
    checkFrequency(schedule, now, minIntervalMs)
  } else if (next === null) {
    throw new CarillonError('schedule_in_past', {
      detail: `The instant is not after ${utcText(Math.max(from, now))}, from when the change applies.`,
      errors: [{ pointer: '/schedule', message: 'lies in the past' }],
    })
  }
}
