import { CarillonError } from '@carillon/contract'
import type { Schedule } from '../../time/schedule.js'

export interface BackfillRange {
  /** from <= tick < to */
  from: number
  to: number
  /** Every tick after this is the schedule's to decide yet. */
  accounted: number
}

/** How many ticks of a range are looked at, for one that is run. */
const timesMost = 10

/** Refuses a range with so many ticks that choosing among them would take too long. */
export function checkSize(schedule: Schedule, range: BackfillRange, most: number): void {
  const count = schedule.count(range.from, range.to - 1)
  if (count > most * timesMost) throw tooMany(count, most)
}

/** The ticks that a backfill runs, in order, and how many it leaves out. Pure. */
export function chooseTicks(
  schedule: Schedule,
  { from, to, accounted }: BackfillRange,
  taken: readonly { from_ms: number; to_ms: number }[],
  most: number,
): { ticks: number[]; excluded: number } {
  const single = new Set(taken.filter((one) => one.from_ms === one.to_ms).map((one) => one.from_ms))
  const ranges = taken.filter((one) => one.from_ms !== one.to_ms)
  const ticks: number[] = []
  let excluded = 0
  for (let tick = schedule.next(from - 1); tick !== null && tick < to; tick = schedule.next(tick)) {
    const at = tick
    const isTaken =
      at > accounted || single.has(at) || ranges.some(({ from_ms, to_ms }) => from_ms <= at && at <= to_ms)
    if (isTaken) excluded += 1
    else ticks.push(at)
  }
  if (ticks.length > most) throw tooMany(ticks.length, most)
  return { ticks, excluded }
}

function tooMany(count: number, most: number): CarillonError {
  return new CarillonError('too_many_ticks', {
    detail: `The range has ${count} ticks to run; one backfill runs at most ${most}.`,
    errors: [{ pointer: '/from', message: `must be later, so that at most ${most} ticks are run` }],
  })
}
