// Which chart shows a result best.
import { barChart, lineChart } from './chart.mjs'
import { figureAt } from './figures.mjs'
import { parametersOf, rowsOf } from './table.mjs'

const words = {
  runs_per_s: 'runs a second',
  deliveries_per_s: 'deliveries a second',
  single_per_s: 'jobs registered a second, one by one',
  'lag_ms.p99': 'start lag p99, ms',
  'gap_ms.p99': 'time without an owner p99, ms',
}

/** [{ name, title, svg }] */
export function chartsOf(result) {
  if (result.workload === 'scale' && result.cases !== undefined) return [scaleChart(result)]
  if (result.workload === 'soak') return [soakChart(result)]
  if (result.workload === 'failover') return [failoverChart(result)]
  const cases = result.cases ?? [result]
  if (cases.every((one) => rowsOf(one).length === 1)) return []
  const title = `${result.workload}: ${words[result.ratio_of] ?? result.ratio_of}`
  const groups = cases.map((one) => ({
    label: parametersOf(one),
    bars: rowsOf(one).map(([name, values]) => ({
      name,
      value: figureAt(values, result.ratio_of),
      note: values.error === undefined ? 'not measured' : 'failed',
    })),
  }))
  const unit = result.better === 'higher' ? 'more is better' : 'less is better'
  return [
    { name: result.name, title, svg: barChart({ title, unit, groups, log: result.better === 'lower' }) },
  ]
}

function scaleChart({ name, cases }) {
  const title = 'scale: start lag p99 by registered jobs'
  const points = cases.map(({ n, ours }) => [n, ours.lag_ms.p99])
  const cores = cases.map(({ n, ours }) => [n, ours.lag_ms.p50])
  const series = [
    { name: 'p99', points },
    { name: 'p50', points: cores },
  ]
  return { name, title, svg: lineChart({ title, unit: 'ms', axis: 'registered jobs', series, logX: true }) }
}

function soakChart({ name, seconds, windows }) {
  const title = 'soak: start lag p99 over time'
  const minute = seconds / 60 / windows.length
  const points = windows.map(({ p99 }, at) => [round((at + 1) * minute), p99 ?? 0])
  const pinned = windows.flatMap((window, at) => (window.pinned ? [at] : []))
  const shaded =
    pinned.length === 0 ? null : [round((pinned[0] + 1) * minute), round((pinned.at(-1) + 1) * minute)]
  const axis = 'minutes; shaded: a transaction stays open'
  return {
    name,
    title,
    svg: lineChart({ title, unit: 'ms', axis, series: [{ name: 'p99', points }], shaded }),
  }
}

function failoverChart({ name, ours }) {
  const title = 'failover: time without an owner'
  const groups = ['kill', 'term', 'stop'].map((signal) => ({
    label: { kill: 'kill -9', term: 'SIGTERM', stop: 'SIGSTOP' }[signal],
    bars: ['p50', 'p99', 'max'].map((share) => ({ name: share, value: ours[signal].gap_ms[share] })),
  }))
  return { name, title, svg: barChart({ title, unit: 'ms, less is better', groups }) }
}

const round = (value) => Math.round(value * 10) / 10
