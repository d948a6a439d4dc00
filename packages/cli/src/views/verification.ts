import type { Finding, Verification } from '@carillon/sdk'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { visible } from '../output/visible.js'

/** Every tick is accounted for, and none twice. */
export function isWhole({ unaccounted, doubled }: Verification): boolean {
  return unaccounted === 0 && doubled === 0
}

interface Line {
  name: string
  ticks: number
  means: string
  bad?: boolean
}

export function verificationText(found: Verification, look: Look): string {
  const { colors } = look
  const table = renderTable<Line>(
    [
      { title: 'TICKS', cell: ({ ticks }) => ticks.toLocaleString('en').padStart(12) },
      {
        title: '',
        cell: ({ name }) => name,
        paint: (text, { bad, ticks }) => (bad === true && ticks > 0 ? colors.red(text) : text),
      },
      { title: '', cell: ({ means }) => means, paint: (text) => colors.dim(text), least: 10, optional: true },
    ],
    linesOf(found),
    look,
  )
  const range = `${found.from} to ${found.to}, ${found.jobs.toLocaleString('en')} ${found.jobs === 1 ? 'job' : 'jobs'}`
  const notes = found.notes.map((note) => `! ${visible(note)}\n`).join('')
  return `${range}\n\n${table}\n${findings(found, look)}${notes}${verdict(found, look)}\n`
}

function linesOf(found: Verification): Line[] {
  const reasons = Object.entries(found.skipped_by_reason).map(
    ([reason, ticks]): Line => ({ name: `  ${visible(reason)}`, ticks, means: '' }),
  )
  const extra: Line[] = [
    { name: 'failed', ticks: found.failed, means: 'of those that ran: ended as failed or dead' },
    { name: 'doubled', ticks: found.doubled, means: 'on record more than once', bad: true },
    {
      name: 'unexpected',
      ticks: found.unexpected,
      means: 'records of instants that no schedule names',
      bad: true,
    },
    {
      name: 'wrong count',
      ticks: found.wrong_count,
      means: 'records that count their ticks wrongly',
      bad: true,
    },
    { name: 'zone changed', ticks: found.tz_changed, means: 'on record where earlier zone data put them' },
  ]
  return [
    { name: 'expected', ticks: found.expected, means: 'that the schedules name' },
    { name: 'ran', ticks: found.ran, means: 'on time' },
    { name: 'late', ticks: found.late, means: 'started after the tolerance' },
    { name: 'caught up', ticks: found.caught_up, means: 'run after they had been missed' },
    {
      name: 'skipped',
      ticks: found.skipped,
      means: `not run, with a reason${reasons.length === 0 ? '' : ':'}`,
    },
    ...reasons,
    { name: 'in flight', ticks: found.in_flight, means: 'in the queue or in a catch-up' },
    { name: 'paused', ticks: found.paused, means: 'decided when their job is resumed' },
    { name: 'pending', ticks: found.pending, means: 'due, and not fired yet' },
    { name: 'unaccounted', ticks: found.unaccounted, means: 'nothing says what became of them', bad: true },
    ...extra.filter(({ ticks, name }) => ticks > 0 || name === 'doubled'),
  ]
}

function findings({ findings: list }: Verification, look: Look): string {
  if (list.length === 0) return ''
  const table = renderTable<Finding>(
    [
      { title: 'FINDING', cell: ({ kind }) => kind },
      { title: 'JOB', cell: ({ job }) => visible(job), least: 8 },
      { title: 'TICK', cell: ({ tick }) => tick ?? '–' },
      { title: 'DETAIL', cell: ({ detail }) => visible(detail), least: 20 },
      { title: 'ID', cell: ({ job_id: id }) => visible(id), optional: true },
    ],
    list,
    look,
  )
  return `${table}\n`
}

function verdict(found: Verification, { colors }: Look): string {
  if (!isWhole(found)) {
    return colors.red(
      `✗ ${found.unaccounted} unaccounted, ${found.doubled} doubled. carillon why JOB --at TICK tells more about one.`,
    )
  }
  const doubts = found.unexpected + found.wrong_count
  if (doubts > 0) return colors.yellow(`! Every tick is accounted for, and ${doubts} records are in doubt.`)
  return colors.green(`✓ Every tick is accounted for (${found.expected.toLocaleString('en')}).`)
}
