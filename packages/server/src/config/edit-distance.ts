/** How many letters must be inserted, removed, replaced or swapped with their neighbour to turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = at(previous, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1)
      let best = Math.min(replaced, at(previous, column) + 1, at(current, column - 1) + 1)
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        best = Math.min(best, at(beforePrevious, column - 2) + 1)
      }
      current.push(best)
    }
    beforePrevious = previous
    previous = current
  }
  return at(previous, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
