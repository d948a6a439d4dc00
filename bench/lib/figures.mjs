// Numbers: percentiles of one run, medians over the repeats, ratios of ours to theirs.

/** Wall time in milliseconds with fractions, the same for every process of a machine. */
export const now = () => performance.timeOrigin + performance.now()

export function round(value, digits = 1) {
  if (value === null || value === undefined || !Number.isFinite(value)) return null
  const factor = 10 ** digits
  return Math.round(value * factor) / factor
}

/** p50, p95, p99 and max of what was measured; null where nothing was. */
export function percentiles(values) {
  const sorted = Float64Array.from(values).sort()
  const at = (share) =>
    sorted.length === 0 ? null : round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))])
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

/**
 * The same of what is on record in whole milliseconds, rounded down: values of one millisecond are taken to lie evenly within it. Otherwise two
 * runs whose lags differ by a hair would differ by a whole millisecond, which of four is a quarter.
 */
export function percentilesOfWhole(values) {
  const sorted = Float64Array.from(values).sort()
  const at = (share) => {
    if (sorted.length === 0) return null
    const rank = share * sorted.length
    const value = sorted[Math.min(sorted.length - 1, Math.floor(rank))]
    const below = sorted.indexOf(value)
    const alike = sorted.lastIndexOf(value) - below + 1
    return round(value + (rank - below) / alike)
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

export function median(values) {
  const sorted = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b)
  if (sorted.length === 0) return null
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** One object of medians out of one per repeat: every number that they hold, at every depth. */
export function medians(repeats) {
  const [first] = repeats
  return Object.fromEntries(
    Object.entries(first).map(([name, value]) => {
      const all = repeats.map((each) => each[name])
      if (typeof value === 'number' || value === null) return [name, round(median(all), 3)]
      if (typeof value === 'object' && !Array.isArray(value))
        return [name, medians(all.filter((each) => typeof each === 'object' && each !== null))]
      return [name, value]
    }),
  )
}

/** A figure by its path, such as `lag_ms.p99`. */
export function figureAt(figures, path) {
  return path.split('.').reduce((part, name) => part?.[name], figures) ?? null
}

export function ratio(ours, theirs) {
  if (ours === null || theirs === null || ours === undefined || theirs === undefined || theirs === 0)
    return null
  return round(ours / theirs, 2)
}
