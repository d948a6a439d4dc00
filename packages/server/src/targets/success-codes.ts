/** A job's own idea of success: statuses (204), classes ("2xx") and ranges ("200-204"). */
export type SuccessCodes = readonly (number | string)[]

type Range = readonly [from: number, to: number]

const usual: Range = [200, 299]

/** Whether a status counts as success. What cannot be read counts for nothing; it was refused at registration. */
export function isSuccess(codes: SuccessCodes | undefined, status: number): boolean {
  const ranges = codes === undefined ? [usual] : codes.map(rangeOf)
  return ranges.some((range) => range !== undefined && status >= range[0] && status <= range[1])
}

/** Undefined for what names no final status: 1xx answers are only announcements of another one. */
export function rangeOf(code: unknown): Range | undefined {
  const text = String(code).toLowerCase()
  const family = /^([2-5])xx$/.exec(text)
  if (family !== null) return [Number(family[1]) * 100, Number(family[1]) * 100 + 99]
  const numbers = /^([2-5]\d\d)(?:-([2-5]\d\d))?$/.exec(text)
  if (numbers === null) return undefined
  const from = Number(numbers[1])
  const to = Number(numbers[2] ?? numbers[1])
  return from <= to ? [from, to] : undefined
}
