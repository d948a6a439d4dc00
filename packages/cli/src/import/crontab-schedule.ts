import { createHash } from 'node:crypto'
import type { JobInput } from '@carillon/sdk'

export interface MappedSchedule {
  readonly schedule: JobInput['schedule']
  readonly notes: readonly string[]
}

/** Why a line's schedule has no counterpart. */
export interface Unmappable {
  readonly unmappable: string
}

const words: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
  '@every_minute': '* * * * *',
  '@every_second': '* * * * * *',
}

const ranges = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const

/** A crontab's schedule in Carillon's words. `seed` decides what cron would draw at random: the same at every import. */
export function scheduleOf(when: string, seed: string): MappedSchedule | Unmappable {
  if (when.startsWith('@')) return namedSchedule(when.toLowerCase())
  const fields = when.split(' ')
  const drawn = fields.map((field, at) => withoutRandom(field, ranges[at] ?? [0, 0], `${seed}:${at}`))
  const notes = fields.some((field) => field.includes('~'))
    ? [`"${when}" asks for a random moment; "${drawn.join(' ')}" was chosen for it, and stays`]
    : []
  const cron = drawn.join(' ')
  if (!bothDaysNeeded(drawn[2] ?? '', drawn[4] ?? '')) return { schedule: cron, notes }
  return {
    schedule: { cron, day_match: 'and' },
    notes: [
      ...notes,
      `"${when}" has a step over * beside another day field: cron then asks for both days, so day_match is "and"`,
    ],
  }
}

function namedSchedule(word: string): MappedSchedule | Unmappable {
  if (word === '@reboot') {
    return { unmappable: '@reboot runs when a machine starts, which is no instant of a schedule: left out' }
  }
  const schedule = words[word]
  if (schedule !== undefined) return { schedule, notes: [] }
  const seconds = /^@(\d+)$/.exec(word)?.[1]
  if (seconds === undefined) return { schedule: word, notes: [] }
  return {
    schedule: `@every ${seconds}s`,
    notes: [`${word} counts from the end of a run; "@every ${seconds}s" counts from tick to tick`],
  }
}

/** cronie's "0~59": one value of the range. */
function withoutRandom(field: string, [least, most]: readonly [number, number], seed: string): string {
  return field.replace(/(\d*)~(\d*)/g, (_all, from: string, to: string) => {
    const low = from === '' ? least : Number(from)
    const high = to === '' ? most : Number(to)
    const draw = createHash('sha256').update(seed).digest().readUInt32BE()
    return high < low ? `${low}-${high}` : String(low + (draw % (high - low + 1)))
  })
}

/**
 * Vixie's cron and its heirs look at the first character: a field that begins with * counts as unrestricted, also in
 * a step over it, and then both days have to fit. Carillon counts such a step as a restriction.
 */
function bothDaysNeeded(dayOfMonth: string, dayOfWeek: string): boolean {
  const isStep = (field: string) => field.startsWith('*') && !/^\*(\/1)?$/.test(field)
  const isRestricted = (field: string) => !/^(\*(\/1)?|\?)$/.test(field)
  return (isStep(dayOfMonth) && isRestricted(dayOfWeek)) || (isStep(dayOfWeek) && isRestricted(dayOfMonth))
}
