import type { Why } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { duration, whenInZone } from '../output/time.js'
import { firstLine, visible } from '../output/visible.js'
import { paintStatus, statusText } from './status.js'

/** How a verdict looks: as a run or a job that is in the same state. */
const looks: Readonly<Record<Why['verdict'], string>> = {
  ran: 'success',
  late: 'success',
  caught_up: 'success',
  skipped: 'skipped',
  in_flight: 'running',
  paused: 'paused',
  pending: 'pending',
  unaccounted: 'fail',
  future: 'pending',
  no_tick: 'ended',
  not_verifiable: 'skip',
}

/** The answer in one line, then what stands behind it. */
export function whyText(why: Why, look: Look): string {
  const { colors } = look
  const mark = statusText(statusOf(why)).slice(0, 1)
  const lines = [`${paintStatus(mark, statusOf(why), colors)} ${colors.bold(visible(why.summary))}`]
  if (why.doubled)
    lines.push(colors.red('✗ It is on record more than once. This must not be: run carillon verify.'))
  if (why.todo !== null) lines.push(`→ ${visible(why.todo)}`)
  const attempts = why.attempts.length === 0 ? '' : `\n${attemptTable(why, look)}`
  return `${lines.join('\n')}\n\n${renderFacts(factsOf(why, look), look)}${attempts}`
}

function statusOf({ verdict, attempts }: Why): string {
  const last = attempts.filter(({ final }) => final).at(-1)
  const ran = looks[verdict] === 'success'
  return ran && last !== undefined ? last.outcome : (looks[verdict] ?? 'skip')
}

function factsOf(why: Why, look: Look): [string, string][] {
  const facts: [string, string][] = [
    ['Job', `${visible(why.job)} (${visible(why.job_id)})`],
    ['Asked about', `${visible(why.local)} ${visible(why.timezone)} = ${visible(why.at)}`],
  ]
  if (why.run_id !== null) facts.push(['Run', visible(why.run_id)])
  const add = (name: string, iso: string | null) => {
    if (iso !== null) facts.push([name, whenInZone(iso, look)])
  }
  if (why.segment !== null) {
    const { version, from, to } = why.segment
    const until = to === null ? '' : ` until ${whenInZone(to, look)}`
    facts.push(['Version', `${version}, from ${whenInZone(from, look)}${until}`])
  }
  if (why.reason !== null) facts.push(['Reason', visible(why.reason)])
  add('Could start', why.start_at)
  add('Fired', why.fired_at)
  add('Leased', why.leased_at)
  if (why.range !== null) {
    const { from, to, ticks } = why.range
    facts.push(['One record for', `${ticks} ticks, ${visible(from)} to ${visible(to)}`])
  }
  if (why.replay !== null) {
    const { state, position, done, total } = why.replay
    facts.push(['Catch-up', `${visible(state)}; ${position} before this one; ${done} of ${total} done`])
  }
  add('Tick before', why.before)
  add('Tick after', why.after)
  return facts
}

type Attempt = Why['attempts'][number]

function attemptTable({ attempts }: Why, look: Look): string {
  return renderTable<Attempt>(
    [
      {
        title: 'ATTEMPT',
        cell: (one) => (one.round === 1 ? String(one.attempt) : `${one.attempt} (round ${one.round})`),
      },
      {
        title: 'OUTCOME',
        cell: (one) => statusText(visible(one.outcome)),
        paint: (text, one) => paintStatus(text, one.outcome, look.colors),
      },
      { title: `STARTED (${look.timeZone})`, cell: (one) => whenInZone(one.started_at, look) },
      { title: 'TOOK', cell: tookOf },
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
    ],
    attempts,
    look,
  )
}

function tookOf({ started_at: from, finished_at: to }: Attempt): string {
  return from === null || to === null ? '–' : duration(Math.max(0, Date.parse(to) - Date.parse(from)))
}
