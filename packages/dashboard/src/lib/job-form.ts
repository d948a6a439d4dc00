import type { Job, JobInput, JobPatch, Target } from '@carillon/contract'
import { ApiError } from '@carillon/sdk/browser'
import type { Problems } from './problems.js'

/** What the form holds: texts, as people type them. Only what it shows is sent; the rest of a job stays as it is. */
export interface JobForm {
  name: string
  description: string
  tags: string
  schedule: string
  timezone: string
  dst_gap: string
  dst_overlap: string
  exclude: string
  on_excluded: string
  starts_at: string
  ends_at: string
  jitter_seconds: string
  fire_window_seconds: string
  target: Target
  headers: string
  argv: string
  payload: string
  overlap_policy: string
  missed_window: string
  max_retries: string
  retry_backoff: string
  timeout_seconds: string
  priority: string
}

export const emptyForm: JobForm = {
  name: '',
  description: '',
  tags: '',
  schedule: '*/5 * * * *',
  timezone: 'UTC',
  dst_gap: 'run_after',
  dst_overlap: 'first',
  exclude: '',
  on_excluded: 'exclude',
  starts_at: '',
  ends_at: '',
  jitter_seconds: '0',
  fire_window_seconds: '0',
  target: { type: 'http', url: '', method: 'POST' },
  headers: '',
  argv: '',
  payload: 'null',
  overlap_policy: 'SKIP',
  missed_window: 'RUN_ONCE',
  max_retries: '3',
  retry_backoff: 'exponential',
  timeout_seconds: '300',
  priority: '5',
}

export function formOf(job: Job): JobForm {
  const { target } = job
  return {
    name: job.name,
    description: job.description ?? '',
    tags: job.tags.join(' '),
    schedule: typeof job.schedule === 'string' ? job.schedule : JSON.stringify(job.schedule),
    timezone: job.timezone,
    dst_gap: job.dst_gap,
    dst_overlap: job.dst_overlap,
    exclude: job.exclude.join(', '),
    on_excluded: job.on_excluded,
    starts_at: job.starts_at ?? '',
    ends_at: job.ends_at ?? '',
    jitter_seconds: String(job.jitter_seconds),
    fire_window_seconds: String(job.fire_window_seconds),
    target,
    headers: target.type === 'http' ? headerText(target.headers ?? {}) : '',
    argv: target.type === 'command' && target.argv !== undefined ? JSON.stringify(target.argv) : '',
    payload: JSON.stringify(job.payload, null, 2) ?? 'null',
    overlap_policy: job.overlap_policy,
    missed_window: job.missed_window,
    max_retries: String(job.max_retries),
    retry_backoff: job.retry_backoff,
    timeout_seconds: String(job.timeout_seconds),
    priority: String(job.priority),
  }
}

/** Fields that the form has no place for are told beside the button. */
export interface Refusal {
  problems: Problems
  elsewhere: boolean
}

/** Parts of a target that have a field of their own. */
const ownFields = new Set(['headers', 'argv'])

/** The server names what it refuses by a pointer: the message stands beside that field. */
export function refusalOf(error: Error | null, form: JobForm): Refusal {
  if (error === null) return { problems: {}, elsewhere: false }
  const problems: Problems = {}
  let elsewhere = !(error instanceof ApiError) || error.errors.length === 0
  for (const { pointer, message, hint } of error instanceof ApiError ? error.errors : []) {
    const [, top = '', part = ''] = pointer.split('/')
    const field = top === 'target' && ownFields.has(part) ? part : top
    if (!(field in form)) elsewhere = true
    else if (problems[field] === undefined) problems[field] = [message, hint].filter(Boolean).join(' ')
  }
  return { problems, elsewhere }
}

