/**
 * Every error that crosses the wire. A code is stable for ever; title, detail and hint may improve.
 * docs/reference/errors.md is generated from this table, and a test compares both ways.
 */
export interface CatalogueEntry {
  readonly status: number
  /** What is wrong, for people, the same for every occurrence. */
  readonly title: string
  /** What to do about it. */
  readonly hint: string
}

export const errorCatalogue = {
  malformed_request: {
    status: 400,
    title: 'The request is not valid HTTP',
    hint: 'Check the request line, the headers and that Content-Length is the length of the body.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    hint: 'Send one JSON value, UTF-8 encoded, without comments or trailing commas.',
  },
  invalid_if_match: {
    status: 400,
    title: 'The If-Match header cannot be used',
    hint: 'Send the ETag of the job as it was answered: If-Match: "3". A version in the body has to be the same one.',
  },
  foreign_host: {
    status: 403,
    title: 'The request is for another host, or from a page of one',
    hint: 'Call http://127.0.0.1 or http://localhost. A proxy in front has to send one of these as Host; to serve others, listen beyond loopback with CARILLON_HOST.',
  },
  route_not_found: {
    status: 404,
    title: 'There is no such route',
    hint: 'See GET /api/v1/openapi.json for every route of this server.',
  },
  job_not_found: {
    status: 404,
    title: 'There is no such job',
    hint: 'List the jobs with GET /api/v1/jobs. A deleted or collected job still answers under /runs.',
  },
  job_version_not_found: {
    status: 404,
    title: 'The job has no such version',
    hint: 'List its versions with GET /api/v1/jobs/{job_id}/versions.',
  },
  calendar_not_found: {
    status: 404,
    title: 'There is no such calendar',
    hint: 'List the calendars with GET /api/v1/calendars.',
  },
  target_not_found: {
    status: 404,
    title: 'No job calls this host, and it has no limits',
    hint: 'List the hosts with GET /api/v1/targets. A host is written as in the URL, with its port unless that is the usual one.',
  },
  run_not_found: {
    status: 404,
    title: 'There is no such run',
    hint: "List the runs of a job with GET /api/v1/jobs/{job_id}/runs. A tick has a run from shortly before its time on, and until the ledger's retention is over.",
  },
  dead_letter_not_found: {
    status: 404,
    title: 'There is no such dead letter',
    hint: 'It was re-driven or discarded, or the run never was one: GET /api/v1/runs/{run_id} tells. List them with GET /api/v1/dead-letters.',
  },
  redrive_not_found: {
    status: 404,
    title: 'There is no such re-drive',
    hint: 'List them with GET /api/v1/redrives.',
  },
  signing_secret_not_found: {
    status: 404,
    title: 'There is no such signing secret',
    hint: 'List them with GET /api/v1/signing-secrets. One that has retired is forgotten.',
  },
  worker_not_found: {
    status: 404,
    title: 'There is no such worker',
    hint: 'Leave worker_id out of the first call to POST /api/v1/leases and send what it answers from then on.',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    hint: 'Send headers and body without pauses. Nothing was done: repeat the call on a new connection.',
  },
  job_name_taken: {
    status: 409,
    title: 'A live job has this name already',
    hint: 'Choose another name, or delete the job that has it.',
  },
  job_ended: {
    status: 409,
    title: 'The job has ended',
    hint: 'No tick is ahead, so there is nothing to pause, resume or edit. Register a new job; triggering this one still works.',
  },
  job_cancelled: {
    status: 409,
    title: 'The job was cancelled',
    hint: 'A cancel is for good: register the job anew, its name is free. PUT /api/v1/jobs/by-name/{name} does so.',
  },
  job_deleted: {
    status: 409,
    title: 'The job was deleted',
    hint: 'Nothing of it starts any more. Discard its dead letters, or register the job anew and trigger it.',
  },
  run_ended: {
    status: 409,
    title: 'The run has ended',
    hint: 'There is nothing left to cancel. GET /api/v1/runs/{run_id} says how it ended.',
  },
  run_ahead: {
    status: 409,
    title: 'The run is ahead, behind another one of its job',
    hint: 'Cancel the earlier run first, or this one when its time has come. To keep a job from running, pause it.',
  },
  run_not_dead: {
    status: 409,
    title: 'The run is no dead letter',
    hint: 'Only a run that used up its attempts can be retried. To run a job once more, trigger it.',
  },
  redrive_ended: {
    status: 409,
    title: 'The re-drive has ended',
    hint: 'There is nothing left to cancel. Runs that are back in the queue can be cancelled one by one.',
  },
  job_version_conflict: {
    status: 409,
    title: 'The job has changed meanwhile',
    hint: 'Read the job, apply the change to what it is now, and send its version.',
  },
  calendar_in_use: {
    status: 409,
    title: 'Live jobs name this calendar',
    hint: 'Take it out of their `exclude` first, or empty the calendar instead of deleting it.',
  },
  signing_secret_current: {
    status: 409,
    title: 'The secret is the current one',
    hint: 'Something has to sign: rotate first (overlap_seconds 0 ends it at once), which makes another the current one.',
  },
  too_many_signing_secrets: {
    status: 409,
    title: 'Too many secrets sign at once',
    hint: 'Retire an old one with DELETE /api/v1/signing-secrets/{id}, or wait until it retires.',
  },
  worker_gone: {
    status: 410,
    title: 'The worker was declared dead, or has left',
    hint: 'Drop the runs that it held: they belong to others now. Begin anew: POST /api/v1/leases without worker_id. Send heartbeats more often than lease_seconds.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    hint: 'Keep the payload small and pass a reference to large data. CARILLON_MAX_BODY_BYTES is the limit.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has a media type that is not understood',
    hint: 'Send Content-Type: application/json.',
  },
  validation_failed: {
    status: 422,
    title: 'A field has a value that is not accepted',
    hint: 'Each entry of `errors` names a field by JSON pointer and says what is expected there.',
  },
  unknown_field: {
    status: 422,
    title: 'A field is not known',
    hint: 'Fields are never ignored silently: correct the name or remove it.',
  },
  invalid_schedule: {
    status: 422,
    title: 'The schedule cannot be read',
    hint: 'Give a cron expression ("0 9 * * 1"), an interval ("@every 5m") or an instant ("2026-12-01T09:00:00Z").',
  },
  schedule_never_fires: {
    status: 422,
    title: 'The schedule names no instant at all',
    hint: 'Check the day against the month: February has no 30th.',
  },
  schedule_too_frequent: {
    status: 422,
    title: 'The schedule fires more often than is allowed',
    hint: 'Lengthen the interval, or lower CARILLON_MIN_INTERVAL_SECONDS on the server.',
  },
  schedule_in_past: {
    status: 422,
    title: 'The instant has passed, longer ago than the grace allows',
    hint: 'Give a later instant, or a larger misfire_grace_seconds to run it late.',
  },
  invalid_timezone: {
    status: 422,
    title: 'The time zone is not known',
    hint: 'Use an IANA name such as "Europe/Madrid" or "UTC".',
  },
  invalid_template: {
    status: 422,
    title: 'The idempotency key template cannot be used',
    hint: 'Variables: {{job_id}} {{scheduled_at_unix}} {{date}} {{week}} {{month}} {{year}} {{hour}}.',
  },
  invalid_target: {
    status: 422,
    title: 'The target cannot be used',
    hint: 'See the target schemas in GET /api/v1/openapi.json. CARILLON_ALLOWED_NETWORKS opens private addresses.',
  },
  invalid_calendar: {
    status: 422,
    title: 'The calendar cannot be read',
    hint: 'Dates are "2026-12-25" or "2026-12-24/2027-01-02"; a blackout has from, to and reason.',
  },
  invalid_cursor: {
    status: 422,
    title: 'The cursor is not one that this server gave',
    hint: 'Pass next_cursor of the previous page unchanged, with the same filters.',
  },
  headers_too_large: {
    status: 431,
    title: 'The request line and headers are too large',
    hint: 'Send fewer or shorter headers and a shorter URL: 16 KiB together is the limit.',
  },
  internal_error: {
    status: 500,
    title: 'The server failed to answer',
    hint: 'The log line with this request_id has the cause. Repeating the call is safe for reads.',
  },
  database_unavailable: {
    status: 503,
    title: 'The database does not answer',
    hint: 'Nothing was acknowledged. Repeat the call; GET /readyz tells when the server is ready again.',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof errorCatalogue

/** One field at fault. `pointer` is a JSON pointer into the body, or `query:name` / `path:name`. */
export interface FieldProblem {
  pointer: string
  message: string
  hint?: string
}

export interface CarillonErrorOptions {
  detail?: string
  hint?: string
  errors?: FieldProblem[]
  cause?: unknown
}

/** An error of the catalogue, thrown anywhere inside and mapped to problem+json at the edge. */
export class CarillonError extends Error {
  override readonly name = 'CarillonError'
  readonly code: ErrorCode
  readonly status: number
  readonly hint: string
  readonly errors: readonly FieldProblem[]

  constructor(code: ErrorCode, options: CarillonErrorOptions = {}) {
    const entry = errorCatalogue[code]
    super(options.detail ?? entry.title, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = entry.status
    this.hint = options.hint ?? entry.hint
    this.errors = options.errors ?? []
  }
}
