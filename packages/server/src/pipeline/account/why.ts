import { CarillonError, type Why } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { incarnationName } from '../../platform/ids.js'
import { countUnlessSkipped, neighboursOf, stretchAt } from './life.js'
import { momentOf } from './moment.js'
import { answer, runOf } from './why-answer.js'
import { type AttemptRow, type Facts, readFacts, readLife } from './why-facts.js'
import { iso, isoOrNull, localTime } from './words.js'

/** Says what became of one instant of one job, and why. */
export class Explainer {
  constructor(private readonly options: { database: Database; lateToleranceMs: number }) {}

  /** `at` is an instant, or a reading of the clocks in the job's zone. */
  async why(job: number, at: string): Promise<Why> {
    const facts = await this.options.database.snapshot(async (runner) => {
      const found = await readLife(runner, job)
      if (found === null) throw new CarillonError('job_not_found')
      const instant = momentOf(at, 'query:at', found.row.definition?.timezone ?? 'UTC')
      return readFacts(runner, found, instant, this.options.lateToleranceMs)
    })
    return view(facts)
  }
}

function view(facts: Facts): Why {
  const { at, row, life, queued, evidence } = facts
  const timezone = row.definition?.timezone ?? 'UTC'
  const neighbours = life === null ? { before: null, after: null } : neighboursOf(life, at)
  const [range] = evidence.ranges
  const [first] = facts.attempts
  return {
    job_id: facts.jobId,
    job: row.name,
    at: iso(at),
    local: localTime(at, timezone),
    timezone,
    now: iso(facts.now),
    ...answer(facts),
    run_id: wasMade(facts) ? runOf(facts) : null,
    doubled: facts.verdict.doubled !== null,
    before: isoOrNull(neighbours.before),
    after: isoOrNull(neighbours.after),
    segment: segmentOf(facts),
    start_at: isoOrNull(startAt(facts)),
    // A re-drive makes the run anew: the tick was fired before.
    fired_at: isoOrNull(first?.fired_at ?? queued?.fired_at ?? null),
    leased_at: isoOrNull(queued?.leased_at ?? facts.attempts.at(-1)?.leased_at ?? null),
    attempts: facts.attempts.filter(({ attempt }) => attempt > 0).map(attemptView),
    range:
      range === undefined
        ? null
        : { from: iso(range.due), to: iso(range.due_to ?? range.due), ticks: range.ticks },
    replay: replayOf(facts),
  }
}

/** Whether there is, or was, a run of the tick; not only a decision about it. */
function wasMade({ queued, attempts, evidence }: Facts): boolean {
  return queued !== null || evidence.records.letter !== null || attempts.some(({ attempt }) => attempt > 0)
}

function startAt({ at, row, queued, attempts, life }: Facts): number | null {
  const first = attempts.find(({ attempt, round }) => attempt === 1 && round === 0)
  if (first !== undefined) return first.available_at
  if (queued !== null && queued.attempt === 1) return queued.available_at
  return row.due === at ? row.start_at : (life?.changes.movedTo(at) ?? null)
}

function segmentOf({ life, at }: Facts): Why['segment'] {
  const stretch = life === null ? undefined : stretchAt(life, at)
  if (stretch === undefined) return null
  return {
    version: stretch.version,
    from: iso(stretch.from),
    to: Number.isFinite(stretch.to) ? iso(stretch.to) : null,
    zone_data: stretch.zoneData,
  }
}

function attemptView(row: AttemptRow): Why['attempts'][number] {
  return {
    attempt: row.attempt,
    round: row.round + 1,
    outcome: row.outcome,
    final: row.final,
    reason: row.reason,
    error: row.error,
    available_at: isoOrNull(row.available_at),
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    recorded_at: iso(row.recorded_at),
    worker: row.worker === null ? null : incarnationName(row.worker),
  }
}

function replayOf({ evidence, life, at }: Facts): Why['replay'] {
  const [replay] = evidence.replays
  if (replay === undefined) return null
  return {
    state: replay.state,
    reason: replay.reason,
    from: iso(replay.from_ms),
    to: iso(replay.to_ms),
    position: life === null ? 0 : countUnlessSkipped(life, replay.cursor_ms, at - 1),
    done: replay.done,
    total: replay.total,
    per_minute: replay.per_minute,
  }
}
