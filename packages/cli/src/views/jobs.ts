import type { Job, Target } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { duration, when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { paintStatus, statusText } from './status.js'

export function jobTable(jobs: readonly Job[], look: Look): string {
  return renderTable<Job>(
    [
      { title: 'NAME', cell: (job) => visible(job.name), least: 10 },
      {
        title: 'STATE',
        cell: (job) => statusText(visible(job.state)),
        paint: (text, job) => paintStatus(text, job.state, look.colors),
      },
      { title: 'SCHEDULE', cell: scheduleOf, least: 9 },
      { title: `NEXT RUN (${look.timeZone})`, cell: (job) => when(job.next_run_at, look) },
      { title: 'TARGET', cell: (job) => targetOf(job.target), least: 12, optional: true },
      { title: 'ID', cell: (job) => visible(job.job_id), optional: true },
    ],
    jobs,
    look,
  )
}

export function jobDetails(job: Job, look: Look): string {
  const { colors } = look
  const facts: [string, string][] = [
    ['Name', colors.bold(visible(job.name))],
    ['Id', visible(job.job_id)],
    ['State', paintStatus(statusText(visible(job.state)), job.state, colors)],
    ...pauseOf(job, look),
    ['Schedule', visible(scheduleText(job.schedule))],
    ['Time zone', visible(job.timezone)],
    ['Next run', whenInZone(job.next_run_at, look)],
    ['Target', targetOf(job.target)],
    ...headersOf(job.target),
    ['Payload', visible(JSON.stringify(job.payload))],
    ['Idempotency', visible(job.idempotency_key_template)],
    ['Retries', `${job.max_retries}, ${visible(job.retry_backoff)} backoff`],
    ['Missed ticks', missedOf(job)],
    ['Overlap', overlapOf(job)],
    ['Priority', String(job.priority)],
    ['Timeout', duration(job.timeout_seconds * 1000)],
    ...expectedOf(job),
    ['Version', String(job.version)],
    ['Created', whenInZone(job.created_at, look)],
    ['Updated', whenInZone(job.updated_at, look)],
    ...(job.ended_at === null ? [] : [['Ended', whenInZone(job.ended_at, look)] as [string, string]]),
  ]
  return renderFacts(facts, look) + jobWarnings(job, look)
}

function expectedOf({ expect }: Job): [string, string][] {
  if (expect == null) return []
  const { start_within_seconds: start, finish_within_seconds: finish } = expect
  const words = [
    start === undefined ? null : `start within ${duration(start * 1000)}`,
    finish === undefined ? null : `finish within ${duration(finish * 1000)}`,
  ]
  return [['Expected', words.filter((word) => word !== null).join(', ')]]
}

/** One line about a change of a job: what was done, and what comes next. */
export function changed(what: string, job: Job, look: Look, also?: string): string {
  const { green, bold } = look.colors
  const next =
    job.next_run_at === null
      ? job.state === 'paused'
        ? ''
        : ', no tick ahead'
      : `, next run ${whenInZone(job.next_run_at, look)}`
  const detail = also === undefined ? '' : `, ${also}`
  return `${green('✓')} ${what} ${bold(visible(job.name))} (${visible(job.job_id)})${detail}${next}\n`
}

function jobWarnings(job: Job, { colors }: Pick<Look, 'colors'>): string {
  return warningsOf(job)
    .map((line) => colors.yellow(`${line}\n`))
    .join('')
}

/** What the server has to say about a job it took: a line each. */
export function warningsOf(job: Job): string[] {
  return job.warnings.map(({ code, message, hint }) =>
    visible(`! ${message}${hint === undefined ? '' : ` ${hint}`} (${code})`),
  )
}

function scheduleOf(job: Job): string {
  const text = scheduleText(job.schedule)
  return visible(job.timezone === 'UTC' ? text : `${text} ${job.timezone}`)
}

/** A schedule in one line: as it was written, or as JSON where it is an object or several rules. */
function scheduleText(schedule: Job['schedule']): string {
  return typeof schedule === 'string' ? schedule : JSON.stringify(schedule)
}

function targetOf(target: Target): string {
  switch (target.type) {
    case 'http':
      return visible(`${target.method ?? 'POST'} ${target.url}`)
    case 'task':
      return visible(`task ${target.task}`)
    case 'command':
      return visible(`command ${target.shell ?? target.argv?.join(' ') ?? ''}`)
  }
}

/** Names only: a header's value is often a secret. */
function headersOf(target: Target): [string, string][] {
  const names = target.type === 'http' ? Object.keys(target.headers ?? {}) : []
  return names.length === 0 ? [] : [['Headers', `${visible(names.join(', '))} (values: --json)`]]
}

/** Since when it is paused, why, and until when. */
function pauseOf(job: Job, look: Look): [string, string][] {
  if (job.paused_at === null) return []
  return [
    ['Paused', whenInZone(job.paused_at, look)],
    ...(job.pause_reason === null ? [] : [['Because', visible(job.pause_reason)] as [string, string]]),
    ...(job.paused_until === null ? [] : [['Until', whenInZone(job.paused_until, look)] as [string, string]]),
  ]
}

function overlapOf({ overlap_policy: policy, max_concurrent: most }: Job): string {
  return most === null ? visible(policy) : `${visible(policy)}, ${most} at once`
}

function missedOf(job: Job): string {
  const policy = visible(job.missed_window)
  const most = job.missed_window === 'RUN_ALL' ? `, ${job.max_missed} at most` : ''
  const grace =
    job.misfire_grace_seconds === null ? '' : `, not after ${duration(job.misfire_grace_seconds * 1000)}`
  return policy + most + grace
}
