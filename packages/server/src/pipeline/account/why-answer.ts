import type { Why } from '@carillon/contract'
import { backfillIdOf, runIdOf } from '../../platform/ids.js'
import { spreadMs } from '../spread.js'
import { countUnlessSkipped, isSkipped, stretchAt } from './life.js'
import { whyAfterEnd, whyNoTick } from './no-tick.js'
import { explain } from './reasons.js'
import type { TickChange } from '../tick-changes.js'
import { lateness } from './verdict.js'
import type { AttemptRow, BackfillRun, Facts } from './why-facts.js'
import { hostHoldsBack } from './why-host.js'
import { firstLine, lasting, utc } from './words.js'

/** The one line, and what stands behind it. */
export type Answer = Pick<Why, 'verdict' | 'reason' | 'summary' | 'todo'>

/** What became of an instant, and why, in one line. */
export function answer(facts: Facts): Answer {
  const { summary, ...rest } = answerOfTick(facts)
  return { ...rest, summary: [summary, ...facts.backfills.map(backfilled)].join(' ') }
}

/** What backfills made of the instant stands beside what became of its tick. */
function backfilled({ seq, outcome, recorded_at: at }: BackfillRun): string {
  const name = backfillIdOf(seq)
  if (outcome === null || at === null) return `The backfill ${name} runs it; that is under way.`
  return `The backfill ${name} ran it: ${outcome === 'success' ? outcome : `ended as ${outcome}`} at ${utc(at)}.`
}

function answerOfTick(facts: Facts): Answer {
  const { life, verdict, at, now } = facts
  const onRecord =
    verdict.became !== 'unaccounted' && verdict.became !== 'pending' && verdict.became !== 'paused'
  if (life === null) return onRecord ? ofRecord(facts) : withoutDefinition(facts)
  if (!facts.isTick) return onRecord ? stray(facts) : withGapRecord(facts, whyNoTick(life, at))
  if (onRecord) return ofRecord(facts)
  if (at > life.end) return whyAfterEnd(life, at)
  if (at > now) return ahead(facts)
  if (facts.ledgerFrom !== null && at < facts.ledgerFrom && verdict.became === 'unaccounted')
    return noLongerKept(facts.ledgerFrom)
  return notReached(facts)
}

function ofRecord(facts: Facts): Answer {
  const { verdict } = facts
  if (verdict.became === 'skipped') return skipped(facts)
  if (verdict.became === 'in_flight') return facts.queued === null ? inReplay(facts) : inQueue(facts)
  return ran(facts)
}

function skipped({ verdict, evidence, inTheWay, attempts, life, at }: Facts): Answer {
  const reason = verdict.reason ?? 'unknown'
  const { words, todo } = explain(reason)
  const [range] = evidence.ranges
  const cancelled = attempts.some(({ final, outcome }) => final && outcome === 'cancelled')
  const parts = [`${cancelled ? 'Cancelled' : 'Not run'} (${reason}): ${words}`]
  if (reason === 'skipped_by_request') parts.push(givenReason(life?.changes.of(at)))
  if (inTheWay !== null) {
    const end =
      inTheWay.finished_at === null ? 'which still goes on' : `which ended at ${utc(inTheWay.finished_at)}`
    parts.push(` (that of ${utc(inTheWay.due)}, ${end})`)
  }
  if (range !== undefined && range.ticks > 1)
    parts.push(`; one of ${range.ticks} ticks from ${utc(range.due)} to ${utc(range.due_to ?? range.due)}`)
  const tried = attempts.filter(({ final, started_at: startedAt }) => !final && startedAt !== null).at(-1)
  if (tried !== undefined)
    parts.push(
      `; attempt ${tried.attempt} had failed before${tried.error === null ? '' : ` (${firstLine(tried.error)})`}`,
    )
  return { verdict: 'skipped', reason, summary: `${parts.join('')}.`, todo }
}

