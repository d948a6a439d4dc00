// A workload's part of docs/benchmarks.md: the tables, the charts, and what they were measured with.
import { figureAt, ratio } from './figures.mjs'
import { areAlone, columns, parametersOf, rowsOf, rowsOfCases, text, times } from './table.mjs'

export function sectionOf(results, pictures) {
  const tables = results.flatMap((result) => {
    const cases = result.cases ?? [result]
    return areAlone(cases) ? [tableOfCases(cases)] : cases.map((one) => tableOf(one))
  })
  return [
    ...tables,
    ...pictures.map(({ title, path }) => `![${title}](${path})`),
    ...results.map((result) => provenance(result)),
  ].join('\n\n')
}

function tableOf(figures) {
  const { ours, ratio_of: score } = figures
  const rows = rowsOf(figures)
  const shown = columns.filter(([, path]) => rows.some(([, values]) => figureAt(values, path) !== null))
  const lines = rows.map(([name, values]) => {
    if (values.error !== undefined) return [name, `failed: ${values.error}`, ...shown.map(() => '')]
    const own = values === ours ? '' : times(ratio(figureAt(ours, score), figureAt(values, score)))
    return [
      name === 'carillon' ? '**Carillon**' : name,
      own,
      ...shown.map(([, path]) => text(figureAt(values, path))),
    ]
  })
  const better = figures.better === 'higher' ? 'more is better' : 'less is better'
  return [
    `**${parametersOf(figures)}**: medians of ${figures.repeats}; ratio by \`${score}\`, ${better}. ` +
      `Lost ${figures.lost}, doubled ${figures.doubled}.`,
    '',
    ...markdown([['', 'ours ÷ it', ...shown.map(([title]) => title)], ...lines]),
  ].join('\n')
}

function tableOfCases(cases) {
  const sum = (name) => cases.reduce((total, one) => total + one[name], 0)
  return [`Lost ${sum('lost')}, doubled ${sum('doubled')}.`, '', ...markdown(rowsOfCases(cases))].join('\n')
}

function markdown([head, ...rows]) {
  return [head, head.map((_, at) => (at === 0 ? '---' : '---:')), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  )
}

function provenance({ machine, command }) {
  const {
    cpu,
    cores,
    memory_gb,
    os,
    node,
    postgres,
    redis,
    peers,
    date,
    commit,
    busy,
    load_average,
    other_cores,
    stolen,
    fresh_page_us,
    memory_filled,
  } = machine
  const versions = Object.entries(peers ?? {}).map(([name, version]) => `${name} ${version}`)
  return [
    `\`${command}\`, ${date.slice(0, 10)}, commit ${commit}.`,
    `${cpu}, ${cores} cores, ${memory_gb} GB; ${os}; Node ${node}; Postgres ${postgres} (fsync and synchronous_commit on)` +
      `${redis === undefined ? '' : `; Redis ${redis} (AOF every second)`}${versions.length === 0 ? '' : `; ${versions.join(', ')}`}.`,
    `Load average at start ${load_average}, cores used by others ${other_cores ?? 'unknown'}` +
      `${typeof stolen === 'number' ? `; of what was wanted during the run the host kept ${stolen} %` : ''}` +
      `${busy ? ': **the machine was busy, figures are doubtful**' : ''}.`,
    ...(memory_filled
      ? [`A new page of memory cost ${fresh_page_us} µs: free memory was filled before each turn.`]
      : []),
  ].join(' ')
}
