import fc from 'fast-check'
import { Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { PlainHistogram } from './plain-histogram.js'

const bounds = [0.001, 0.01, 1, 60]

test('is shown as the histogram of the library is, whatever it was told', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constantFrom(0, ...bounds), fc.double({ min: -1, max: 100, noNaN: true }))),
      async (values) => {
        const [ours, theirs] = [new Registry(), new Registry()]
        const plain = new PlainHistogram('lag_seconds', 'How late', bounds, ours)
        const library = new Histogram({
          name: 'lag_seconds',
          help: 'How late',
          buckets: bounds,
          registers: [theirs],
        })
        for (const value of values) {
          plain.observe(value)
          library.observe(value)
        }
        expect(await ours.metrics()).toBe(await theirs.metrics())
      },
    ),
  )
})

test('what is no number is refused, and counts nothing', async () => {
  const registry = new Registry()
  const histogram = new PlainHistogram('lag_seconds', 'How late', bounds, registry)
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => histogram.observe(value)).toThrow('lag_seconds')
  expect(await registry.metrics()).toContain('lag_seconds_count 0')
})

test('begins anew with the others of its registry', async () => {
  const registry = new Registry()
  const histogram = new PlainHistogram('lag_seconds', 'How late', bounds, registry)
  histogram.observe(2)
  registry.resetMetrics()
  expect(await registry.metrics()).toContain('lag_seconds_sum 0')
})