function ran(facts: Facts): Answer {
  const { verdict, evidence, attempts } = facts
  const last = lastFinal(attempts)
  const first = evidence.records.first ?? evidence.records.finals[0]
  const lateBy = first === undefined ? 0 : lateness(first)
  const began = { ran: 'Ran on time', late: 'Ran late', caught_up: 'Caught up after it had been missed' }
  const how = verdict.became === 'late' || verdict.became === 'caught_up' ? began[verdict.became] : began.ran
  const after = verdict.became === 'late' ? `, ${lasting(lateBy)} after its time` : ''
  const reason = last?.reason ?? null
  if (last === undefined) {
    const summary = `${how}${after}: it used up its attempts and is a dead letter.`
    return { verdict: verdict.became, reason, summary, todo: letterTodo(facts) }
  }
  const of = last.max_attempts === null ? '' : ` of ${last.max_attempts}`
  const end = verdict.failed || last.outcome === 'cancelled' ? `ended as ${last.outcome}` : 'succeeded'
  const explained = reason === null ? null : explain(reason)
  const why =
    explained === null
      ? ''
      : `: ${explained.words}${last.error === null ? '' : ` (${firstLine(last.error)})`}`
  return {
    verdict: verdict.became,
    reason,
    summary: `${how}${after}: ${end} in attempt ${last.attempt}${of}${roundOf(last)}${why}.`,
    todo:
      last.outcome === 'dead'
        ? [explained?.todo, letterTodo(facts)].filter((todo) => todo != null).join(' ')
        : (explained?.todo ?? (verdict.became === 'late' ? lateTodo : null)),
  }
}

/** The run of a tick, as the other commands and routes name it. */
export function runOf({ at, row }: Pick<Facts, 'at' | 'row'>): string {
  return runIdOf({ due: at, job: row.job, origin: 0, seq: 0, partition: row.partition })
}

/** What can be done about a run that died, as long as its letter is there. */
function letterTodo(facts: Facts): string {
  if (facts.evidence.records.letter === null)
    return 'Its dead letter was discarded: to run the job once more, trigger it.'
  const { life, at, row } = facts
  const run = runOf(facts)
  const redrive = `carillon dead-letters redrive ${run}`
  const version = life === null ? undefined : stretchAt(life, at)?.version
  const how =
    version === undefined || version === row.version
      ? `${redrive} runs it again`
      : `the job was changed since (it ran version ${version}, and ${row.version} is current): ${redrive} --current runs it as the job is now`
  return `carillon dead-letters show ${run} has it all; once the cause is gone, ${how}.`
}

function roundOf({ round }: { round: number }): string {
  return round === 0 ? '' : `, round ${round + 1}`
}

const lateTodo =
  'It was fired in time and waited for a worker or a place: carillon cluster shows the queue and the workers.'

function inQueue({ queued, now }: Facts): Answer {
  if (queued === null) throw new Error('The tick is not in the queue.')
  const { words, todo } = explain(queued.reason)
  const task = queued.reason === 'no_worker_for_task' ? ` "${queued.task}"` : hostHoldsBack(queued, now)
  const ahead = queued.available_at !== null && queued.available_at > now
  const waits = ahead ? ` at ${utc(queued.available_at ?? now)}` : ''
  const error = queued.last_error === null ? '' : `; the last attempt: ${queued.last_error}`
  const late = queued.catch_up ? ', catching up' : ''
  return {
    verdict: 'in_flight',
    reason: queued.reason,
    summary: `In flight (attempt ${queued.attempt} of ${queued.max_attempts}${roundOf(queued)}${late}): ${words}${task}${waits}${error}.`,
    todo,
  }
}

function inReplay({ evidence, life, at }: Facts): Answer {
  const [replay] = evidence.replays
  if (replay === undefined) return { verdict: 'in_flight', reason: null, summary: 'In flight.', todo: null }
  const before = life === null ? 0 : countUnlessSkipped(life, replay.cursor_ms, at - 1)
  const pace =
    replay.per_minute === null ? 'at the pace the governor allows' : `at ${replay.per_minute} a minute`
  const rest =
    replay.state === 'paused'
      ? 'the catch-up is paused with its job'
      : `catching up ${pace}, one after another`
  return {
    verdict: 'in_flight',
    reason: replay.reason,
    summary: `Waits in a catch-up (${replay.reason}): ${before} of its ticks come before this one; ${rest}; ${replay.done} of ${replay.total} done.`,
    todo: replay.state === 'paused' ? 'Resume the job.' : null,
  }
}

