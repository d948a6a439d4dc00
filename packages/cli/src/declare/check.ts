import type { Declared, Place, Remark } from './declared.js'
import { placeText } from './declared.js'

interface Refusal {
  message: string
  errors: readonly { pointer: string; message: string; hint?: string }[]
}

/** What can be said about declared jobs without a server: before a diff is shown, and long before anything is written. */
export async function checkDeclared(declared: readonly Declared[], now: Date): Promise<Remark[]> {
  const engine = await import('@carillon/server/time')
  const anchor = now.getTime()
  const schedules = declared.flatMap((one) => {
    const { schedule, timezone = 'UTC', dst_gap, dst_overlap } = one.input
    try {
      engine.parseSchedule({ schedule, timezone, anchor, dst_gap, dst_overlap })
      return []
    } catch (error) {
      return refusalOf(one, error)
    }
  })
  return [...schedules, ...namedTwice(declared)]
}

function refusalOf(one: Declared, error: unknown): Remark[] {
  if (!(error instanceof Error) || error.name !== 'CarillonError') throw error
  const { message, errors } = error as Error & Refusal
  const [first] = errors
  return [
    {
      at: placeOf(one, first?.pointer ?? '/schedule'),
      kind: 'error',
      text: `${one.input.name}: ${message}`,
      ...(first?.hint !== undefined && { hint: first.hint }),
    },
  ]
}

function placeOf(one: Declared, pointer: string): Place {
  return one.placeOf?.(pointer) ?? one.at
}

/** One name is one job: which of two would hold is anybody's guess. */
function namedTwice(declared: readonly Declared[]): Remark[] {
  const first = new Map<string, Place>()
  return declared.flatMap((one): Remark[] => {
    const before = first.get(one.input.name)
    first.set(one.input.name, before ?? one.at)
    if (before === undefined) return []
    return [
      {
        at: one.at,
        kind: 'error',
        text: `${one.input.name}: the name is taken by ${placeText(before)}`,
        hint: 'Give one of them another name.',
      },
    ]
  })
}
