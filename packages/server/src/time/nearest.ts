/** Levenshtein distance with a row at a time. */
export function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1)
      const removed = (previous[column] ?? 0) + 1
      const added = (current[column - 1] ?? 0) + 1
      current.push(Math.min(replaced, removed, added))
    }
    previous = current
  }
  return previous[right.length] ?? 0
}

/**
 * The candidate closest to `word`, or null when none is close enough to be what was meant.
 * `spellings` gives the names under which a candidate may be known; the best of them counts.
 */
export function nearest(
  word: string,
  candidates: readonly string[],
  spellings: (candidate: string) => readonly string[] = (candidate) => [candidate],
): string | null {
  const wanted = word.toLowerCase()
  const longestDistance = Math.max(1, Math.floor(wanted.length / 3))
  let best: string | null = null
  let bestDistance = longestDistance + 1
  for (const candidate of candidates) {
    for (const spelling of spellings(candidate)) {
      if (Math.abs(spelling.length - wanted.length) >= bestDistance) continue
      const distance = editDistance(wanted, spelling.toLowerCase())
      if (distance < bestDistance) {
        best = candidate
        bestDistance = distance
      }
    }
  }
  return best
}
