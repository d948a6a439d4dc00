import { useEffect, useRef } from 'react'
import type uPlot from 'uplot'

export interface Series {
  label: string
  hue: 'good' | 'bad' | 'busy' | 'warn' | 'quiet' | 'accent' | 'late'
  fill?: boolean
  values: readonly (number | null)[]
}

interface ChartProps {
  /** Seconds since the epoch. */
  times: readonly number[]
  series: readonly Series[]
  /** What the chart shows, for those who do not see it. */
  label: string
  height?: number
  /** 'ms': the axis is in durations. */
  unit?: 'ms' | 'count'
  zone: string
  points?: boolean
}

/** uPlot is loaded when the first chart is shown: the page itself does not wait for it. */
const library = () => import('../lib/uplot.js')

export function Chart({
  times,
  series,
  label,
  height = 150,
  unit = 'count',
  zone,
  points = false,
}: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const data = useRef<uPlot.AlignedData>([[]])
  data.current = [times, ...series.map(({ values }) => values)] as unknown as uPlot.AlignedData
  const shape = JSON.stringify([
    series.map(({ label: name, hue, fill }) => [name, hue, fill]),
    unit,
    zone,
    height,
    points,
  ])

  useEffect(() => {
    let gone = false
    let makePlot: Awaited<ReturnType<typeof library>>['makePlot'] | undefined
    const draw = () => {
      const element = place.current
      if (gone || element === null || makePlot === undefined) return
      plot.current?.destroy()
      plot.current = makePlot(element, { series, unit, zone, height, points }, data.current)
    }
    const redraw = () => draw()
    const watch = new ResizeObserver(() => {
      const width = place.current?.clientWidth ?? 0
      if (width > 0) plot.current?.setSize({ width, height })
    })
    if (place.current !== null) watch.observe(place.current)
    library().then(
      (loaded) => {
        makePlot = loaded.makePlot
        draw()
      },
      // An upgrade took the file away: the numbers beside it are shown all the same.
      () => undefined,
    )
    // Colours are read from the tokens when it is drawn: another theme draws anew.
    addEventListener('carillon:theme', redraw)
    return () => {
      gone = true
      removeEventListener('carillon:theme', redraw)
      watch.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
    // `shape` stands for the series: their values arrive with every look, and are set below.
  }, [shape])

  useEffect(() => {
    plot.current?.setData(data.current)
  })
  return (
    <figure className="chart" aria-label={`${label}: ${latest(series)}`}>
      <div ref={place} className={`chart-place h${height}`} aria-hidden="true" />
    </figure>
  )
}

function latest(series: readonly Series[]): string {
  return series
    .map(({ label, values }) => `${label} ${values.findLast((value) => value !== null) ?? 'none'}`)
    .join(', ')
}
