import type { HttpTarget, JobInput, Target } from '@carillon/sdk'
import { UsageError } from './usage.js'

/** The flags of `jobs create` that describe a job, as the command line gives them. */
export interface JobFlags {
  schedule?: string
  timezone?: string
  description?: string
  tags?: string[]
  owner?: string
  http?: string
  method?: string
  header?: string[]
  task?: string
  /** Text of a JSON value. */
  payload?: string
  maxRetries?: string
  retryBackoff?: string
  missedWindow?: string
  maxMissed?: string
  misfireGraceSeconds?: string
  timeoutSeconds?: string
  startWithin?: string
  finishWithin?: string
  idempotencyKeyTemplate?: string
  overlap?: string
  maxConcurrent?: string
  priority?: string
  exclude?: string[]
  onExcluded?: string
  startsAt?: string
  endsAt?: string
  maxRuns?: string
  jitterSeconds?: string
  fireWindowSeconds?: string
  dstGap?: string
  dstOverlap?: string
}

/**
 * A job as the API takes it. What a value has to be is the server's business, which says it better; here only what
 * could not be sent at all is refused.
 */
export function jobInputOf(name: string | undefined, flags: JobFlags): JobInput {
  if (name === undefined || flags.schedule === undefined) {
    throw new UsageError(
      "A job needs a name and a schedule: carillon jobs create NAME --schedule '0 9 * * 1', or a file: -f job.json",
    )
  }
  // The server checks the words that the type narrows, and names those it knows.
  return { name, ...fieldsOf(flags) } as unknown as JobInput
}

/** The fields that were given, and no others. */
export function fieldsOf(flags: JobFlags): Partial<JobInput> {
  const input = {
    schedule: flags.schedule,
    timezone: flags.timezone,
    description: flags.description,
    tags: flags.tags,
    managed_by: flags.owner,
    target: targetOf(flags),
    payload: flags.payload === undefined ? undefined : parseJson(flags.payload, 'The payload'),
    idempotency_key_template: flags.idempotencyKeyTemplate,
    max_retries: integerOf(flags.maxRetries, '--max-retries'),
    retry_backoff: flags.retryBackoff,
    missed_window: flags.missedWindow?.toUpperCase(),
    max_missed: integerOf(flags.maxMissed, '--max-missed'),
    misfire_grace_seconds: integerOf(flags.misfireGraceSeconds, '--misfire-grace-seconds'),
    timeout_seconds: integerOf(flags.timeoutSeconds, '--timeout-seconds'),
    expect: expectOf(flags),
    overlap_policy: flags.overlap?.toUpperCase(),
    max_concurrent: integerOf(flags.maxConcurrent, '--max-concurrent'),
    priority: integerOf(flags.priority, '--priority'),
    exclude: flags.exclude,
    on_excluded: flags.onExcluded,
    starts_at: flags.startsAt,
    ends_at: flags.endsAt,
    max_runs: integerOf(flags.maxRuns, '--max-runs'),
    jitter_seconds: integerOf(flags.jitterSeconds, '--jitter-seconds'),
    fire_window_seconds: integerOf(flags.fireWindowSeconds, '--fire-window-seconds'),
    dst_gap: flags.dstGap,
    dst_overlap: flags.dstOverlap,
  }
  const given = Object.entries(input).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}

function expectOf({ startWithin, finishWithin }: JobFlags): JobInput['expect'] {
  const start = integerOf(startWithin, '--start-within')
  const finish = integerOf(finishWithin, '--finish-within')
  if (start === undefined && finish === undefined) return undefined
  return {
    ...(start !== undefined && { start_within_seconds: start }),
    ...(finish !== undefined && { finish_within_seconds: finish }),
  }
}

export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${what} is not valid JSON: ${why}. A text needs double quotes, as in '"hello"'.`)
  }
}

function targetOf(flags: JobFlags): Target | undefined {
  const { http, task, method, header } = flags
  if (http !== undefined && task !== undefined) {
    throw new UsageError('A job has one target: give --http or --task, not both.')
  }
  if (http === undefined && (method !== undefined || header !== undefined)) {
    throw new UsageError('--method and --header say how --http calls its URL: give --http as well.')
  }
  if (task !== undefined) return { type: 'task', task }
  if (http === undefined) return undefined
  return {
    type: 'http',
    url: http,
    ...(method !== undefined && { method: method.toUpperCase() as NonNullable<HttpTarget['method']> }),
    ...(header !== undefined && { headers: headersOf(header) }),
  }
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>()
  const seen = new Set<string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).trim()
    // The value stays unsaid: it is often a secret.
    if (name === '') throw new UsageError("A --header is written as 'Name: value'.")
    if (seen.has(name.toLowerCase())) throw new UsageError(`The header ${name} is given twice.`)
    seen.add(name.toLowerCase())
    headers.set(name, line.slice(colon + 1).trim())
  }
  return Object.fromEntries(headers)
}

export function integerOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined
  if (!/^-?\d{1,15}$/.test(text.trim())) {
    throw new UsageError(`${flag} is ${JSON.stringify(text)}: a whole number is expected.`)
  }
  return Number(text)
}

/** How many rows a list shows. */
export function limitOf(text: string | undefined): number | undefined {
  const limit = integerOf(text, '--limit')
  if (limit !== undefined && limit < 1) throw new UsageError(`--limit is ${limit}: 1 or more is expected.`)
  return limit
}
