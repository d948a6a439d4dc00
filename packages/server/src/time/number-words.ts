import { listText } from './iso-text.js'

/** How a field's values lie: people say "every 5", "from 9 to 17" or a list. */
export type Pattern =
  | { readonly kind: 'all' }
  | { readonly kind: 'one'; readonly value: number }
  /** From the least value on to the end of the field. */
  | { readonly kind: 'step'; readonly by: number }
  /** May run over the end of the field. */
  | { readonly kind: 'range'; readonly first: number; readonly last: number }
  | { readonly kind: 'list'; readonly values: readonly number[] }

/** `values` ascend within a field of `size` values from `min` on. */
export function patternOf(values: readonly number[], min: number, size: number): Pattern {
  const [first = min, second = first] = values
  if (values.length === size) return { kind: 'all' }
  if (values.length === 1) return { kind: 'one', value: first }
  const by = second - first
  const even = values.every((value, index) => value === first + index * by)
  if (even && by > 1 && first === min && (values.at(-1) ?? 0) + by >= min + size) return { kind: 'step', by }
  if (values.length > 2) {
    // Where a range runs over the end, its values lie at both ends of the field, with one hole between them.
    const breaks = values.filter((value, index) => index > 0 && value !== (values[index - 1] ?? 0) + 1)
    const [start] = breaks
    if (start === undefined) return { kind: 'range', first, last: values.at(-1) ?? first }
    if (breaks.length === 1 && first === min && values.at(-1) === min + size - 1) {
      return { kind: 'range', first: start, last: values[values.indexOf(start) - 1] ?? first }
    }
  }
  return { kind: 'list', values }
}

/** 1st, 2nd, 3rd, 11th, 22nd. */
export function ordinal(value: number): string {
  const tens = value % 100
  const suffix = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th')
  return `${value}${suffix}`
}

const nthWords = ['', 'first', 'second', 'third', 'fourth', 'fifth']

/** first … fifth; last, second to last … for those that count from the end. */
export function nthWord(nth: number): string {
  if (nth === -1) return 'last'
  const word = nthWords[Math.abs(nth)] ?? ordinal(Math.abs(nth))
  return nth < 0 ? `${word} to last` : word
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

export function weekdayWord(weekday: number): string {
  return weekdays[weekday % 7] ?? ''
}

/** "Monday", "Monday to Friday", "Monday, Wednesday and Friday"; weeks begin on Monday. */
export function weekdayWords(values: readonly number[], last: 'and' | 'or' = 'and'): string {
  const fromMonday = values.map((value) => (value + 6) % 7).sort((left, right) => left - right)
  const word = (value: number) => weekdayWord(value + 1)
  const pattern = patternOf(fromMonday, 0, 7)
  if (pattern.kind === 'range') return `${word(pattern.first)} to ${word(pattern.last)}`
  return listText(fromMonday.map(word), last)
}

export function monthWords(values: readonly number[]): string {
  const word = (value: number) => months[value - 1] ?? ''
  const pattern = patternOf(values, 1, 12)
  if (pattern.kind === 'range') return `${word(pattern.first)} to ${word(pattern.last)}`
  return listText(values.map(word))
}

/** "the 1st", "the 1st and 15th", "the 1st to 7th". */
export function dayWords(values: readonly number[]): string {
  const pattern = patternOf(values, 1, 31)
  if (pattern.kind === 'range') return `the ${ordinal(pattern.first)} to ${ordinal(pattern.last)}`
  if (pattern.kind === 'step') return `every ${ordinal(pattern.by)} day from the 1st`
  return `the ${listText(values.map(ordinal))}`
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** "minute", "5 minutes", "1 hour 30 minutes": what stands after "every". */
export function periodWords(ms: number): string {
  let rest = Math.round(ms / 1000)
  const words: string[] = []
  for (const [unit, seconds] of units) {
    const count = Math.floor(rest / seconds)
    rest -= count * seconds
    if (count > 0) words.push(count === 1 ? `1 ${unit}` : `${count} ${unit}s`)
  }
  const [only = ''] = words
  return words.length === 1 ? only.replace(/^1 /, '') : words.join(' ')
}
