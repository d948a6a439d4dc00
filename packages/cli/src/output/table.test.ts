import { stripVTControlCharacters } from 'node:util'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import { displayWidth } from './display-width.js'
import { type Column, renderTable } from './table.js'

interface Row {
  name: string
  state: string
  id: string
}

const columns: Column<Row>[] = [
  { title: 'NAME', cell: (row) => row.name, least: 6 },
  { title: 'STATE', cell: (row) => row.state, paint: (text) => pc.createColors(true).green(text) },
  { title: 'ID', cell: (row) => row.id, optional: true },
]
const rows: Row[] = [
  { name: 'short', state: 'active', id: 'job_1' },
  { name: 'a name that is rather long', state: 'ended', id: 'job_2' },
]

function lines(width: number, colored = false, shown = rows): string[] {
  const table = renderTable(columns, shown, { width, colors: pc.createColors(colored) })
  return stripVTControlCharacters(table).split('\n').slice(0, -1)
}

describe('renderTable', () => {
  it('aligns columns and cuts nothing where there is room', () => {
    expect(lines(Number.POSITIVE_INFINITY)).toEqual([
      'NAME                        STATE   ID',
      'short                       active  job_1',
      'a name that is rather long  ended   job_2',
    ])
  })

  it('narrows the columns that may be narrowed to fit', () => {
    expect(lines(24)).toEqual([
      'NAME       STATE   ID',
      'short      active  job_1',
      'a name t…  ended   job_2',
    ])
  })

  it('leaves out an optional column when narrowing is not enough, and uses the room it gives back', () => {
    expect(lines(18)).toEqual(['NAME        STATE', 'short       active', 'a name th…  ended'])
  })

  it('is never wider than asked down to the least it can do', () => {
    for (let width = 14; width < 60; width++) {
      for (const line of lines(width, true)) expect(displayWidth(line)).toBeLessThanOrEqual(width)
    }
  })

  it('keeps columns aligned beside wide characters', () => {
    const [, first, second] = lines(60, false, [
      { name: '日本', state: 'active', id: '1' },
      { name: 'abcd', state: 'active', id: '2' },
    ])
    expect(first).toBe('日本  active  1')
    expect(second).toBe('abcd  active  2')
  })

  it('has nothing but its titles without rows', () => {
    expect(lines(60, false, [])).toEqual(['NAME  STATE  ID'])
  })
})

describe('displayWidth', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['😀', 2],
    ['✓ ok', 4],
  ])('of %s is %i', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })
})
