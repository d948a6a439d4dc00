import Table from 'cli-table3'
import { displayWidth } from './display-width.js'
import type { Look } from './look.js'

export interface Column<Row> {
  readonly title: string
  /** Plain text in one line. */
  readonly cell: (row: Row) => string
  readonly paint?: (text: string, row: Row) => string
  /** How narrow it may become where the terminal is; a column without this is never cut. */
  readonly least?: number
  /** Left out where even the narrowest columns do not fit; 'first' before others, and of equals the rightmost. */
  readonly optional?: true | 'first'
}

const gap = 2
const noLines = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
}

/** An aligned table without lines, as wide as the terminal allows. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  look: Pick<Look, 'colors' | 'width'>,
): string {
  const natural = columns.map((column) =>
    Math.max(displayWidth(column.title), ...rows.map((row) => displayWidth(column.cell(row)))),
  )
  const { shown, widths } = fit(columns, natural, look.width)
  const table = new Table({
    chars: noLines,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gap },
    colWidths: widths.map((width) => width + gap),
  })
  table.push(shown.map((column) => look.colors.dim(column.title)))
  for (const row of rows) {
    table.push(
      shown.map((column) => {
        const text = column.cell(row)
        return column.paint?.(text, row) ?? text
      }),
    )
  }
  return table
    .toString()
    .split('\n')
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

/** Narrows the widest column that may be narrowed, again and again; drops columns where that does not do. */
function fit<Row>(columns: readonly Column<Row>[], natural: readonly number[], available: number) {
  let shown = [...columns]
  let widths = [...natural]
  for (;;) {
    narrow(shown, widths, available)
    const first = shown.findLastIndex((column) => column.optional === 'first')
    const drop = first === -1 ? shown.findLastIndex((column) => column.optional) : first
    if (total(widths) <= available || drop === -1) return { shown, widths }
    shown = shown.filter((_column, at) => at !== drop)
    widths = shown.map((column) => natural[columns.indexOf(column)] ?? 0)
  }
}

function narrow<Row>(shown: readonly Column<Row>[], widths: number[], available: number): void {
  while (total(widths) > available) {
    let widest = -1
    for (const [at, column] of shown.entries()) {
      const width = widths[at] ?? 0
      if (column.least !== undefined && width > column.least && width > (widths[widest] ?? 0)) widest = at
    }
    if (widest === -1) return
    widths[widest] = (widths[widest] ?? 0) - 1
  }
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + gap, -gap)
}
