import { expect, it } from 'vitest'
import type { Output } from '../output/output.js'
import { lineOf, Steps } from './steps.js'

function noting(json = false) {
  const lines: string[] = []
  return { lines, output: { json, note: (text: string) => lines.push(text) } as unknown as Output }
}

it('says percent, rate and time left', () => {
  expect(lineOf('jobs', 420_000, 1_000_000, 12_000)).toBe(
    'jobs  42 %  420,000 of 1,000,000  35000/s  17 s left',
  )
  expect(lineOf('jobs', 0, 10, 0)).toBe('jobs  0 %  0 of 10')
  expect(lineOf('jobs', 10, 10, 1_000)).toBe('jobs  100 %  10 of 10  10/s')
})

it('writes a line now and then into a log, and always the last of a step', () => {
  let now = 0
  const { lines, output } = noting()
  const steps = new Steps(output, false, 5_000, () => now)
  for (const done of [0, 1, 2, 3, 4, 5]) {
    steps.to('jobs', done, 5)
    now += 3_000
  }
  steps.to('indexes', 1, 1)
  expect(lines.map((line) => line.split('  ').slice(0, 3).join(' '))).toEqual([
    'jobs 40 % 2 of 5',
    'jobs 80 % 4 of 5',
    'jobs 100 % 5 of 5',
    'indexes 100 % 1 of 1',
  ])
})

it('says nothing beside --json', () => {
  const { lines, output } = noting(true)
  new Steps(output, false).to('jobs', 5, 5)
  expect(lines).toEqual([])
})
