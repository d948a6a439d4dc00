import type { JobDefinition } from '@carillon/contract'
import { wholeDefinition } from '../../src/db/stored-definition.js'
import { type CalendarSet, parseSchedule, type Schedule } from '../../src/time/schedule.js'
import { ledgerOf, replaysOf } from './rows.js'
import type { House } from './use-house.js'

/** A stretch of a job's life with one rule: ticks after `from`, up to and including `to`. */
interface Stretch {
  from: number
  to: number
  schedule: Schedule
}

interface StretchRow {
  from_ms: number
  definition: JobDefinition
  calendars: CalendarSet | null
}

/** The stretches of a job's life from its first tick to its cursor, each with the rule that applied. */
async function stretchesOf(house: House, job: { key: number }): Promise<Stretch[]> {
  const rows = await house.query<StretchRow>(
    `SELECT s.from_ms, coalesce(v.definition, j.definition) AS definition, s.calendars
     FROM carillon.segments s
     JOIN carillon.jobs j ON j.job = s.job
     LEFT JOIN carillon.job_versions v ON v.job = s.job AND v.version = s.version AND v.version <> j.version
     WHERE s.job = $1
     UNION ALL
     SELECT j.effective_from, j.definition, (SELECT jsonb_object_agg(c.name, c.definition) FROM carillon.calendars c)
     FROM carillon.jobs j WHERE j.job = $1
     ORDER BY from_ms`,
    [job.key],
  )
  const [timer] = await house.query<{ accounted_through: number }>(
    'SELECT accounted_through FROM carillon.timers WHERE job = $1',
    [job.key],
  )
  return rows.map(({ from_ms: from, definition, calendars }, at) => ({
    from,
    to: rows[at + 1]?.from_ms ?? timer?.accounted_through ?? from,
    schedule: parseSchedule({ ...wholeDefinition(definition), calendars: calendars ?? {} }),
  }))
}

function ticksOf(schedule: Schedule, after: number, to: number): number[] {
  const ticks: number[] = []
  for (let tick = schedule.next(after); tick !== null && tick <= to; tick = schedule.next(tick))
    ticks.push(tick)
  return ticks
}

/**
 * What is wrong with the account of a job that was changed, at any moment: every tick that its stretches name up to the
 * cursor is in the queue, in the ledger or in what is left of a replay, in exactly one of them, and nothing else is.
 */
export async function faultsInLives(house: House, job: { key: number }): Promise<string[]> {
  const stretches = await stretchesOf(house, job)
  const expected = new Set(stretches.flatMap(({ schedule, from, to }) => ticksOf(schedule, from, to)))
  const places = new Map<number, string[]>()
  const put = (tick: number, place: string) => places.set(tick, [...(places.get(tick) ?? []), place])
  // A tick that is left out on request has a record of its own: no range and no replay stands for it.
  const asked = await house.query<{ due: number }>(
    "SELECT due FROM carillon.tick_changes WHERE job = $1 AND action = 'skip'",
    [job.key],
  )
  const leftOut = new Set(asked.map(({ due }) => due))
  const within = (from: number, to: number) => {
    const stretch = stretches.find((one) => one.from < from && from <= one.to)
    const ticks = stretch === undefined ? [from] : ticksOf(stretch.schedule, from - 1, to)
    return ticks.filter((tick) => tick === from || !leftOut.has(tick))
  }
  const queued = await house.query<{ due: number; holder: number | null; available_at: number }>(
    'SELECT due, holder, available_at FROM carillon.queue WHERE job = $1 AND origin = 0',
    [job.key],
  )
  const faults: string[] = []
  for (const { due } of queued) put(due, 'queue')
  const ledger = await house.query<{ origin: number }>(
    'SELECT origin FROM carillon.ledger WHERE job = $1 ORDER BY due, recorded_at, attempt, final',
    [job.key],
  )
  for (const [at, row] of (await ledgerOf(house, job)).entries()) {
    if (!row.final || ledger[at]?.origin !== 0) continue
    const ticks = row.due_to === null ? [row.due] : within(row.due, row.due_to)
    if (ticks.length !== row.ticks) faults.push(`${row.due} counts ${row.ticks} ticks, not ${ticks.length}`)
    for (const tick of ticks) put(tick, `${row.outcome} (${row.reason})`)
  }
  for (const { replay, kind, state, cursor_ms: cursor, to_ms: to, total, done } of await replaysOf(
    house,
    job,
  )) {
    if (kind !== 'catch_up') continue
    if (state !== 'running' && state !== 'paused') continue
    const left = within(cursor, to)
    if (left.length !== total - done)
      faults.push(`replay ${replay} has ${left.length} ticks left, not ${total - done}`)
    for (const tick of left) put(tick, 'replay')
  }
  return [
    ...faults,
    ...[...expected].filter((tick) => !places.has(tick)).map((tick) => `${tick} is nowhere`),
    ...[...places].flatMap(([tick, where]) => [
      ...(where.length > 1 ? [`${tick} is in ${where.join(' and ')}`] : []),
      ...(expected.has(tick) ? [] : [`${tick} is in ${where.join()} and is no tick up to the cursor`]),
    ]),
  ]
}
