import { editDistance } from '../config/edit-distance.js'

/** Longer than any name we have: not worth comparing, and the comparison is quadratic. */
const longestCompared = 64

/** The known name that was probably meant, if one is near enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > longestCompared) return undefined
  const wanted = inSnakeCase(given)
  const ranked = known
    .map((name) => ({ name, distance: editDistance(wanted, inSnakeCase(name)) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  if (best !== undefined && best.distance <= Math.max(1, Math.floor(wanted.length / 3))) return best.name
  return known.find((name) => shareWholeWords(wanted, inSnakeCase(name)))
}

function inSnakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
}

/** `retries` for `max_retries`, `timeout_ms` for `timeout_seconds`. */
function shareWholeWords(a: string, b: string): boolean {
  const words = new Set(b.split('_'))
  return a.split('_').some((word) => word.length > 3 && words.has(word))
}
