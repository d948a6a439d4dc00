import { CarillonError, type OperationAction } from '@carillon/contract'
import type { Runner } from '../../../db/pool.js'
import type { CalendarSet } from '../../../time/schedule.js'
import { jobIdOf } from '../../../platform/ids.js'
import { lockAndLook, notFound, shareCalendars, type Situation, type Transactional } from '../change.js'
import { cancelJob } from '../cancel.js'
import { deleteJob } from '../delete.js'
import { changeDefinition } from '../edit.js'
import { pauseJobs, planPause } from '../pause.js'
import { planResume, resumeJobs } from '../resume.js'
import { triggerJob } from '../trigger.js'
import type { Matched } from './filter.js'

export interface ActionArguments {
  reason?: string
  until?: string
  tags?: string[]
}

export interface JobError {
  job_id: string
  code: string
  detail: string
}

/** How many jobs a chunk has: those that are changed one by one hold their timers longer. */
export const chunkSizes: Record<OperationAction, number> = {
  pause: 500,
  resume: 500,
  cancel: 25,
  delete: 25,
  trigger: 25,
  tag: 25,
  untag: 25,
}

/**
 * Does it to these jobs in the transaction under way, and answers those to which it could not be done. Their timers are
 * locked first, then their runs, all of them by key, as everybody does: what is done to one job afterwards waits for
 * nobody. Any other failure than a refusal is the whole chunk's, which is then undone.
 */
export async function act(
  runner: Runner,
  { tenant, action, given }: { tenant: number; action: OperationAction; given: ActionArguments },
  jobs: readonly Matched[],
): Promise<JobError[]> {
  const calendars = await shareCalendars(runner, tenant)
  const situations = await lockAndLook(
    runner,
    jobs.map(({ job }) => job),
  )
  const there = new Set(situations.map(({ job }) => job))
  const gone = action === 'delete' ? [] : jobs.filter(({ job }) => !there.has(job))
  const refused = gone.map(({ uuid }) => errorOf(uuid, notFound(jobIdOf(uuid))))
  return [...refused, ...(await doings[action](runner, situations, calendars, given))]
}

type Doing = (
  runner: Runner,
  situations: readonly Situation[],
  calendars: CalendarSet,
  given: ActionArguments,
) => Promise<JobError[]>

const doings: Record<OperationAction, Doing> = {
  async pause(runner, situations, calendars, given) {
    const { plans, refused } = planned(situations, (situation) => planPause(situation, calendars, given))
    await pauseJobs(runner, plans, given)
    return refused
  },
  async resume(runner, situations, calendars) {
    const { plans, refused } = planned(situations, (situation) => planResume(situation, calendars))
    await resumeJobs(
      runner,
      plans.flatMap((plan) => plan ?? []),
    )
    return refused
  },
  cancel: (runner, situations, _calendars, { reason }) =>
    oneByOne(runner, situations, (within, name) =>
      cancelJob(within, name, reason === undefined ? {} : { reason }),
    ),
  delete: (runner, situations) => oneByOne(runner, situations, deleteJob),
  trigger: (runner, situations) => oneByOne(runner, situations, triggerJob),
  tag: (runner, situations, _calendars, { tags: given = [] }) =>
    retag(runner, situations, (tags) => [...tags, ...given.filter((tag) => !tags.includes(tag))]),
  untag: (runner, situations, _calendars, { tags: given = [] }) =>
    retag(runner, situations, (tags) => tags.filter((tag) => !given.includes(tag))),
}

/** Tags are no matter of the schedule or the target: what was allowed when the job was defined is not asked again. */
function retag(
  runner: Runner,
  situations: readonly Situation[],
  change: (tags: string[]) => string[],
): Promise<JobError[]> {
  const routes = new Map(situations.map(({ uuid, route }) => [uuid, route]))
  return oneByOne(runner, situations, (database, name) =>
    changeDefinition(
      {
        database,
        lateToleranceMs: 0,
        checkTarget: () => undefined,
        routeOf: () => Promise.resolve(routes.get(name.uuid) ?? 0),
        minIntervalMs: () => Promise.resolve(0),
      },
      name,
      { to: ({ definition }) => ({ ...definition, tags: change(definition.tags ?? []) }) },
    ),
  )
}

function planned<Plan>(
  situations: readonly Situation[],
  plan: (situation: Situation) => Plan,
): { plans: Plan[]; refused: JobError[] } {
  const plans: Plan[] = []
  const refused: JobError[] = []
  for (const situation of situations) {
    try {
      plans.push(plan(situation))
    } catch (error) {
      // Nothing is written yet: whatever is wrong with one job, the others go on.
      refused.push(errorOf(situation.uuid, error))
    }
  }
  return { plans, refused }
}

async function oneByOne(
  runner: Runner,
  situations: readonly Situation[],
  change: (database: Transactional, name: { tenant: number; uuid: string }) => Promise<unknown>,
): Promise<JobError[]> {
  const within: Transactional = { transaction: (work) => work(runner) }
  const refused: JobError[] = []
  for (const { tenant, uuid } of situations) {
    try {
      await change(within, { tenant, uuid })
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      refused.push(errorOf(uuid, error))
    }
  }
  return refused
}

export function errorOf(uuid: string, error: unknown): JobError {
  const known = error instanceof CarillonError
  const detail = known ? error.message : 'The job could not be changed. The log of the server has the cause.'
  return { job_id: jobIdOf(uuid), code: known ? error.code : 'internal_error', detail }
}
