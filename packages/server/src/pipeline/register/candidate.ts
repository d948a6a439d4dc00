import { CarillonError, type Job, type JobDefinition, type JobInput } from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import { storedText } from '../../db/stored-definition.js'
import { type Caller, currentCaller } from '../../platform/caller.js'
import { jobIdOf, newUuid } from '../../platform/ids.js'
import type { CalendarSet } from '../../time/schedule.js'
import type { KeyedCall } from '../idempotency.js'
import { defineJob, firstStart, type NewJob } from './definition.js'
import { type JobRow, jobView, unserved } from './job-view.js'

/** A job that is fit to be stored, with everything that storing it needs. */
export interface Candidate {
  readonly uuid: string
  readonly jobId: string
  readonly input: JobInput
  readonly kind: Kind
  readonly startAt: number
  /** The definition as it is stored. */
  readonly text: string
  readonly terms: Terms
  /** Who wants it: it may be stored together with those of others. */
  readonly caller: Caller | null
  /** What is kept under its idempotency key, if it has one. Made once. */
  answer(): AnswerParts
}

/** What jobs of one call have in common that differ in their names and payloads only, by the clock of one instant. */
export interface Kind extends NewJob {
  /** With the name and the payload of the first of them. */
  readonly definition: JobDefinition
  readonly now: number
}

export interface CandidateOptions {
  databaseClock: DatabaseClock
  minIntervalMs: number
  /** The most bytes that the definition of one job may have. */
  maxJobBytes?: number
  checkTarget: (target: JobDefinition['target']) => void
}

/** What a job was checked by. */
export interface Terms {
  /** The tenant's own least interval; null is the server's. */
  readonly minInterval: number | null
  readonly calendars?: CalendarSet
  readonly call?: KeyedCall
}

/** Checks a job and finds its first tick, or throws what is wrong with it. */
export function candidateOf(
  options: CandidateOptions,
  input: JobInput,
  terms: Terms,
  uuid = newUuid(),
  caller = currentCaller(),
): Candidate {
  const now = options.databaseClock.atLeast()
  const kind = kindOf(options, input, terms, now)
  return candidateOfKind(options, kind, { input, terms, uuid, caller, text: storedText(kind.definition) })
}

/** What is to be known of a job but for its name, its payload and its id. */
export function kindOf(
  options: CandidateOptions,
  input: JobInput,
  { minInterval, calendars = {} }: Terms,
  now: number,
): Kind {
  const minIntervalMs = minInterval === null ? options.minIntervalMs : minInterval * 1000
  const job = defineJob(input, { now, minIntervalMs, calendars })
  options.checkTarget(job.definition.target)
  return { ...job, now }
}

/** One job of a kind. */
export function candidateOfKind(
  { maxJobBytes }: Pick<CandidateOptions, 'maxJobBytes'>,
  kind: Kind,
  { input, terms, uuid, caller, text }: Pick<Candidate, 'input' | 'terms' | 'uuid' | 'caller' | 'text'>,
): Candidate {
  if (maxJobBytes !== undefined) checkSize(text, maxJobBytes)
  const jobId = jobIdOf(uuid)
  return new Fit(uuid, jobId, input, kind, firstStart(kind, jobId), text, terms, caller)
}

class Fit implements Candidate {
  #answer: AnswerParts | undefined

  constructor(
    readonly uuid: string,
    readonly jobId: string,
    readonly input: JobInput,
    readonly kind: Kind,
    readonly startAt: number,
    readonly text: string,
    readonly terms: Terms,
    readonly caller: Caller | null,
  ) {}

  answer(): AnswerParts {
    this.#answer ??= answerParts(this)
    return this.#answer
  }
}

/** Bytes are only counted where there could be too many: a character has at most three. */
function checkSize(text: string, most: number): void {
  if (text.length * 3 <= most) return
  const bytes = Buffer.byteLength(text)
  if (bytes <= most) return
  throw new CarillonError('body_too_large', {
    detail: `The job has ${bytes} bytes as it is stored; one job may have ${most}.`,
    errors: [{ pointer: '', message: `has ${bytes} bytes; one job may have ${most}` }],
  })
}

/** How the job is shown from its first moment on, without looking at it again. */
export function viewOf({ uuid, input, kind }: Candidate, served: boolean): Job {
  const { now, due } = kind
  const { name, payload = null } = input
  const isFirst = kind.definition.name === name && kind.definition.payload === payload
  const definition = isFirst ? kind.definition : { ...kind.definition, name, payload }
  const { target } = definition
  const row: JobRow = {
    job: 0,
    uuid,
    state: 'active',
    version: 1,
    definition,
    created_at: now,
    updated_at: now,
    ended_at: null,
    paused_at: null,
    pause_reason: null,
    paused_until: null,
    cancelled_at: null,
    cancel_reason: null,
    live_due: null,
    live_status: null,
    last_due: null,
    last_outcome: null,
    kind: target.type,
    task: target.type === 'task' ? target.task : '',
    next_due: due,
    changed_from: null,
    served,
  }
  return jobView(row)
}

export function locationOf(jobId: string): string {
  return `/api/v1/jobs/${jobId}`
}

/**
 * The view as JSON in parts: whether a worker serves the job is known only inside the statement that stores both, job and
 * answer.
 */
export interface AnswerParts {
  head: string
  unserved: string
  tail: string
}

function answerParts(candidate: Candidate): AnswerParts {
  const { warnings, ...rest } = viewOf(candidate, true)
  const others = warnings.map((warning) => JSON.stringify(warning)).join()
  const { target } = candidate.kind.definition
  const warning = unserved({ kind: target.type, task: target.type === 'task' ? target.task : '' })
  return {
    head: `${JSON.stringify(rest).slice(0, -1)},"warnings":[`,
    unserved: `${JSON.stringify(warning)}${others === '' ? '' : ','}`,
    tail: `${others}]}`,
  }
}
