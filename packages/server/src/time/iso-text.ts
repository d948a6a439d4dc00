import { dateText, dayMs, dayOf, hourMs, minuteMs } from './civil.js'

/** An instant in UTC: 2026-10-24T00:30:00Z, with milliseconds only where there are some. */
export function utcText(instant: number): string {
  return `${wallText(instant)}Z`
}

/** What a clock that is ahead of UTC by `offset` shows at an instant: 2026-10-24T02:30:00+02:00. */
export function localText(instant: number, offset: number): string {
  return `${wallText(instant + offset)}${offsetText(offset)}`
}

function wallText(wall: number): string {
  return new Date(wall).toISOString().slice(0, -1).replace('.000', '')
}

function offsetText(offset: number): string {
  const size = Math.abs(offset)
  const parts = [Math.floor(size / hourMs), Math.floor(size / minuteMs) % 60, Math.floor(size / 1000) % 60]
  // Few zones ever had an offset with seconds, and none has one today.
  const shown = parts[2] === 0 ? parts.slice(0, 2) : parts
  return `${offset < 0 ? '-' : '+'}${shown.map((part) => String(part).padStart(2, '0')).join(':')}`
}

/** A time of day: 02:30, with seconds only where there are some. */
export function clockText(timeOfDay: number): string {
  return new Date(timeOfDay)
    .toISOString()
    .slice(11, 23)
    .replace(/(:00)?\.000$/, '')
}

/** The time of day of a reading on the wall. */
export function clockOf(wall: number): string {
  return clockText(wall - dayOf(wall) * dayMs)
}

/** The same with its date, "02:30 on 2026-03-29". */
export function clockAndDate(wall: number): string {
  return `${clockOf(wall)} on ${dateText(dayOf(wall))}`
}

/** Words in a row: "a, b and c". */
export function listText(words: readonly string[], last: 'and' | 'or' = 'and'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}

const mostListed = 3

/** The first words of a row, and how many more there are; with `cut`, there may be more than those given. */
export function shortList(words: readonly string[], cut = false): string {
  if (words.length <= mostListed + 1 && !cut) return listText(words)
  return `${words.slice(0, mostListed).join(', ')} and ${cut ? 'at least ' : ''}${words.length - mostListed} more`
}
