// Charts as SVG text, drawn here: a few rectangles and lines need no library. Readable on light and on dark pages.
const width = 760
const labelWidth = 170
const right = 90
const palette = ['#2563eb', '#9ca3af', '#b6a58c', '#8fa6a0', '#c4b5fd', '#d1d5db']
const style = `text{font:12px system-ui,sans-serif;fill:#1f2937}.t{font-size:14px;font-weight:600}.s{fill:#6b7280}
line{stroke:#d1d5db}@media(prefers-color-scheme:dark){text{fill:#e5e7eb}.s{fill:#9ca3af}line{stroke:#4b5563}}`

/**
 * Horizontal bars in groups. `groups`: [{ label, bars: [{ name, value, note? }] }]; a bar without a value is told as such.
 * `log`: where values lie far apart.
 */
export function barChart({ title, unit, groups, log = false }) {
  const values = groups.flatMap(({ bars }) => bars.map(({ value }) => value)).filter((value) => value > 0)
  const top = Math.max(...values, 1)
  const bottom = log ? Math.min(...values, top) / 2 : 0
  const scale = (value) =>
    (log ? Math.log(value / bottom) / Math.log(top / bottom) : value / top) * (width - labelWidth - right)
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))]
  const parts = []
  let y = 48
  for (const { label, bars } of groups) {
    if (label !== '') {
      parts.push(text(0, y + 10, label, 's'))
      y += 18
    }
    for (const { name, value, note } of bars) {
      const known = typeof value === 'number'
      const length = known && value > 0 ? Math.max(1, scale(value)) : 0
      parts.push(text(labelWidth - 8, y + 13, name, '', 'end'))
      parts.push(
        `<rect x="${labelWidth}" y="${y}" width="${round(length)}" height="18" rx="2" fill="${palette[names.indexOf(name) % palette.length]}"/>`,
      )
      parts.push(text(labelWidth + length + 6, y + 13, known ? number(value) : (note ?? 'not done')))
      y += 23
    }
    y += 8
  }
  const scaleNote = log ? `${unit}, logarithmic` : unit
  return svg(y + 4, [text(0, 16, title, 't'), text(0, 34, scaleNote, 's'), ...parts])
}

/** Lines over a common axis. `series`: [{ name, points: [[x, y], …] }]; `shaded`: [from, to] on the axis. */
export function lineChart({ title, unit, axis, series, shaded = null, logX = false }) {
  const height = 260
  const [left, top, bottom] = [60, 50, height - 40]
  const xs = series.flatMap(({ points }) => points.map(([x]) => x))
  const ys = series.flatMap(({ points }) => points.map(([, y]) => y))
  const [low, high, most] = [Math.min(...xs), Math.max(...xs), Math.max(...ys, 1)]
  const along = (x) => (logX ? Math.log10(x) : x)
  const span = along(high) - along(low) || 1
  const px = (x) => left + ((along(x) - along(low)) / span) * (width - left - right)
  const py = (y) => bottom - (y / most) * (bottom - top)
  const parts = []
  if (shaded !== null)
    parts.push(
      `<rect x="${round(px(shaded[0]))}" y="${top}" width="${round(px(shaded[1]) - px(shaded[0]))}" height="${bottom - top}" fill="#f59e0b" opacity="0.15"/>`,
    )
  for (const share of [0, 0.5, 1]) {
    parts.push(
      `<line x1="${left}" x2="${width - right}" y1="${round(py(most * share))}" y2="${round(py(most * share))}"/>`,
    )
    parts.push(text(left - 6, py(most * share) + 4, number(most * share), 's', 'end'))
  }
  for (const x of [...new Set(logX ? xs : [low, (low + high) / 2, high])])
    parts.push(text(px(x), bottom + 18, number(x), 's', 'middle'))
  series.forEach(({ name, points }, at) => {
    const path = points.map(([x, y]) => `${round(px(x))},${round(py(y))}`).join(' ')
    parts.push(
      `<polyline points="${path}" fill="none" stroke="${palette[at % palette.length]}" stroke-width="2"/>`,
    )
    const [lastX, lastY] = points.at(-1)
    parts.push(text(px(lastX) + 6, py(lastY) + 4, name))
  })
  return svg(height, [text(0, 16, title, 't'), text(0, 34, `${unit}; ${axis}`, 's'), ...parts])
}

function svg(height, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${Math.round(height)}" role="img"><style>${style}</style>\n${parts.join('\n')}\n</svg>\n`
}

function text(x, y, content, kind = '', anchor = 'start') {
  const safe = String(content).replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign])
  return `<text x="${round(x)}" y="${round(y)}"${kind === '' ? '' : ` class="${kind}"`}${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}>${safe}</text>`
}

const round = (value) => Math.round(value * 10) / 10

function number(value) {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}
