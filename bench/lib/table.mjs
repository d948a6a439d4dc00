// The table for people: ratios first, because machines differ and are noisy; then the figures.
import { figureAt, ratio } from './figures.mjs'

/** Columns of a table: what is shown of every contestant, where it has it. */
export const columns = [
  ['runs/s', 'runs_per_s'],
  ['over as many timers', 'runs_per_s_as_many'],
  ['drain s', 'drain_s'],
  ['single/s', 'single_per_s'],
  ['keyed/s', 'keyed_per_s'],
  ['bulk/s', 'bulk_per_s'],
  ['deliveries/s', 'deliveries_per_s'],
  ['gap p50 ms', 'gap_ms.p50'],
  ['gap p99 ms', 'gap_ms.p99'],
  ['gap max ms', 'gap_ms.max'],
  ['latest start p50 ms', 'late_ms.p50'],
  ['latest start max ms', 'late_ms.max'],
  ['lag p50 ms', 'lag_ms.p50'],
  ['lag p95', 'lag_ms.p95'],
  ['lag p99', 'lag_ms.p99'],
  ['lag max', 'lag_ms.max'],
  ['first p99 ms', 'first_p99_ms'],
  ['missed', 'missed'],
  ['registered s', 'registered_s'],
  ['staging s', 'staging_s'],
  ['dead rows', 'most_dead_rows'],
  ['memory MB', 'rss_mb'],
  ['MB at first', 'rss_mb_early'],
  ['MB at last', 'rss_mb_late'],
  ['connections', 'connections'],
  ['in flight', 'most_in_flight'],
  ['closes/s', 'closes_per_s'],
  ['KB a run', 'kb_per_run'],
  ['disk MB', 'disk_mb'],
  ['bytes a job', 'bytes_per_job'],
  ['of it its row', 'bytes_per_job_row'],
  ['bytes a timer', 'bytes_per_timer'],
  ['ledger bytes a run', 'ledger_bytes_per_run'],
  ['WAL bytes a run', 'wal_bytes_per_run'],
  ['due scan ms', 'due_scan_ms'],
  ['horizon ms', 'horizon_load_ms'],
  ['restart ms', 'restart_ms'],
  ['first run ms', 'restart_first_run_ms'],
  ['seeded s', 'seeded_s'],
  ['cores own', 'cpu.carillon'],
  ['cores peer', 'cpu.peer'],
  ['cores postgres', 'cpu.postgres'],
  ['cores redis', 'cpu.redis'],
  ['cores other', 'cpu.other'],
]

/** Ratios that only some workloads have. */
export const ownRatios = [
  ['lag ÷ first', 'ratio_first_lag_p99'],
  ['CPU ÷ first', 'ratio_first_cpu'],
  ['memory late ÷ early', 'ratio_growth_memory'],
  ['lag late ÷ early', 'ratio_growth_lag'],
]

export function table(figures, score) {
  const cases = figures.cases ?? [figures]
  const parts = areAlone(cases) ? [tableOfCases(cases)] : cases.map((one) => oneTable(one, score))
  return [...parts, footOf(figures)].join('\n\n')
}

/** Whether nobody stands beside us in any of them. */
export function areAlone(cases) {
  return cases.every(({ peers, probe }) => Object.keys(peers).length === 0 && probe === null)
}

/** Nobody beside us: one row for each case, or for each part of one. All cells are text; the first row is the head. */
export function rowsOfCases(cases) {
  const rows = cases.flatMap((one) => {
    const parts = Object.entries(one.ours).filter(([, part]) => (part?.gap_ms?.p50 ?? null) !== null)
    if (parts.length > 0) return parts.map(([name, part]) => [`${parametersOf(one)}: ${name}`, one, part])
    return [[parametersOf(one), one, one.ours]]
  })
  const ratios = ownRatios.filter(([, name]) => typeof cases[0][name] === 'number')
  const shown = columns.filter(([, path]) => rows.some(([, , values]) => figureAt(values, path) !== null))
  return [
    ['', ...ratios.map(([title]) => title), ...shown.map(([title]) => title)],
    ...rows.map(([label, one, values]) => [
      label,
      ...ratios.map(([, name]) => times(one[name])),
      ...shown.map(([, path]) => text(figureAt(values, path))),
    ]),
  ]
}

