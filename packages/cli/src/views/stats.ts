import type { LoadForecast, Run, Stats, StatsHistory } from '@carillon/sdk'
import type { NameOf } from '../job-names.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { duration, localTime } from '../output/time.js'
import { visible } from '../output/visible.js'
import { runLine } from './run-line.js'

const ms = (value: number | null) => (value === null ? '–' : duration(value))
const number = (value: number) => value.toLocaleString('en')

/** The whole at one look: what is asked first in an incident comes first. */
export function statsText(
  stats: Stats,
  look: Look,
  failing: readonly Run[] = [],
  nameOf: NameOf = (id) => id,
): string {
  const { jobs, queue, catch_up: catchUp } = stats
  const { bold, red, yellow, green } = look.colors
  const waits = queue.oldest_ready_ms
  const paint = waits === null || waits < 1_000 ? green : waits < 10_000 ? yellow : red
  const lines = [
    `${bold('Carillon')}  ${localTime(new Date(stats.now), look.timeZone)} ${look.timeZone}  ${stats.nodes.alive} ${stats.nodes.alive === 1 ? 'node' : 'nodes'}`,
    '',
    `Jobs     ${number(jobs.active)} active, ${number(jobs.paused)} paused, ${number(jobs.ended)} ended, ${number(jobs.cancelled)} cancelled`,
    `Queue    ${number(queue.ready)} ready, ${number(queue.running)} running, ${number(queue.waiting)} wait for a place or a host, ${number(queue.waiting_retry)} for a retry, ${number(queue.parked)} parked; the oldest waits ${paint(ms(waits))}`,
    `Dead     ${stats.dead_letters === 0 ? green('0') : red(number(stats.dead_letters))} dead letters`,
    ...(catchUp.replays === 0
      ? []
      : [yellow(`Catch-up ${number(catchUp.ticks)} ticks in ${number(catchUp.replays)} replays`)]),
    '',
  ]
  const failed =
    failing.length === 0
      ? ''
      : `\n${bold('Died last')}\n${failing.map((run) => runLine(run, look, nameOf(run.job_id))).join('')}`
  return `${lines.join('\n')}\n${windowTable(stats, look)}${failed}`
}

type Window = Stats['last_minute'] & { name: string; seconds: number }

function windowTable({ last_minute: minute, last_hour: hour }: Stats, look: Look): string {
  const rows: Window[] = [
    { ...minute, name: 'last minute', seconds: 60 },
    { ...hour, name: 'last hour', seconds: 3_600 },
  ]
  const { red } = look.colors
  return renderTable<Window>(
    [
      { title: '', cell: ({ name }) => name },
      { title: 'FIRED', cell: ({ fired }) => number(fired) },
      { title: 'PER SECOND', cell: ({ fired, seconds }) => (fired / seconds).toFixed(1) },
      { title: 'SUCCESS', cell: ({ success }) => number(success) },
      {
        title: 'FAILED',
        cell: ({ failed }) => number(failed),
        paint: (text, { failed }) => (failed > 0 ? red(text) : text),
      },
      {
        title: 'DEAD',
        cell: ({ dead }) => number(dead),
        paint: (text, { dead }) => (dead > 0 ? red(text) : text),
      },
      { title: 'SKIPPED', cell: ({ skipped }) => number(skipped) },
      { title: 'LAG P50', cell: ({ lag_ms: lag }) => lagOf(lag?.p50) },
      { title: 'P95', cell: ({ lag_ms: lag }) => lagOf(lag?.p95) },
      { title: 'P99', cell: ({ lag_ms: lag }) => lagOf(lag?.p99) },
      { title: 'MAX', cell: ({ lag_ms: lag }) => lagOf(lag?.max) },
    ],
    rows,
    look,
  )
}

/** A line for each piece of time in which something ended. */
export function historyText({ data, step_seconds: step }: StatsHistory, look: Look): string {
  if (data.length === 0) return 'Nothing ended in this time.\n'
  return renderTable<StatsHistory['data'][number]>(
    [
      { title: 'FROM', cell: ({ at }) => localTime(new Date(at), look.timeZone) },
      { title: 'FIRED', cell: ({ counts }) => number(counts.fired) },
      { title: 'PER SECOND', cell: ({ counts }) => (counts.fired / step).toFixed(1) },
      { title: 'SUCCESS', cell: ({ counts }) => number(counts.success) },
      {
        title: 'FAILED',
        cell: ({ counts }) => number(counts.failed),
        paint: (text, { counts }) => (counts.failed > 0 ? look.colors.red(text) : text),
      },
      { title: 'DEAD', cell: ({ counts }) => number(counts.dead) },
      { title: 'SKIPPED', cell: ({ counts }) => number(counts.skipped) },
      { title: 'LAG P50', cell: ({ counts }) => lagOf(counts.lag_ms?.p50) },
      { title: 'P99', cell: ({ counts }) => lagOf(counts.lag_ms?.p99) },
    ],
    data,
    look,
  )
}

const shades = [' ', '░', '▒', '▓', '█'] as const

/** How dark a count is beside the highest one; anything at all is seen. */
export function shade(firings: number, most: number): string {
  if (firings <= 0 || most <= 0) return shades[0]
  return shades[Math.max(1, Math.ceil((firings / most) * (shades.length - 1)))] ?? '█'
}

/** A line for every hour with a cell for every minute, or for every day with a cell for every hour. */
export function forecastText(forecast: LoadForecast, look: Look): string {
  const { by, buckets, hottest, jobs, sampled } = forecast
  const perLine = by === 'minute' ? 60 : 24
  const most = Math.max(0, ...buckets.map(({ firings }) => firings))
  const sum = buckets.reduce((total, { firings }) => total + firings, 0)
  const lines: string[] = []
  for (let from = 0; from < buckets.length; from += perLine) {
    const part = buckets.slice(from, from + perLine)
    const cells = part.map(({ firings }) => shade(firings, most)).join('')
    const at = localTime(new Date(part[0]?.at ?? forecast.from), look.timeZone).slice(0, 16)
    const total = part.reduce((inner, { firings }) => inner + firings, 0)
    lines.push(`${look.colors.dim(at)} ${look.colors.cyan(cells.padEnd(perLine))} ${number(total)}`)
  }
  const hot = hottest.slice(0, 5).map(({ at, firings, sample }) => {
    const names = sample
      .slice(0, 3)
      .map(({ name }) => visible(name))
      .join(', ')
    return `  ${localTime(new Date(at), look.timeZone)}  ${number(firings)} at once: ${names}`
  })
  return [
    `${number(sum)} firings of ${number(jobs)} jobs, per ${by}, times in ${look.timeZone}${sampled ? ' (estimated from a sample)' : ''}; █ is ${number(most)}`,
    '',
    ...lines,
    ...(hot.length === 0 ? [] : ['', look.colors.bold('Hottest seconds'), ...hot]),
    '',
  ].join('\n')
}

/** Nothing has started yet: there is no lag. */
function lagOf(value: number | undefined): string {
  return value === undefined ? '–' : ms(value)
}
