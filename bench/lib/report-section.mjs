// A workload's part of docs/benchmarks.md: the tables, the charts, and what they were measured with.
import { figureAt, ratio } from './figures.mjs'
import { columns, ownRatios, parametersOf, rowsOf, text } from './table.mjs'

export function sectionOf(results, pictures) {
  const tables = results.flatMap((result) => (result.cases ?? [result]).map((one) => tableOf(one)))
  return [
    ...tables,
    ...pictures.map(({ title, path }) => `![${title}](${path})`),
    ...results.map((result) => provenance(result)),
  ].join('\n\n')
}

function tableOf(figures) {
  const score = figures.ratio_of
  const rows = rowsOf(figures)
  const alone = rows.length === 1
  const ratios = alone
    ? ownRatios.filter(([, name]) => typeof figures[name] === 'number')
    : [['ours ÷ it', null]]
  const shown = columns.filter(([, path]) => rows.some(([, values]) => figureAt(values, path) !== null))
  const lines = rows.map(([name, values]) => {
    if (values.error !== undefined) return [name, `failed: ${values.error}`, ...shown.map(() => '')]
    const own = alone
      ? ratios.map(([, key]) => times(figures[key]))
      : [values === figures.ours ? '' : times(ratio(figureAt(figures.ours, score), figureAt(values, score)))]
    return [
      name === 'carillon' ? '**Carillon**' : name,
      ...own,
      ...shown.map(([, path]) => text(figureAt(values, path))),
    ]
  })
  const head = ['', ...ratios.map(([title]) => title), ...shown.map(([title]) => title)]
  const better = figures.better === 'higher' ? 'more is better' : 'less is better'
  return [
    `**${parametersOf(figures) || figures.workload}**: medians of ${figures.repeats}; ratio by \`${score}\`, ${better}. ` +
      `Lost ${figures.lost}, doubled ${figures.doubled}.`,
    '',
    row(head),
    row(head.map((_, at) => (at === 0 ? '---' : '---:'))),
    ...lines.map(row),
  ].join('\n')
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
  } = machine
  const versions = Object.entries(peers ?? {}).map(([name, version]) => `${name} ${version}`)
  return [
    `\`${command.replace(/ --out \S+/, '').replace(/ --json/, '')}\`, ${date.slice(0, 10)}, commit ${commit}.`,
    `${cpu}, ${cores} cores, ${memory_gb} GB; ${os}; Node ${node}; Postgres ${postgres} (fsync and synchronous_commit on)` +
      `${redis === undefined ? '' : `; Redis ${redis} (AOF every second)`}${versions.length === 0 ? '' : `; ${versions.join(', ')}`}.`,
    `Load average at start ${load_average}, cores used by others ${other_cores ?? 'unknown'}` +
      `${busy ? ': **the machine was busy, figures are doubtful**' : ''}.`,
  ].join(' ')
}

const row = (cells) => `| ${cells.join(' | ')} |`
const times = (value) => (value === null || value === undefined ? '–' : `${value}x`)
