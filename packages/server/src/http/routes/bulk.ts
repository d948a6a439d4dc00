import {
  BulkAnswer,
  BulkInput,
  type BulkResult,
  bulkOptions,
  CarillonError,
  JobInput,
  limits,
  toProblem,
} from '@carillon/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import { setImmediate as turn } from 'node:timers/promises'
import { Type } from 'typebox'
import type { BulkItem, BulkOutcome, IdempotencyPort, JobsPort } from '../api.js'
import { type Given, idempotencyErrors, idempotencyHeaders, idempotent } from '../idempotent.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { toValidationError } from '../validation.js'
import { utcText } from '../../time/iso-text.js'

/** The call without its jobs: these are looked at one by one, so that each has an answer of its own. */
const envelope = Type.Object(
  { jobs: Type.Array(Type.Unknown(), { minItems: 1, maxItems: limits.bulkJobs }), ...bulkOptions },
  { additionalProperties: false },
)
const oneJob = refTo(JobInput)

const bulkOperation = operation({
  operationId: 'createJobs',
  summary: 'Register many jobs',
  description:
    'Each job is judged for itself: one that is refused keeps no other from being created, unless the call is atomic. ' +
    'What became of each stands in `results`, in the order of the call; pointers of errors begin at the call.',
  tag: 'jobs',
  headers: idempotencyHeaders,
  body: envelope,
  documentedBody: refTo(BulkInput),
  answers: {
    200: {
      description: 'What became of each job. What is called created is kept through any crash',
      schema: refTo(BulkAnswer),
    },
  },
  errors: [...bodyErrors, 'bulk_refused', ...idempotencyErrors, ...commonErrors],
})

type Envelope = Omit<BulkInput, 'jobs'> & { jobs: unknown[] }
type BulkRequest = FastifyRequest<{ Body: Envelope }>

/** Jobs that are looked at in one turn of the event loop: heartbeats and renewals come between. */
const mostPerTurn = 500
const mostErrors = 50

export function addBulkRoute(
  app: FastifyInstance,
  jobs: JobsPort,
  idempotency: IdempotencyPort,
  bodyLimit: number,
): void {
  app.post<{ Body: Envelope }>('/jobs/bulk', {
    schema: bulkOperation,
    bodyLimit,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: idempotent<{ Body: Envelope }>(idempotency, async (request, tenant, inside): Promise<Given> => {
      const { atomic = false, on_conflict: onConflict = 'fail' } = request.body
      const items = await readItems(request, request.body.jobs)
      const { outcomes, undone } = await jobs.createMany(tenant, items, { atomic, onConflict }, inside)
      const answer = answerOf(request, request.body.jobs, outcomes)
      if (undone) throw refused(answer)
      return { status: 200, body: answer }
    }),
  })
}

/** Each job as the rules take it, or what is wrong with it by its schema. */
async function readItems(request: BulkRequest, jobs: readonly unknown[]): Promise<BulkItem[]> {
  const validate = request.getValidationFunction(oneJob) ?? request.compileValidationSchema(oneJob, 'body')
  const items: BulkItem[] = []
  for (let at = 0; at < jobs.length; at++) {
    if (at % mostPerTurn === mostPerTurn - 1) await turn()
    const job = jobs[at]
    items.push(
      validate(job)
        ? (job as JobInput)
        : refusalOf(at, (validate.errors ?? []) as FastifySchemaValidationError[]),
    )
  }
  return items
}

function refusalOf(at: number, faults: FastifySchemaValidationError[]): CarillonError {
  const placed = faults.map((fault) => ({ ...fault, instancePath: `/jobs/${at}${fault.instancePath}` }))
  return toValidationError(placed, 'body')
}

function answerOf(
  request: BulkRequest,
  jobs: readonly unknown[],
  outcomes: readonly BulkOutcome[],
): BulkAnswer {
  const count = { created: 0, failed: 0, skipped: 0 }
  const textOf = rememberedTexts()
  const results = outcomes.map((outcome, index): BulkResult => {
    count[outcome.status] += 1
    const name = nameOf(jobs[index])
    switch (outcome.status) {
      case 'created':
        return {
          index,
          status: 'created',
          name,
          job_id: outcome.jobId,
          next_run_at: textOf(outcome.nextRunAt),
        }
      case 'skipped':
        return { index, status: 'skipped', name }
      case 'failed':
        return { index, status: 'failed', name, error: toProblem(placedAt(index, outcome.error), request.id) }
    }
  })
  return { ...count, results }
}

/** Many jobs of a call start at few instants. */
function rememberedTexts(): (instant: number) => string {
  const texts = new Map<number, string>()
  return (instant) => {
    const known = texts.get(instant)
    if (known !== undefined) return known
    const text = utcText(instant)
    texts.set(instant, text)
    return text
  }
}

/** Rules point into the job; the caller sent many. */
function placedAt(index: number, error: CarillonError): CarillonError {
  const at = `/jobs/${index}`
  const inside = (pointer: string) =>
    pointer.startsWith(`${at}/`) || pointer === at ? pointer : `${at}${pointer}`
  return new CarillonError(error.code, {
    detail: error.message,
    hint: error.hint,
    errors: error.errors.map((problem) => ({ ...problem, pointer: inside(problem.pointer) })),
  })
}

function refused(answer: BulkAnswer): CarillonError {
  const failed = answer.results.flatMap(({ index, error }) => (error === undefined ? [] : [{ index, error }]))
  const [first] = failed
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : ''
  return new CarillonError('bulk_refused', {
    detail: `/jobs/${first?.index ?? 0}: ${first?.error.detail ?? ''}${more}`,
    errors: failed
      .flatMap(({ index, error }) =>
        error.errors.length > 0 ? error.errors : [{ pointer: `/jobs/${index}`, message: error.detail }],
      )
      .slice(0, mostErrors),
    more: answer,
  })
}

function nameOf(job: unknown): string | null {
  const name = typeof job === 'object' && job !== null ? (job as { name?: unknown }).name : null
  return typeof name === 'string' ? name : null
}
