import { expect, test } from 'vitest'
import { withBreak, withPoint } from './live.js'
import { lineOf, noPieces, shownMinutes, stepSeconds, withPieces } from './pieces.js'
import { statsPieces } from '@carillon/contract'

const begin = Date.parse('2026-11-16T09:00:00Z')
const text = (seconds: number) => new Date(begin + seconds * 1_000).toISOString()
const counts = (fired: number) => ({ fired, success: fired, failed: 0, dead: 0, skipped: 0, lag_ms: null })
const told = (through: number, ...pieces: [at: number, fired: number][]) => ({
  through: text(through),
  data: pieces.map(([at, fired]) => ({ at: text(at), counts: counts(fired) })),
})
const shown = (pieces: Parameters<typeof lineOf>[0]) =>
  lineOf(pieces).flatMap(({ at, counts: one }) => (one === null ? [] : [[at - begin / 1_000, one.fired]]))

test('what the server tells piece by piece is what is shown', () => {
  expect({ stepSeconds, minutes: shownMinutes }).toEqual(statsPieces)
})

test('a stream that begins before the history is there leaves no gap, whichever comes first', () => {
  const stream = told(105, [95, 2], [100, 3])
  const history = told(103, [85, 1], [95, 2], [100, 1])
  const line = [
    [85, 1],
    [95, 2],
    [100, 3],
  ]
  expect(shown(withPieces(withPieces(noPieces, stream), history))).toEqual(line)
  expect(shown(withPieces(withPieces(noPieces, history), stream))).toEqual(line)
})

test('a piece that is not counted to its end is not shown', () => {
  expect(shown(withPieces(noPieces, told(103, [95, 2], [100, 1])))).toEqual([[95, 2]])
})

test('the line goes to zero where nothing ended, has one length, and forgets what it no longer shows', () => {
  const old = withPieces(noPieces, told(10, [0, 7]))
  expect(lineOf(old)).toHaveLength(240)
  expect(lineOf(old).at(-1)).toEqual({ at: begin / 1_000 + 5, counts: null })
  const later = withPieces(old, told(20 * 60 + 5, [20 * 60, 1]))
  expect(shown(later)).toEqual([[1200, 1]])
  expect(later.counts.size).toBe(1)
  expect(lineOf(noPieces)).toEqual([])
})

const queue = { ready: 1, running: 2, waiting: 5, waiting_retry: 3, parked: 4, oldest_ready_ms: null }
const numbers = (seconds: number) => ({ now: text(seconds), queue })

test('the line of the queue breaks where nobody looked, never goes back, and begins anew after the clock did', () => {
  let points = withPoint([], numbers(10))
  points = withBreak(withPoint(points, numbers(10)))
  points = withBreak(points)
  expect(points.map(({ ready }) => ready)).toEqual([1, null])
  // Counted before the break: the same numbers again.
  points = withPoint(points, numbers(10))
  points = withPoint(points, numbers(40))
  expect(points.map(({ ready, waiting }) => [ready, waiting])).toEqual([
    [1, 12],
    [null, null],
    [1, 12],
  ])
  const times = points.map(({ at }) => at)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(withPoint(points, numbers(-60))).toHaveLength(1)
})