/** What the form says, as the API takes it; `problems` by the field that is at fault. */
export function inputOf(form: JobForm): { input: JobInput; problems: Problems } {
  const problems: Problems = {}
  const whole = (
    name: 'jitter_seconds' | 'fire_window_seconds' | 'max_retries' | 'timeout_seconds' | 'priority',
  ) => {
    const text = form[name].trim()
    if (!/^\d+$/.test(text)) problems[name] = 'A whole number, 0 or more.'
    return Number(text)
  }
  if (form.name.trim() === '') problems['name'] = 'A job needs a name.'
  const input: JobInput = {
    name: form.name.trim(),
    description: form.description.trim() === '' ? null : form.description.trim(),
    tags: listOf(form.tags, /[\s,]+/),
    schedule: scheduleOf(form.schedule, problems),
    timezone: form.timezone.trim(),
    dst_gap: form.dst_gap as NonNullable<JobInput['dst_gap']>,
    dst_overlap: form.dst_overlap as NonNullable<JobInput['dst_overlap']>,
    exclude: listOf(form.exclude, /\s*,\s*/),
    on_excluded: form.on_excluded as NonNullable<JobInput['on_excluded']>,
    ...(form.starts_at.trim() !== '' && { starts_at: form.starts_at.trim() }),
    ...(form.ends_at.trim() !== '' && { ends_at: form.ends_at.trim() }),
    jitter_seconds: whole('jitter_seconds'),
    fire_window_seconds: whole('fire_window_seconds'),
    target: targetOf(form, problems),
    payload: payloadOf(form.payload, problems),
    overlap_policy: form.overlap_policy as NonNullable<JobInput['overlap_policy']>,
    missed_window: form.missed_window as NonNullable<JobInput['missed_window']>,
    max_retries: whole('max_retries'),
    retry_backoff: form.retry_backoff as NonNullable<JobInput['retry_backoff']>,
    timeout_seconds: whole('timeout_seconds'),
    priority: whole('priority'),
  }
  return { input, problems }
}

/** Only what differs from the job as it is: what nobody touched is not sent, and so not overwritten. */
export function patchOf(job: Job, form: JobForm): JobPatch {
  const { input: after } = inputOf(form)
  const { input: before } = inputOf(formOf(job))
  const names = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof JobInput)[])
  const changed = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
  return Object.fromEntries(changed.map((name) => [name, after[name] === undefined ? null : after[name]]))
}

function listOf(text: string, between: RegExp): string[] {
  return text
    .trim()
    .split(between)
    .filter((part) => part !== '')
}

/** Cron, "@every 5m" or an instant as text; an object or a list as JSON. */
export function scheduleOf(text: string, problems: Problems): JobInput['schedule'] {
  const trimmed = text.trim()
  if (trimmed === '') problems['schedule'] = 'A job needs a schedule.'
  if (!/^[{[]/.test(trimmed)) return trimmed
  try {
    return JSON.parse(trimmed) as JobInput['schedule']
  } catch {
    problems['schedule'] = 'This begins like JSON and is none.'
    return trimmed
  }
}

function payloadOf(text: string, problems: Problems): unknown {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    problems['payload'] = `No JSON: ${(error as Error).message}`
    return null
  }
}

function targetOf({ target, headers, argv }: JobForm, problems: Problems): Target {
  if (target.type === 'http') {
    if (!URL.canParse(target.url)) problems['target'] = 'An absolute http or https URL.'
    const read = headersOf(headers, problems)
    const { headers: _before, ...rest } = target
    return Object.keys(read).length === 0 ? rest : { ...rest, headers: read }
  }
  if (target.type === 'task') {
    if (target.task.trim() === '') problems['target'] = 'The name of a task that a worker has loaded.'
    return target
  }
  const { argv: _argv, ...rest } = target
  if (argv.trim() === '') {
    if ((rest.shell ?? '').trim() === '')
      problems['target'] = 'A line for the shell, or a program with its arguments.'
    return rest
  }
  try {
    const { shell: _shell, ...command } = rest
    return { ...command, argv: JSON.parse(argv) as string[] }
  } catch {
    problems['argv'] = 'A JSON list of texts: ["program", "argument"].'
    return rest
  }
}

function headerText(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function headersOf(text: string, problems: Problems): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const colon = line.indexOf(':')
    if (colon < 1) problems['headers'] = 'One header a line: Name: value.'
    else headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim()
  }
  return headers
}
