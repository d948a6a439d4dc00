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
  unauthenticated: {
    status: 401,
    title: 'No valid key was sent',
    hint: 'Send Authorization: Bearer car_… with a key that has neither expired nor been revoked. An admin makes one with POST /api/v1/keys or `carillon keys create`.',
  },
  forbidden: {
    status: 403,
    title: 'The key may not do this',
    hint: 'Use a key with the role that the detail names. GET /api/v1/keys/self tells what this one may.',
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
  operation_not_found: {
    status: 404,
    title: 'There is no such operation',
    hint: 'List them with GET /api/v1/operations.',
  },
  signing_secret_not_found: {
    status: 404,
    title: 'There is no such signing secret',
    hint: 'List them with GET /api/v1/signing-secrets. One that has retired is forgotten.',
  },
  tick_not_found: {
    status: 404,
    title: 'The job has no such tick',
    hint: 'List the coming ticks with GET /api/v1/jobs/{job_id}/ticks and name one of them, to the millisecond.',
  },
  backfill_not_found: {
    status: 404,
    title: 'There is no such backfill',
    hint: 'List them with GET /api/v1/backfills.',
  },
  alert_not_found: {
    status: 404,
    title: 'There is no such alert',
    hint: 'List them with GET /api/v1/alerts. One that was over long ago is forgotten.',
  },
  alert_silence_not_found: {
    status: 404,
    title: 'There is no such silence',
    hint: 'List them with GET /api/v1/alert-silences. One that has ended is forgotten.',
  },
  alert_rule_not_found: {
    status: 404,
    title: 'There is no such rule',
    hint: 'List them with GET /api/v1/alert-rules. The default of a kind has no id: make a rule of that kind with POST.',
  },
  alert_channel_not_found: {
    status: 404,
    title: 'There is no such channel',
    hint: 'List them with GET /api/v1/alert-channels.',
  },
  key_not_found: {
    status: 404,
    title: 'There is no such key',
    hint: 'List them with GET /api/v1/keys.',
  },
  tenant_not_found: {
    status: 404,
    title: 'There is no such tenant',
    hint: 'List them with GET /api/v1/tenants.',
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
  alert_rule_taken: {
    status: 409,
    title: 'There is a rule of this kind for the same jobs already',
    hint: 'Change that one with PATCH /api/v1/alert-rules/{rule_id}.',
  },
  alert_channel_name_taken: {
    status: 409,
    title: 'A channel of the tenant has this name already',
    hint: 'Choose another name, or change the one that has it with PATCH /api/v1/alert-channels/{channel_id}.',
  },
  alert_limit_reached: {
    status: 409,
    title: 'The tenant has as many rules, silences or channels as it may',
    hint: 'Delete some that are not needed, or use one rule with a tag in place of one for each job.',
  },
  key_name_taken: {
    status: 409,
    title: 'A live key of the tenant has this name already',
    hint: 'Choose another name, or rotate or revoke the one that has it: GET /api/v1/keys.',
  },
  key_ended: {
    status: 409,
    title: 'The key was revoked or has expired',
    hint: 'It cannot come back: make another with POST /api/v1/keys.',
  },
  tenant_name_taken: {
    status: 409,
    title: 'A tenant has this name already',
    hint: 'Choose another name, or change the one that has it with PATCH /api/v1/tenants/{tenant_name}.',
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
  tick_passed: {
    status: 409,
    title: 'The tick has passed',
    hint: 'Only a tick that is ahead can be skipped, moved or restored. GET /api/v1/jobs/{job_id}/why says what became of it.',
  },
  tick_in_flight: {
    status: 409,
    title: 'The tick is in flight',
    hint: 'Its run was handed out already. Cancel it: POST /api/v1/runs/{run_id}/cancel.',
  },
  too_many_tick_changes: {
    status: 409,
    title: 'Too many ticks of the job are skipped or moved',
    hint: 'Pause the job for a stretch of time, or leave days out by `exclude` and a calendar.',
  },
  backfill_ended: {
    status: 409,
    title: 'The backfill has ended',
    hint: 'There is nothing left to cancel. Runs that it made can be cancelled one by one.',
  },
  redrive_ended: {
    status: 409,
    title: 'The re-drive has ended',
    hint: 'There is nothing left to cancel. Runs that are back in the queue can be cancelled one by one.',
  },
  operation_ended: {
    status: 409,
    title: 'The operation has ended',
    hint: 'There is nothing left to cancel. What it did can be undone by another: resume what was paused.',
  },
  job_version_conflict: {
    status: 409,
    title: 'The job has changed meanwhile',
    hint: 'Read the job, apply the change to what it is now, and send its version.',
  },
  idempotency_key_in_use: {
    status: 409,
    title: 'A call with this idempotency key is being worked on',
    hint: 'Wait a moment and repeat the call: its answer is given again. Calls that differ need keys that differ.',
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
    hint: 'Keep the payload small and pass a reference to large data. CARILLON_MAX_BODY_BYTES is the limit, CARILLON_MAX_BULK_BODY_BYTES that of POST /api/v1/jobs/bulk.',
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
  too_many_ticks: {
    status: 422,
    title: 'The range has more ticks than one backfill may run',
    hint: 'Ask for a shorter range, one after another. CARILLON_MAX_BACKFILL_TICKS is the limit.',
  },
  invalid_cursor: {
    status: 422,
    title: 'The cursor is not one that this server gave',
    hint: 'Pass next_cursor of the previous page unchanged, with the same filters.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key belongs to another request',
    hint: 'A key stands for one request: method, path and body. Send another key, or the request that it was first sent with.',
  },
  bulk_refused: {
    status: 422,
    title: 'Nothing was created, because a job of the call was refused',
    hint: 'The call was `atomic`. Correct the jobs that `results` calls failed and send all of them again, or send `"atomic": false`.',
  },
  job_quota_exceeded: {
    status: 429,
    title: 'The tenant has as many live jobs as it may have',
    hint: 'Delete or cancel jobs that are no longer needed: their places are free at once. The limit is max_jobs of the tenant, or CARILLON_MAX_JOBS.',
  },
  rate_limited: {
    status: 429,
    title: 'Jobs are created faster than is allowed',
    hint: 'Wait as long as Retry-After says. The limit is create_per_second of the tenant, or CARILLON_CREATE_PER_SECOND.',
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
  draining: {
    status: 503,
    title: 'The server is shutting down and hands out no more runs',
    hint: 'Nothing was leased. Ask again: a load balancer that looks at GET /readyz sends the call to another server.',
  },
  database_unavailable: {
    status: 503,
    title: 'The database does not answer',
    hint: 'Nothing was acknowledged. Repeat the call; GET /readyz tells when the server is ready again.',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof errorCatalogue