function notReached({ life, verdict, at, now }: Facts): Answer {
  const row = life?.row
  if (verdict.became === 'paused') {
    const since = row?.paused_at == null ? '' : ` since ${utc(row.paused_at)}`
    const why = row?.pause_reason == null ? '' : ` (${row.pause_reason})`
    const until = row?.paused_until == null ? '' : `; it resumes by itself at ${utc(row.paused_until)}`
    const summary = `Not decided yet: the job is paused${since}${why}${until}. Its missed_window decides when it is resumed.`
    return { verdict: 'paused', reason: 'paused', summary, todo: 'Resume the job.' }
  }
  if (verdict.became === 'pending') {
    const start = row?.due === at && row.start_at !== null ? row.start_at : at
    const moved = life?.changes.movedTo(at) != null
    const mover = moved
      ? `it was moved there on request${givenReason(life.changes.of(at))}`
      : 'its jitter and its fire window move the start'
    const summary =
      start > now
        ? `Due, and starts at ${utc(start)}: ${mover}.`
        : `Due for ${lasting(now - start)}, and not fired yet.`
    return {
      verdict: 'pending',
      reason: null,
      summary,
      todo:
        start > now
          ? null
          : 'carillon cluster shows whether schedulers are alive and every partition has an owner.',
    }
  }
  return {
    verdict: 'unaccounted',
    reason: null,
    summary: 'Unaccounted: no record says what became of this tick. This must not be.',
    todo: 'Run carillon verify for the range around it, and report it with its output.',
  }
}

function ahead({ life, row, at, jobId, now }: Facts): Answer {
  if (life !== null && isSkipped(life, at)) return aheadAndSkipped(life.changes.of(at))
  const definition = (life === null ? undefined : stretchAt(life, at))?.definition
  const movedTo = life?.changes.movedTo(at) ?? null
  const start =
    row.due === at && row.start_at !== null
      ? row.start_at
      : (movedTo ?? at + (definition === undefined ? 0 : spreadMs(jobId, definition)))
  const moved =
    movedTo !== null
      ? ` (moved from ${utc(at)} on request${givenReason(life?.changes.of(at))})`
      : start === at
        ? ''
        : ` (${lasting(start - at)} after its tick, by jitter and fire window)`
  const when = `in ${lasting(Math.max(0, start - now))}, at ${utc(start)}${moved}`
  if (row.state === 'paused') {
    const summary = `Still ahead, and the job is paused: it starts ${when} only if the job is resumed before.`
    return { verdict: 'future', reason: 'paused', summary, todo: 'Resume the job.' }
  }
  return { verdict: 'future', reason: null, summary: `Still ahead: it starts ${when}.`, todo: null }
}

function aheadAndSkipped(change: TickChange | undefined): Answer {
  return {
    verdict: 'future',
    reason: 'skipped_by_request',
    summary: `Still ahead, and will not run: somebody asked to leave it out${givenReason(change)}.`,
    todo: 'Until its time it can be restored: POST /api/v1/jobs/{job_id}/ticks/restore.',
  }
}

function givenReason(change: TickChange | undefined): string {
  return change?.reason == null ? '' : ` (${change.reason})`
}

function stray(facts: Facts): Answer {
  const { summary, todo } = ofRecord(facts)
  return {
    verdict: 'no_tick',
    reason: 'unexpected',
    summary: `No tick of the job's schedule, and yet on record. ${summary}`,
    todo: todo ?? 'Run carillon verify for the range around it.',
  }
}

/** Where the clocks jumped there is a row with the count of readings that are lost. */
function withGapRecord({ records, at }: Facts, plain: Answer): Answer {
  const row = records.gaps.find(({ due }) => due === at)
  if (plain.reason !== 'dst_gap' || row === undefined || row.ticks < 2) return plain
  return {
    ...plain,
    summary: `${plain.summary.slice(0, -1)}; ${row.ticks} times of the schedule fell into the jump.`,
  }
}

function withoutDefinition({ row, problem }: Facts): Answer {
  const collected = row.state === 'collected'
  return {
    verdict: 'not_verifiable',
    reason: collected ? 'collected' : 'unreadable',
    summary: collected
      ? 'No record, and the definition of the job was collected after its end: whether this was a tick is not known any more.'
      : `No record, and the schedule of the job cannot be read: ${problem}`,
    todo: collected
      ? 'CARILLON_ONE_OFF_RETENTION_HOURS keeps definitions longer.'
      : 'Correct or delete the job.',
  }
}

function noLongerKept(ledgerFrom: number): Answer {
  return {
    verdict: 'not_verifiable',
    reason: 'before_ledger',
    summary: `Not known any more: the ledger begins at ${utc(ledgerFrom)}.`,
    todo: 'CARILLON_LEDGER_RETENTION_DAYS keeps the ledger longer.',
  }
}

export function lastFinal(attempts: readonly AttemptRow[]): AttemptRow | undefined {
  return attempts.filter(({ final }) => final).at(-1)
}
