import type { Metric, Registry } from 'prom-client'

/**
 * A histogram without labels, for what is told of every run: adding a value is a comparison or two and three additions, where the
 * library makes an object, a key and a closure for each. It is shown by the library as its own are.
 */
export class PlainHistogram {
  readonly type = 'histogram'
  readonly aggregator = 'sum'
  readonly labelNames: readonly string[] = []
  /** How many values lie at or below each bound and above the one before it; the last: above all of them. */
  private readonly counts: Float64Array
  private count = 0
  private sum = 0

  constructor(
    readonly name: string,
    readonly help: string,
    private readonly bounds: readonly number[],
    registry: Registry,
  ) {
    this.counts = new Float64Array(bounds.length + 1)
    registry.registerMetric(this as unknown as Metric)
  }

  observe(value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`${this.name}: ${value} is no number to be counted.`)
    const { bounds, counts } = this
    let at = 0
    while (at < bounds.length && value > (bounds[at] as number)) at += 1
    counts[at] = (counts[at] as number) + 1
    this.count += 1
    this.sum += value
  }

  reset(): void {
    this.counts.fill(0)
    this.count = 0
    this.sum = 0
  }

  /** As the library asks its metrics. */
  get() {
    const { name, help, type, aggregator, bounds, counts } = this
    let below = 0
    const buckets = bounds.map((le, at) => {
      below += counts[at] as number
      return { metricName: `${name}_bucket`, labels: { le }, value: below }
    })
    const values = [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { le: '+Inf' }, value: this.count },
      { metricName: `${name}_sum`, labels: {}, value: this.sum },
      { metricName: `${name}_count`, labels: {}, value: this.count },
    ]
    return Promise.resolve({ name, help, type, aggregator, values })
  }
}
