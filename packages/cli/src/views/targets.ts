import type { TargetHost } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'

export function targetTable(targets: readonly TargetHost[], look: Look): string {
  return renderTable<TargetHost>(
    [
      { title: 'HOST', cell: ({ host }) => visible(host), least: 12 },
      { title: 'JOBS', cell: ({ jobs }) => String(jobs) },
      {
        title: 'BREAKER',
        cell: ({ breaker }) => breaker.state,
        paint: (text, { breaker }) => paintState(text, breaker.state, look),
      },
      { title: 'IN FLIGHT', cell: ({ in_flight: runs }) => String(runs) },
      { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
      { title: 'LIMITS', cell: limitWords, least: 10 },
      {
        title: `NEXT TRY (${look.timeZone})`,
        cell: ({ breaker }) => (breaker.retry_at === null ? '' : when(breaker.retry_at, look)),
        optional: true,
      },
    ],
    targets,
    look,
  )
}

export function targetDetails(target: TargetHost, look: Look): string {
  const { breaker } = target
  const at = (instant: string | null) => (instant === null ? null : whenInZone(instant, look))
  const facts: [string, string | null][] = [
    ['Host', look.colors.bold(visible(target.host))],
    ['Jobs', String(target.jobs)],
    ['In flight', String(target.in_flight)],
    ['Waiting', String(target.waiting)],
    ['Waiting since', at(target.waiting_since)],
    ['Limits', limitWords(target)],
    ['Breaker', paintState(breaker.state, breaker.state, look)],
    ['Since', at(breaker.since)],
    ['Next try', at(breaker.retry_at)],
    ['Opened', breaker.openings === 0 ? null : `${breaker.openings} times`],
    ['Failures', breaker.attempts === 0 ? null : `${breaker.failures} of ${breaker.attempts} attempts`],
    ['In a row', breaker.failures_in_row === 0 ? null : String(breaker.failures_in_row)],
    ['Last error', breaker.last_error === null ? null : visible(breaker.last_error)],
    ['Last failed', at(breaker.last_failed_at)],
  ]
  return renderFacts(
    facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    look,
  )
}

function limitWords({ limits }: TargetHost): string {
  const words = [
    limits.rate_per_second === null ? null : `${limits.rate_per_second}/s`,
    limits.burst === null ? null : `burst ${limits.burst}`,
    limits.max_concurrent === null ? null : `${limits.max_concurrent} at once`,
    limits.timeout_seconds === null ? null : `${limits.timeout_seconds} s`,
    limits.drain_per_second === null ? null : `drain ${limits.drain_per_second}/s`,
    limits.breaker_enabled === false ? 'no breaker' : null,
  ].filter((word) => word !== null)
  return words.length === 0 ? 'none' : words.join(', ')
}

function paintState(text: string, state: TargetHost['breaker']['state'], { colors }: Look): string {
  if (state === 'closed') return colors.green(text)
  return state === 'draining' ? colors.yellow(text) : colors.red(text)
}
