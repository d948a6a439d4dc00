import type { RunAttempt, RunDetail } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { duration, whenInZone } from '../output/time.js'
import { firstLine, visible, visibleLines } from '../output/visible.js'
import { paintStatus, statusText } from './status.js'

export function runDetails(run: RunDetail, look: Look, name = run.job_id): string {
  const { colors } = look
  const status = paintStatus(statusText(visible(run.status)), run.status, colors)
  const round = run.round === 1 ? '' : `, round ${run.round}`
  const of = run.max_attempts === null ? '' : ` of ${run.max_attempts}`
  const facts: [string, string][] = [
    ['Run', colors.bold(visible(run.run_id))],
    ['Job', name === run.job_id ? visible(name) : `${visible(name)} (${visible(run.job_id)})`],
    ['Status', `${status}${run.reason === null ? '' : ` (${visible(run.reason)})`}`],
    ['Scheduled', whenInZone(run.scheduled_at, look)],
    ['Attempt', run.attempt === 0 ? '–' : `${run.attempt}${of}${round}`],
    ['Started', whenInZone(run.started_at, look)],
    ['Finished', whenInZone(run.finished_at, look)],
    ['Error', visibleLines((run.error ?? '–').trimEnd())],
    ['Version', String(run.version ?? '–')],
  ]
  if (run.result !== null && run.result !== undefined)
    facts.push(['Result', visible(JSON.stringify(run.result))])
  if (run.worker !== null) facts.push(['Worker', `${visible(run.worker)}, token ${run.fencing_token ?? '–'}`])
  const attempts = run.attempts.length === 0 ? '' : `\n${attemptTable(run.attempts, look)}`
  return `${renderFacts(facts, look)}${attempts}${nextOf(run)}`
}

function nextOf(run: RunDetail): string {
  const id = visible(run.run_id)
  if (run.status === 'dead') return `\n→ It is a dead letter: carillon dead-letters show ${id}\n`
  if (run.reason === 'cancel_requested' && run.finished_at === null && run.status === 'running')
    return '\n→ Its worker was asked to stop it. A task has to heed its signal.\n'
  if (run.status === 'pending' || run.status === 'running')
    return `\n→ To end it: carillon runs cancel ${id}\n`
  return ''
}

export function attemptTable(attempts: readonly RunAttempt[], look: Look): string {
  return renderTable<RunAttempt>(
    [
      { title: 'ATTEMPT', cell: numberOf },
      {
        title: 'OUTCOME',
        cell: (one) => statusText(visible(one.outcome)),
        paint: (text, one) => paintStatus(text, one.outcome, look.colors),
      },
      { title: `STARTED (${look.timeZone})`, cell: (one) => whenInZone(one.started_at, look) },
      { title: 'TOOK', cell: (one) => (one.duration_ms === null ? '–' : duration(one.duration_ms)) },
      {
        title: 'WHY',
        cell: (one) =>
          [one.reason, one.error]
            .flatMap((text) => text ?? [])
            .map(firstLine)
            .join('; '),
        least: 12,
      },
      { title: 'WORKER', cell: (one) => visible(one.worker ?? '–'), optional: true },
      { title: 'TOKEN', cell: (one) => String(one.fencing_token ?? '–'), optional: true },
    ],
    attempts,
    look,
  )
}

function numberOf({ attempt, round }: RunAttempt): string {
  return `${attempt === 0 ? '–' : attempt}${round === 1 ? '' : ` (round ${round})`}`
}
