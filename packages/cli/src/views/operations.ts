import type { Backfill, BackfillPlan, Operation, OperationPreview } from '@carillon/sdk'
import type { NameOf } from '../job-names.js'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { duration, when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { paintStatus, statusText } from './status.js'

const mostShown = 10

export function matchedText(action: string, { matched, sample }: OperationPreview): string {
  const shown = sample.slice(0, mostShown).map(({ name }) => `  ${visible(name)}\n`)
  const more = matched > shown.length && shown.length > 0 ? `  … and ${matched - shown.length} more\n` : ''
  return `${matched} ${matched === 1 ? 'job matches' : 'jobs match'} (${visible(action)})\n${shown.join('')}${more}`
}

export function operationText(operation: Operation, look: Look): string {
  const { state, action, done, total, failed, errors } = operation
  const facts: [string, string][] = [
    ['Operation', visible(operation.operation_id)],
    ['Action', visible(action)],
    ['State', paintStatus(statusText(visible(state)), state, look.colors)],
    ['Done', `${done} of ${total}${failed === 0 ? '' : `, ${failed} failed`}`],
    ['Filter', visible(JSON.stringify(operation.filter))],
    ['Started', whenInZone(operation.created_at, look)],
  ]
  if (operation.finished_at !== null) facts.push(['Ended', whenInZone(operation.finished_at, look)])
  const wrong = errors
    .slice(0, mostShown)
    .map(({ job_id: id, code, detail }) =>
      look.colors.red(`✗ ${visible(id)}: ${visible(detail)} (${visible(code)})\n`),
    )
  return renderFacts(facts, look) + wrong.join('')
}

export function operationTable(operations: readonly Operation[], look: Look): string {
  return renderTable<Operation>(
    [
      { title: 'OPERATION', cell: (one) => visible(one.operation_id) },
      { title: 'ACTION', cell: (one) => visible(one.action) },
      {
        title: 'STATE',
        cell: (one) => statusText(visible(one.state)),
        paint: (text, one) => paintStatus(text, one.state, look.colors),
      },
      { title: 'DONE', cell: (one) => `${one.done}/${one.total}` },
      { title: 'FAILED', cell: (one) => String(one.failed) },
      { title: `STARTED (${look.timeZone})`, cell: (one) => when(one.created_at, look) },
      { title: 'FILTER', cell: (one) => visible(JSON.stringify(one.filter)), least: 12, optional: true },
    ],
    operations,
    look,
  )
}

export function backfillCountText(count: BackfillPlan, look: Look): string {
  const range =
    count.first === null ? '' : `, ${whenInZone(count.first, look)} to ${whenInZone(count.last, look)}`
  return (
    `${count.ticks} ${count.ticks === 1 ? 'tick' : 'ticks'} would be run${range}\n` +
    `${count.excluded_done} succeeded already and stay as they are; it takes about ${duration(count.estimated_seconds * 1000)}\n`
  )
}

export function backfillText(backfill: Backfill, look: Look, nameOf: NameOf = (id) => id): string {
  const { state, done, total, failed, eta_seconds: eta } = backfill
  const facts: [string, string][] = [
    ['Backfill', visible(backfill.backfill_id)],
    ['Job', visible(nameOf(backfill.job_id))],
    ['State', paintStatus(statusText(visible(state)), state, look.colors)],
    ['Range', `${visible(backfill.from)} to ${visible(backfill.to)}`],
    ['Done', `${done} of ${total}${failed === 0 ? '' : `, ${failed} failed`}`],
    ['Pace', `${backfill.per_minute} a minute`],
    ['Started', whenInZone(backfill.created_at, look)],
  ]
  if (state === 'running' && eta !== null) facts.push(['Left', `about ${duration(eta * 1000)}`])
  return renderFacts(facts, look)
}

export function backfillTable(
  backfills: readonly Backfill[],
  look: Look,
  nameOf: NameOf = (id) => id,
): string {
  return renderTable<Backfill>(
    [
      { title: 'BACKFILL', cell: (one) => visible(one.backfill_id) },
      { title: 'JOB', cell: (one) => visible(nameOf(one.job_id)), least: 8 },
      {
        title: 'STATE',
        cell: (one) => statusText(visible(one.state)),
        paint: (text, one) => paintStatus(text, one.state, look.colors),
      },
      { title: 'DONE', cell: (one) => `${one.done}/${one.total}` },
      { title: 'FAILED', cell: (one) => String(one.failed) },
      { title: 'RANGE', cell: (one) => visible(`${one.from} to ${one.to}`), least: 20, optional: true },
      { title: `STARTED (${look.timeZone})`, cell: (one) => when(one.created_at, look), optional: true },
    ],
    backfills,
    look,
  )
}
