import { countUnlessSkipped, isGap, isSkipped, isTick, type Life, stretchAt, ticksOf } from './life.js'
import { type JobRecords, type LedgerRecord, noTickRecords } from './records.js'
import type { Tally } from './tally.js'
import { judge, type Verdict } from './verdict.js'
import { utcText } from '../../time/iso-text.js'

export interface AuditSlice {
  /** from <= tick < to */
  from: number
  to: number
  /** The first slice of a verification also looks at ranges that began before it. */
  first: boolean
  lateToleranceMs: number
  /** The zone data that ticks are computed with here. */
  zoneData: string
}

/** A shift of the clocks moves a tick by hours, never by a day. */
const mostShiftMs = 24 * 3_600_000

/** Compares the ticks that a job should have in a slice of time with what is on record. Pure. */
export function auditJob(life: Life, records: JobRecords, slice: AuditSlice, tally: Tally): void {
  const expected = [...ticksOf(life, slice.from, Math.min(slice.to - 1, life.end))]
  const strays = addRecorded(life, records, expected)
  const unaccounted = new Set<number>()
  const verdicts = new Map<number, Verdict>()
  for (const [tick, ranges] of withRanges(expected, records.ranges)) {
    const asked = isSkipped(life, tick)
    const replays = asked
      ? []
      : records.replays.filter(({ cursor_ms, to_ms }) => cursor_ms <= tick && tick <= to_ms)
    const evidence = {
      tick,
      records: records.byTick.get(tick) ?? noTickRecords(),
      ranges: asked ? [] : ranges,
      replays,
    }
    const verdict = judge(life, evidence, slice.lateToleranceMs)
    verdicts.set(tick, verdict)
    if (verdict.became === 'unaccounted') unaccounted.add(tick)
  }
  pairMoved({ life, records, slice, tally, strays, unaccounted, verdicts })
  for (const [tick, verdict] of verdicts) {
    tally.add(verdict)
    if (verdict.doubled !== null)
      tally.find(life, tick, 'doubled', `On record more than once: ${verdict.doubled}.`)
    if (verdict.became === 'unaccounted') tally.find(life, tick, 'unaccounted', lost(life, tick))
  }
  for (const due of [...strays].sort((a, b) => a - b)) {
    tally.counts.unexpected++
    tally.find(life, due, 'unexpected', 'There is a record, but no schedule of the job names this instant.')
  }
  auditRanges(life, records.ranges, slice, tally)
  auditGaps(life, records.gaps, slice, tally)
}

/**
 * A tick after the end of a life is not owed, but one that ran all the same counts. Adds such ticks to the expected
 * ones; answers the instants with records that are no ticks at all.
 */
function addRecorded(life: Life, records: JobRecords, expected: number[]): Set<number> {
  const known = new Set(expected)
  const strays = new Set<number>()
  let added = false
  for (const [due, { finals, queued, letter }] of records.byTick) {
    if (known.has(due) || (finals.length === 0 && queued === null && letter === null)) continue
    if (isTick(life, due)) added = expected.push(due) > 0
    else strays.add(due)
  }
  if (added) expected.sort((a, b) => a - b)
  return strays
}

/** Each tick with the ranges that cover it; both come in order, so that each range is taken up once and let go once. */
function* withRanges(
  ticks: readonly number[],
  ranges: readonly LedgerRecord[],
): Generator<[number, LedgerRecord[]]> {
  let open: LedgerRecord[] = []
  let at = 0
  for (const tick of ticks) {
    for (let range = ranges[at]; range !== undefined && range.due <= tick; range = ranges[++at])
      open.push(range)
    if (open.length > 0) open = open.filter(({ due_to }) => due_to !== null && due_to >= tick)
    yield [tick, open]
  }
}

interface Moved {
  life: Life
  records: JobRecords
  slice: AuditSlice
  tally: Tally
  strays: Set<number>
  unaccounted: Set<number>
  verdicts: Map<number, Verdict>
}

/**
 * Ticks were computed with the zone data of their time. Where that was another release than ours, a tick without a
 * record and a record without a tick close to it are one tick, which the new data puts elsewhere.
 */
function pairMoved({ life, records, slice, tally, strays, unaccounted, verdicts }: Moved): void {
  for (const tick of unaccounted) {
    const stretch = stretchAt(life, tick)
    if (stretch === undefined || stretch.zoneData === slice.zoneData) continue
    const moved = [...strays]
      .filter((due) => Math.abs(due - tick) < mostShiftMs && stretch.from < due && due <= stretch.to)
      .sort((a, b) => Math.abs(a - tick) - Math.abs(b - tick))[0]
    const found = moved === undefined ? undefined : records.byTick.get(moved)
    if (moved === undefined || found === undefined) continue
    strays.delete(moved)
    const evidence = { tick: moved, records: found, ranges: [], replays: [] }
    verdicts.set(tick, judge(life, evidence, slice.lateToleranceMs))
    tally.counts.tz_changed++
    const detail = `Zone data ${stretch.zoneData} put this tick at ${utcText(moved)}, where its record is; ${slice.zoneData} puts it here.`
    tally.find(life, tick, 'tz_changed', detail)
  }
}

function lost({ row }: Life, tick: number): string {
  if (row.accounted_through === null) return 'No record, and the job has no cursor.'
  if (tick <= row.accounted_through)
    return 'No record, although the cursor says that every tick up to here is accounted for.'
  const cursor = row.due === null ? 'has ended' : `stands at ${utcText(row.due)}`
  return `No record, and the cursor, which ${cursor}, has jumped over it.`
}

function auditRanges(life: Life, ranges: readonly LedgerRecord[], slice: AuditSlice, tally: Tally): void {
  for (const { due, due_to, ticks } of ranges) {
    // Each range is looked at once, where it begins.
    if (due_to === null || (due < slice.from && !slice.first)) continue
    const counted = countUnlessSkipped(life, due, due_to)
    const to = utcText(due_to)
    if (counted !== ticks) {
      tally.counts.wrong_count++
      tally.find(
        life,
        due,
        'wrong_count',
        `The record up to ${to} counts ${ticks} ticks; the schedule has ${counted}.`,
      )
    }
    for (const end of new Set([due, due_to])) {
      if (isTick(life, end)) continue
      tally.counts.unexpected++
      tally.find(
        life,
        end,
        'unexpected',
        'A range of skipped ticks begins or ends where the schedule has no tick.',
      )
    }
  }
}

function auditGaps(life: Life, gaps: readonly LedgerRecord[], slice: AuditSlice, tally: Tally): void {
  for (const { due } of gaps) {
    const stretch = stretchAt(life, due)
    if (isGap(life, due) || (stretch !== undefined && stretch.zoneData !== slice.zoneData)) continue
    tally.counts.unexpected++
    tally.find(life, due, 'unexpected', 'A record says that the clocks jumped over a tick; they did not.')
  }
}
