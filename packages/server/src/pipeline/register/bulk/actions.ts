import { CarillonError, limits, type OperationAction } from '@carillon/contract'
import type { Runner } from '../../../db/pool.js'
import type { CalendarSet } from '../../../time/schedule.js'
import { jobIdOf } from '../../../platform/ids.js'
import { lockAndLook, notFound, refuseCancelled, shareCalendars, type Situation } from '../change.js'
import { changeJobs, planChange } from '../edit.js'
import { pauseJobs, planPause } from '../pause.js'
import { endJobs, planEnd } from '../putting-an-end.js'
import { planResume, resumeJobs } from '../resume.js'
import { planTrigger, triggerJobs } from '../trigger.js'
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

/** How many jobs are changed at once: while a chunk is under way, the ticks of its jobs wait. */
export const chunkSize = 500

/**
 * Does it to these jobs in the transaction under way, and answers those to which it could not be done. Their timers are
 * locked first, then their runs, all of them by key, as everybody does: what is done to one job afterwards waits for
 * nobody. Any other failure than a refusal is the whole chunk's, which is then undone.
 */
export async function act(
  runner: Runner,
  { tenant, action, given, ...terms }: Asked,
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
  return [...refused, ...(await doings[action](runner, situations, { ...given, ...terms, calendars }))]
}

export interface Asked extends Terms {
  tenant: number
  action: OperationAction
  given: ActionArguments
}

interface Terms {
  /** As for a job that is changed alone: a tick that starts later than this was missed. */
  lateToleranceMs: number
  /** Told of a job whose change could not even be planned, because its definition is damaged. */
  onBroken: (jobId: string, cause: unknown) => void
}

type Given = ActionArguments & Terms & { calendars: CalendarSet }

type Doing = (runner: Runner, situations: readonly Situation[], given: Given) => Promise<JobError[]>

/** What the same change of a single job is made of. */
interface Parts<Plan extends object> {
  /** Null where there is nothing to do, which is as good as done. Refuses by throwing. */
  plan: (situation: Situation, given: Given) => Plan | null
  write: (runner: Runner, plans: Plan[], given: Given) => Promise<unknown>
  alsoCancelled?: boolean
}

/** Planned job by job, and then written for all of them. */
function doing<Plan extends object>({ plan, write, alsoCancelled = false }: Parts<Plan>): Doing {
  return async (runner, situations, given) => {
    const plans: Plan[] = []
    const refused: JobError[] = []
    for (const situation of situations) {
      try {
        if (!alsoCancelled) refuseCancelled(situation)
        const one = plan(situation, given)
        if (one !== null) plans.push(one)
      } catch (error) {
        // Nothing is written yet: whatever is wrong with one job, the others go on.
        const failed = errorOf(situation.uuid, error)
        if (!(error instanceof CarillonError)) given.onBroken(failed.job_id, error)
        refused.push(failed)
      }
    }
    await write(runner, plans, given)
    return refused
  }
}

/** Tags are no matter of the schedule or the target: what was allowed when the job was defined is not asked again. */
function retagging(change: (tags: string[], named: string[]) => string[]): Doing {
  return doing({
    plan: (situation, { tags = [], ...given }) => {
      const { definition } = situation
      const changed = change(definition.tags ?? [], tags)
      if (changed.length > limits.tags) throw tooManyTags(changed.length)
      return planChange(situation, { ...definition, tags: changed }, given)
    },
    write: (runner, plans) => changeJobs(runner, plans),
  })
}

function tooManyTags(count: number): CarillonError {
  return new CarillonError('validation_failed', {
    detail: `The job would have ${count} tags; it may have ${limits.tags}.`,
    errors: [{ pointer: '/tags', message: `would be ${count}; at most ${limits.tags}` }],
  })
}

const doings: Record<OperationAction, Doing> = {
  pause: doing({
    plan: (situation, given) => planPause(situation, given.calendars, given),
    write: pauseJobs,
  }),
  resume: doing({
    plan: (situation, { calendars }) => planResume(situation, calendars),
    write: resumeJobs,
  }),
  cancel: doing({
    plan: (situation, { calendars }) => planEnd(situation, calendars, 'job_cancelled'),
    write: (runner, plans, { calendars, reason = null }) =>
      endJobs(runner, plans, { end: 'job_cancelled', calendars, reason }),
    alsoCancelled: true,
  }),
  delete: doing({
    plan: (situation, { calendars }) => planEnd(situation, calendars, 'deleted'),
    write: (runner, plans, { calendars }) => endJobs(runner, plans, { end: 'deleted', calendars }),
    alsoCancelled: true,
  }),
  trigger: doing({
    plan: (situation, { calendars }) => planTrigger(situation, calendars),
    write: triggerJobs,
  }),
  tag: retagging((tags, named) => [...tags, ...named.filter((tag) => !tags.includes(tag))]),
  untag: retagging((tags, named) => tags.filter((tag) => !named.includes(tag))),
}

export function errorOf(uuid: string, error: unknown): JobError {
  const known = error instanceof CarillonError
  const detail = known ? error.message : 'The job could not be changed. The log of the server has the cause.'
  return { job_id: jobIdOf(uuid), code: known ? error.code : 'internal_error', detail }
}
