/** Lines in which two texts differ, by their longest common subsequence. Definitions are short: the plain table serves. */

export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

const mostLines = 600

export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split('\n')
  const young = after.split('\n')
  if (old.length > mostLines || young.length > mostLines) return replaced(old, young)
  const length = commonLengths(old, young)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && old[i] === young[j]) {
      lines.push({ kind: 'same', text: old[i++] ?? '' })
      j++
    } else if (j >= young.length || (i < old.length && at(length, i + 1, j) >= at(length, i, j + 1))) {
      lines.push({ kind: 'removed', text: old[i++] ?? '' })
    } else {
      lines.push({ kind: 'added', text: young[j++] ?? '' })
    }
  }
  return lines
}

function replaced(old: string[], young: string[]): DiffLine[] {
  return [
    ...old.map((text) => ({ kind: 'removed' as const, text })),
    ...young.map((text) => ({ kind: 'added' as const, text })),
  ]
}

const at = (table: number[][], i: number, j: number) => table[i]?.[j] ?? 0

/** How many lines the rests from (i, j) on have in common. */
function commonLengths(old: string[], young: string[]): number[][] {
  const table = Array.from({ length: old.length + 1 }, () => new Array<number>(young.length + 1).fill(0))
  for (let i = old.length - 1; i >= 0; i--) {
    const row = table[i]
    if (row === undefined) continue
    for (let j = young.length - 1; j >= 0; j--) {
      row[j] =
        old[i] === young[j] ? at(table, i + 1, j + 1) + 1 : Math.max(at(table, i + 1, j), row[j + 1] ?? 0)
    }
  }
  return table
}

/** With the keys of every object in one order, so that only what differs differs. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(ordered(value), null, 2) ?? 'null'
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, part]) => [key, ordered(part)]))
}
