// The table of docs/operate/sizing.md: what one unit of work costs, by the results of several workloads.
import { figureAt } from './figures.mjs'
import { text } from './table.mjs'

const perThousand = ({ ours }, group) => {
  const [cores, runs] = [figureAt(ours, `cpu.${group}`), figureAt(ours, 'runs_per_s')]
  return cores === null || !runs ? null : (cores / runs) * 1_000
}

/** What is told, the workload that it is from, and how it is found in one of its cases. */
const lines = [
  ['runs a second at most, on all cores', 'saturate', ({ ours }) => figureAt(ours, 'runs_per_s')],
  [
    'cores of Carillon for 1,000 runs a second, at most speed',
    'saturate',
    (one) => perThousand(one, 'carillon'),
  ],
  [
    'cores of Postgres for 1,000 runs a second, at most speed',
    'saturate',
    (one) => perThousand(one, 'postgres'),
  ],
  ['cores of Carillon for 1,000 runs a second, evenly', 'scale', (one) => perThousand(one, 'carillon')],
  ['cores of Postgres for 1,000 runs a second, evenly', 'scale', (one) => perThousand(one, 'postgres')],
  ['start lag p99 then, ms', 'scale', ({ ours }) => figureAt(ours, 'lag_ms.p99')],
  ['memory of a process that does everything, MB', 'scale', ({ ours }) => figureAt(ours, 'rss_mb')],
  ['memory for a run in flight, KB', 'in-flight', ({ ours }) => figureAt(ours, 'kb_per_run')],
  ['bytes a job', 'scale', ({ ours }) => figureAt(ours, 'bytes_per_job')],
  ['bytes a timer', 'scale', ({ ours }) => figureAt(ours, 'bytes_per_timer')],
  ['bytes a run in the history', 'scale', ({ ours }) => figureAt(ours, 'ledger_bytes_per_run')],
  ['WAL bytes a run, evenly', 'scale', ({ ours }) => figureAt(ours, 'wal_bytes_per_run')],
  ['WAL bytes a run, at most speed', 'saturate', ({ ours }) => figureAt(ours, 'wal_bytes_per_run')],
]

/** The largest case of each workload counts. Null where none of them was measured. */
export function sizingSection(results) {
  const rows = lines.flatMap(([label, workload, find]) => {
    const result = results.findLast((each) => each.workload === workload)
    const one = result?.cases?.at(-1) ?? result
    const value = one === undefined ? null : find(one)
    return value === null ? [] : [{ label, value, workload, n: one.n, machine: result.machine }]
  })
  if (rows.length === 0) return null
  const machines = new Map(rows.map((row) => [row.workload, row.machine]))
  return [
    '| | | measured by |',
    '|---|---:|---|',
    ...rows.map(
      ({ label, value, workload, n }) => `| ${label} | ${text(value)} | \`${workload}\`, n ${text(n)} |`,
    ),
    '',
    `${[...machines].map(([workload, machine]) => `\`${workload}\`: ${about(machine)}`).join('. ')}.`,
  ].join('\n')
}

/** Each was measured on a day and a machine of its own. */
function about({ cpu, cores, memory_gb: memory, postgres, date, commit, busy }) {
  const doubtful = busy ? '; **the machine was busy, figures are doubtful**' : ''
  return `${cpu}, ${cores} cores, ${memory} GB, Postgres ${postgres}, ${date.slice(0, 10)}, commit ${commit}${doubtful}`
}
