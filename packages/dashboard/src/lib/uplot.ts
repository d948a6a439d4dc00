import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Series } from '../ui/chart.js'
import { duration, short } from './format.js'

interface PlotOptions {
  series: readonly Series[]
  unit: 'ms' | 'count'
  zone: string
  height: number
  points: boolean
}

const token = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
const leastSeconds = 60
const font = '11px ui-sans-serif, system-ui, sans-serif'

export function makePlot(place: HTMLElement, options: PlotOptions, data: uPlot.AlignedData): uPlot {
  const { unit, zone, height, points } = options
  const written = (value: number | null) =>
    value === null ? '–' : unit === 'ms' ? duration(value) : short(value)
  const line = token('line')
  const axis: uPlot.Axis = {
    stroke: token('muted'),
    font,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  }
  return new uPlot(
    {
      width: Math.max(place.clientWidth, 100),
      height,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), zone),
      cursor: { y: false, points: { size: 5 } },
      legend: { live: true },
      padding: [8, 8, 0, 0],
      scales: {
        // A single point would be drawn on an axis of years.
        x: { range: (_, min, max) => (max - min < leastSeconds ? [max - leastSeconds, max] : [min, max]) },
        y: { range: (_, __, max) => [0, Math.max(max * 1.1, unit === 'ms' ? 10 : 1)] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 26, values: timesOf(zone) },
        { ...axis, size: 54, values: (_, splits) => splits.map(written) },
      ],
      series: [
        { label: 'Time', value: (_, at) => (at == null ? '–' : clockOf(zone)(at)) },
        ...options.series.map((one) => ({
          label: one.label,
          stroke: token(one.hue),
          width: 1.6,
          ...(one.fill === true && { fill: `${token(one.hue)}26` }),
          points: { show: points, size: 4 },
          value: (_: uPlot, value: number | null) => written(value),
        })),
      ],
    },
    data,
    place,
  )
}

const clocks = new Map<string, (seconds: number) => string>()
function clockOf(zone: string): (seconds: number) => string {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    ...({ timeZone: zone, hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false } as const),
  })
  const made = (seconds: number) => format.format(seconds * 1_000)
  clocks.set(zone, made)
  return made
}

function timesOf(zone: string): uPlot.Axis.Values {
  const clock = clockOf(zone)
  const days = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: '2-digit', month: 'short' })
  return (_, splits, __, ___, step) => {
    // Labels a day or more apart name the day; labels within a minute need the seconds.
    if (step >= 86_400) return splits.map((at) => days.format(at * 1_000))
    return splits.map((at) => (step < 60 ? clock(at) : clock(at).slice(0, 5)))
  }
}