function tableOfCases(cases) {
  const sum = (name) => cases.reduce((total, one) => total + one[name], 0)
  return [
    `${cases[0].workload}; repeats ${cases[0].repeats}`,
    ...aligned(rowsOfCases(cases)),
    `lost ${sum('lost')}   doubled ${sum('doubled')}`,
  ].join('\n')
}

function oneTable(figures, score) {
  const rows = rowsOf(figures)
  const shown = columns.filter(([, path]) => rows.some(([, values]) => figureAt(values, path) !== null))
  const { ours, probe } = figures
  const lines = rows.map(([name, values]) => [
    name,
    ...(values.error === undefined
      ? [
          timesOf(ratio(figureAt(ours, score.figure), figureAt(values, score.figure)), values === ours),
          ...shown.map(([, path]) => text(figureAt(values, path))),
        ]
      : ['–', `failed: ${values.error}`]),
  ])
  const better = figures.better === 'higher' ? 'more is better' : 'less is better'
  return [
    `${figures.workload}: ${parametersOf(figures)}; medians of ${figures.repeats}`,
    `ours ÷ theirs by ${score.figure} (${better}): best peer ${times(figures.ratio_best_peer)}` +
      (probe === null ? '' : `, probe ${times(figures.ratio_probe)}`),
    ...aligned([['', 'ours ÷ it', ...shown.map(([title]) => title)], ...lines]),
    `lost ${figures.lost}   doubled ${figures.doubled}`,
  ].join('\n')
}

export function rowsOf({ ours, peers, probe }) {
  return [
    ['carillon', ours],
    ...Object.entries(peers ?? {}),
    ...(probe === null || probe === undefined ? [] : [['probe (plain SQL)', probe]]),
  ]
}

function footOf({ machine }) {
  const { cpu, cores, memory_gb, os, node, postgres, redis, load_average, other_cores, stolen, busy } =
    machine
  const { fresh_page_us, memory_filled } = machine
  return [
    `${cpu}, ${cores} cores, ${memory_gb} GB; ${os}; Node ${node}; Postgres ${postgres}, fsync and synchronous_commit on` +
      (redis === undefined ? '' : `; Redis ${redis}, AOF every second`),
    `load average at start ${load_average}, cores used by others ${other_cores ?? '?'}, kept by the host ${stolen ?? '?'} %${busy ? '   !! THE MACHINE WAS BUSY' : ''}`,
    ...(memory_filled
      ? [`a new page of memory cost ${fresh_page_us} µs: free memory was filled before each turn`]
      : []),
  ].join('\n')
}

export function parametersOf(figures) {
  return ['n', 'rate', 'seconds', 'in_flight']
    .filter((name) => typeof figures[name] === 'number')
    .map((name) => `${name} ${figures[name].toLocaleString('en')}`)
    .join(', ')
}

function timesOf(value, isOurs) {
  return isOurs ? '' : times(value)
}

export function times(value) {
  return value === null || value === undefined ? '–' : `${value}x`
}

export function text(value) {
  if (value === null || value === undefined) return '–'
  return typeof value === 'number' ? value.toLocaleString('en', { maximumFractionDigits: 2 }) : String(value)
}

/** The first column to the left, numbers to the right. */
function aligned(rows) {
  const widths = []
  for (const row of rows)
    row.forEach((cell, at) => {
      if (row.length === rows[0].length) widths[at] = Math.max(widths[at] ?? 0, cell.length)
    })
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[at] ?? 0)))
      .join('   ')
      .trimEnd(),
  )
}
