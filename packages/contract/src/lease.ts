import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })

/** Bounds of what workers over HTTP may ask for at once. */
export const leaseLimits = {
  tasks: 100,
  runs: 100,
  held: 1_000,
  waitSeconds: 30,
  errorLength: 65_536,
  retryAfterSeconds: 86_400,
} as const

const workerId = Type.String({
  minLength: 1,
  maxLength: 64,
  description:
    'As the first call answered it. The same name stands in the history of runs and in the cluster view',
})
const runRef = {
  run_id: Type.String({ minLength: 1, maxLength: 64 }),
  fencing_token: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
}

/** One attempt of a run, as the lease named it. */
export const RunRef = Type.Object(runRef, { $id: 'RunRef', additionalProperties: false })
export type RunRef = Static<typeof RunRef>

export const LeaseInput = Type.Object(
  {
    worker_id: Type.Optional(workerId),
    worker: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.name,
        description: 'A name for people, e.g. the host. Read with the first call of a worker',
      }),
    ),
    tasks: Type.Array(Type.String({ minLength: 1, maxLength: limits.name }), {
      minItems: 1,
      maxItems: leaseLimits.tasks,
      description: 'The tasks that it serves now',
    }),
    max: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: leaseLimits.runs,
        default: 1,
        description: 'How many runs at most. 0: none, the call only says what the worker holds',
      }),
    ),
    wait_seconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: leaseLimits.waitSeconds,
        default: 0,
        description:
          'How long the call waits for work. It may answer sooner: at half of lease_seconds at the latest, and when ' +
          'the server stops',
      }),
    ),
    runs: Type.Optional(
      Type.Array(RunRef, {
        maxItems: leaseLimits.held,
        description:
          'Every run that the worker holds, also those whose close was not answered yet. What the server counts as ' +
          'its own and is not named never arrived, and is handed back at once. Only for workers with one lease call at a time',
      }),
    ),
  },
  { $id: 'LeaseInput', additionalProperties: false },
)
export type LeaseInput = Static<typeof LeaseInput>

/** A run that the worker holds from now on, until it closes it, is late with its heartbeat, or its time is up. */
export const Lease = Type.Object(
  {
    run_id: Type.String(),
    job_id: Type.String(),
    job_name: Type.String(),
    task: Type.String(),
    payload: Type.Unknown(),
    scheduled_at: instant('The tick. Stable over all attempts'),
    attempt: Type.Integer({ description: '1 for the first' }),
    max_attempts: Type.Integer(),
    fencing_token: Type.Integer({
      description:
        'Grows with every attempt. A store that remembers the highest one can refuse a late writer',
    }),
    idempotency_key: Type.String({ description: 'The same for every attempt of a run' }),
    catch_up: Type.Boolean({ description: 'The tick had been missed and is run late' }),
    traceparent: Type.String({
      description:
        'W3C trace context: one trace for all attempts of a run, one parent for each. Spans of the worker belong below it',
    }),
    timeout_seconds: Type.Integer({ description: 'How long the attempt may take, counted from the lease' }),
    timeout_at: instant('When the server ends the attempt as failed (timeout), by the clock of the database'),
  },
  { $id: 'Lease' },
)
export type Lease = Static<typeof Lease>

const terms = {
  worker_id: Type.String({ description: 'To be sent with every further call' }),
  lease_seconds: Type.Number({
    description: 'A worker that is silent for so long is dead, and its runs go to others',
  }),
  heartbeat_seconds: Type.Number({ description: 'How often to send a heartbeat. Every call counts as one' }),
}

export const LeaseAnswer = Type.Object({ ...terms, data: Type.Array(Lease) }, { $id: 'LeaseAnswer' })
export type LeaseAnswer = Static<typeof LeaseAnswer>

export const HeartbeatInput = Type.Object(
  {
    worker_id: workerId,
    runs: Type.Optional(
      Type.Array(RunRef, {
        maxItems: leaseLimits.held,
        description:
          'Every run that the worker holds. What was leased to it more than a minute ago and is not named never ' +
          'arrived, and is handed back',
      }),
    ),
  },
  { $id: 'HeartbeatInput', additionalProperties: false },
)
export type HeartbeatInput = Static<typeof HeartbeatInput>

export const stopReasons = ['cancel_requested', 'replaced'] as const

export const HeartbeatAnswer = Type.Object(
  {
    ...terms,
    held: Type.Array(RunRef, { description: 'Go on with these' }),
    stop: Type.Array(Type.Object({ ...runRef, reason: stringEnum(stopReasons) }), {
      description:
        'End these and close them as failed: they are recorded as cancelled. A result that is there all the same counts',
    }),
    lost: Type.Array(RunRef, {
      description:
        'Of those named, what is no longer held: closed, over its time, or with somebody else. Drop them',
    }),
  },
  { $id: 'HeartbeatAnswer' },
)
export type HeartbeatAnswer = Static<typeof HeartbeatAnswer>

export const closeOutcomes = ['success', 'failed', 'released', 'interrupted'] as const

export const AttemptReport = Type.Object(
  {
    ...runRef,
    outcome: stringEnum(closeOutcomes, {
      description:
        "released: not begun, and handed back. interrupted: begun, and cut short by the worker's own shutdown; it is handed " +
        'back too, or closed as failed where the job says on_lost: fail. Neither uses up an attempt',
    }),
    result: Type.Optional(
      Type.Unknown({ description: 'Any JSON value; of more than 4 KiB the start is kept' }),
    ),
    error: Type.Optional(
      Type.String({ maxLength: leaseLimits.errorLength, description: 'What went wrong; 4 KiB are kept' }),
    ),
    retryable: Type.Optional(
      Type.Boolean({ default: true, description: 'false: another attempt would fail the same way' }),
    ),
    retry_after_seconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: leaseLimits.retryAfterSeconds,
        description: 'The next attempt no sooner than this, in place of the backoff of the job',
      }),
    ),
    started_at: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'ISO-8601. For the history only; no earlier than the lease, no later than now',
      }),
    ),
  },
  { $id: 'AttemptReport', additionalProperties: false },
)
export type AttemptReport = Static<typeof AttemptReport>

export const CloseInput = Type.Object(
  {
    worker_id: workerId,
    results: Type.Array(AttemptReport, { maxItems: leaseLimits.runs }),
    leave: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'The worker stops after this call. What it still holds is taken back at once, as lost',
      }),
    ),
  },
  { $id: 'CloseInput', additionalProperties: false },
)
export type CloseInput = Static<typeof CloseInput>

export const closeStatuses = ['closed', 'released', 'already_closed', 'stale'] as const
export type CloseStatus = (typeof closeStatuses)[number]

export const CloseAnswer = Type.Object(
  {
    worker_id: Type.String(),
    alive: Type.Boolean({
      description:
        'false: the worker was declared dead, or has left. It begins anew with a lease call without worker_id',
    }),
    data: Type.Array(
      Type.Object({
        ...runRef,
        status: stringEnum(closeStatuses, {
          description:
            'already_closed: an earlier call did it, and its answer was lost. stale: the run was no longer this ' +
            "worker's; the result is kept as stale and changes nothing",
        }),
      }),
      { description: 'In the order of `results`' },
    ),
  },
  { $id: 'CloseAnswer' },
)
export type CloseAnswer = Static<typeof CloseAnswer>
