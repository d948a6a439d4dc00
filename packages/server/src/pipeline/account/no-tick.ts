import type { JobDefinition } from '@carillon/contract'
import { readInstant } from '../../time/instant.js'
import { timelineOf } from '../../time/timeline.js'
import { type Life, neighboursOf, stretchAt, usedUp } from './life.js'
import { explain } from './reasons.js'
import type { Answer } from './why-answer.js'
import { utc } from './words.js'

/** Why an instant is no tick that the job owes. */
export function whyNoTick(life: Life, at: number): Answer {
  const { row } = life
  const stretch = stretchAt(life, at)
  if (stretch === undefined) {
    return {
      verdict: 'no_tick',
      reason: 'before_registration',
      summary: `No tick: the job was registered at ${utc(row.created_at)}, after this instant${nearby(life, at)}.`,
      todo: null,
    }
  }
  const [dropped] = stretch.schedule.dropped(at - 1, at).filter((one) => one.at === at)
  if (dropped?.reason === 'excluded') {
    return {
      verdict: 'no_tick',
      reason: 'excluded',
      summary: `No tick: excluded by ${dropped.detail ?? 'its exclusions'}${nearby(life, at)}.`,
      todo: 'Take the entry out of `exclude`, or the date out of the calendar; on_excluded moves such ticks to another day.',
    }
  }
  if (dropped?.reason === 'dst_gap') {
    const { words, todo } = explain('dst_gap')
    return {
      verdict: 'no_tick',
      reason: 'dst_gap',
      summary: `No tick: ${words}${nearby(life, at)}.`,
      todo,
    }
  }
  return outside(stretch.definition, life, at) ?? plain(life, at)
}

/** A tick of the schedule that the job does not owe any more. */
export function whyAfterEnd(life: Life, at: number): Answer {
  const { row } = life
  const endedAt = row.ended_at === null ? '' : ` at ${utc(row.ended_at)}`
  if (usedUp(row) && at > (row.accounted_through ?? 0)) {
    const { todo } = explain('max_runs')
    const summary = `No tick: the job ended${endedAt}, after ${row.runs} runs of at most ${row.definition?.max_runs}.`
    return { verdict: 'no_tick', reason: 'max_runs', summary, todo }
  }
  if (row.cancelled_at !== null) {
    const summary = `No tick: the job was cancelled at ${utc(row.cancelled_at)}, before this instant.`
    return { verdict: 'no_tick', reason: 'job_cancelled', summary, todo: explain('job_cancelled').todo }
  }
  return {
    verdict: 'no_tick',
    reason: 'deleted',
    summary: `No tick: the job was deleted${endedAt}, before this instant.`,
    todo: null,
  }
}

function outside(
  {
    starts_at: startsAt,
    ends_at: endsAt,
    timezone,
  }: Pick<JobDefinition, 'starts_at' | 'ends_at' | 'timezone'>,
  life: Life,
  at: number,
): Answer | null {
  const read = (text: string) => readInstant(text, '', timelineOf(timezone))
  if (startsAt !== null && at < read(startsAt)) {
    const summary = `No tick: the schedule starts at ${startsAt} (starts_at)${nearby(life, at)}.`
    return { verdict: 'no_tick', reason: 'before_starts_at', summary, todo: null }
  }
  if (endsAt !== null && at >= read(endsAt)) {
    const summary = `No tick: the schedule ended at ${endsAt} (ends_at)${nearby(life, at)}.`
    return { verdict: 'no_tick', reason: 'after_ends_at', summary, todo: null }
  }
  return null
}

function plain(life: Life, at: number): Answer {
  return {
    verdict: 'no_tick',
    reason: 'not_in_schedule',
    summary: `No tick: the schedule does not name this instant${nearby(life, at)}.`,
    todo: 'Ask for one of the ticks beside it, to the millisecond.',
  }
}

function nearby(life: Life, at: number): string {
  const { before, after } = neighboursOf(life, at)
  const parts = [
    ...(before === null ? [] : [`the tick before is ${utc(before)}`]),
    ...(after === null ? [] : [`the tick after is ${utc(after)}`]),
  ]
  return parts.length === 0 ? '' : `; ${parts.join(', ')}`
}
