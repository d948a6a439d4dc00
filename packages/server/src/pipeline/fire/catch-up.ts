import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf } from '../../platform/ids.js'
import type { Metrics } from '../../platform/metrics.js'
import type { OwnedPartition } from './fire-statement.js'
import type { Governor } from './governor.js'
import {
  type OpenBackfill,
  type OpenReplay,
  planBackfill,
  planReplay,
  type ReplayTick,
} from './replay-plan.js'

const readStatement = statement<
  { partitions: number[]; most: number; most_per_partition: number },
  OpenReplay
>(new URL('./read-replays.sql', import.meta.url))
const backfillsStatement = statement<{ partitions: number[]; most: number }, OpenBackfill>(
  new URL('./read-backfills.sql', import.meta.url),
)
const openStatement = statement<
  { partitions: number[] },
  { replays: number; ticks: number; backfills: number }
>(new URL('./open-replays.sql', import.meta.url))

interface ReplayParams {
  owner: number
  partitions: number[]
  epochs: number[]
  replays: number[]
  jobs: number[]
  job_partitions: number[]
  cursors: number[]
  origins: number[]
  seqs: number[]
  next_cursors: (number | null)[]
  next_dues: (number | null)[]
  versions: number[]
  routes: number[]
  places: (number | null)[]
  max_attempts: number[]
}
type ReplayDecision = 'fired' | 'refused' | 'changed' | 'waits'
const replayStatement = statement<ReplayParams, { replay: number; job: number; decision: ReplayDecision }>(
  new URL('./replay.sql', import.meta.url),
)

export interface CatchUpOptions {
  database: Database
  clock: Clock
  log: Logger
  metrics: Metrics
  governor: Governor
  self: () => number
  owned: () => readonly OwnedPartition[]
  /** Told of every tick that was caught up or backfilled, where somebody traces them. */
  toldCaughtUp?: (tick: ReplayTick) => void
  /** The database has a newer epoch for these. */
  disown: (refused: readonly OwnedPartition[]) => void
  /** Whether fresh ticks wait: they come first. */
  freshWait: () => boolean
  onFired: () => void
  /** Told how much is left to catch up. */
  onOpen: (open: { replays: number; ticks: number }) => void
}

const mostPerStatement = 500
/** More than their even share, since they are not spread evenly; few enough to be read four times a second. */
const timesShare = 4
const leastPerPartition = 16
/** Counting so many takes a while: then it is done now and then, and not at every look. */
const manyReplays = 10_000
const countManyMs = 5_000
const repeatTellMs = 60_000

/**
 * Runs what was missed: the oldest tick first, one of a job at a time, at the governor's pace, and never while fresh ticks
 * wait. It goes on where a crash left it: each replay is a cursor in the database.
 */
export class CatchUp {
  private readonly toldAt = new Map<number, number>()
  private left = { replays: 0, ticks: 0, backfills: 0 }
  private countedAt = Number.NEGATIVE_INFINITY

  constructor(private readonly options: CatchUpOptions) {}

  /** One step at the pace allowed. Answers true when more may follow at once. */
  async runOnce(): Promise<boolean> {
    const { owned, governor, freshWait } = this.options
    const mine = owned()
    const open = await this.count(mine)
    if ((open.replays === 0 && open.backfills === 0) || freshWait()) return false
    const allowed = Math.min(mostPerStatement, await governor.allowed())
    if (allowed < 1) return false
    const caughtUp = open.replays === 0 ? 0 : await this.fire(mine, allowed, 'caught_up')
    const left = allowed - caughtUp
    // What people ask for comes after what was missed.
    const backfilled = open.backfills === 0 || left < 1 ? 0 : await this.fire(mine, left, 'backfilled')
    governor.used(caughtUp + backfilled)
    return caughtUp === mostPerStatement
  }

  /** What is left in the partitions that are ours; in none of them, nothing. */
  private async count(mine: readonly OwnedPartition[]): Promise<CatchUp['left']> {
    const { database, clock, metrics, onOpen } = this.options
    const now = clock.monotonic()
    if (mine.length > 0 && this.left.replays >= manyReplays && now - this.countedAt < countManyMs)
      return this.left
    const partitions = mine.map(({ partition }) => partition)
    const [open] = mine.length === 0 ? [] : await database.run(openStatement, { partitions })
    const { replays = 0, ticks = 0, backfills = 0 } = open ?? {}
    this.left = { replays, ticks, backfills }
    this.countedAt = now
    metrics.catchUpTicks.set(this.left.ticks)
    onOpen({ replays, ticks })
    return this.left
  }

  private async fire(
    owned: readonly OwnedPartition[],
    most: number,
    decision: 'caught_up' | 'backfilled',
  ): Promise<number> {
    const { database, metrics, self, onFired } = this.options
    const ticks = (
      decision === 'caught_up'
        ? this.plan(await this.readReplays(owned), planReplay)
        : this.plan(await this.readBackfills(owned), planBackfill)
    ).slice(0, most)
    if (ticks.length === 0) return 0
    const answers = await database.run(replayStatement, paramsOf(self(), owned, ticks))
    const fired = answers.filter((answer) => answer.decision === 'fired').length
    metrics.ticks.inc({ decision }, fired)
    if (this.options.toldCaughtUp !== undefined) this.tell(ticks, answers)
    this.giveUpRefused(owned, ticks, answers)
    if (fired > 0) onFired()
    return fired
  }

  private tell(
    ticks: readonly ReplayTick[],
    answers: readonly { replay: number; decision: ReplayDecision }[],
  ) {
    const fired = new Set(answers.flatMap(({ replay, decision }) => (decision === 'fired' ? [replay] : [])))
    for (const tick of ticks) if (fired.has(tick.replay.replay)) this.options.toldCaughtUp?.(tick)
  }

  private readReplays(owned: readonly OwnedPartition[]): Promise<OpenReplay[]> {
    // A full page, also at a slow pace: one that cannot be read must not keep the others from their turn.
    return this.options.database.run(readStatement, {
      partitions: owned.map(({ partition }) => partition),
      most: mostPerStatement,
      most_per_partition: Math.max(
        leastPerPartition,
        Math.ceil((timesShare * mostPerStatement) / owned.length),
      ),
    })
  }

  private readBackfills(owned: readonly OwnedPartition[]): Promise<OpenBackfill[]> {
    return this.options.database.run(backfillsStatement, {
      partitions: owned.map(({ partition }) => partition),
      most: mostPerStatement,
    })
  }

  /** Another owner has a newer epoch: what was refused is no longer ours. */
  private giveUpRefused(
    owned: readonly OwnedPartition[],
    ticks: ReplayTick[],
    answers: { replay: number; decision: ReplayDecision }[],
  ): void {
    const refused = new Set(
      answers.flatMap(({ replay, decision }) => (decision === 'refused' ? [replay] : [])),
    )
    if (refused.size === 0) return
    const partitions = new Set(
      ticks.flatMap(({ replay }) => (refused.has(replay.replay) ? [replay.partition] : [])),
    )
    this.options.metrics.refusedByEpoch.inc(partitions.size)
    this.options.disown(owned.filter(({ partition }) => partitions.has(partition)))
  }

  private plan<Replay extends OpenReplay>(
    replays: Replay[],
    planOne: (replay: Replay) => ReplayTick,
  ): ReplayTick[] {
    return replays.flatMap((replay) => {
      try {
        return [planOne(replay)]
      } catch (error) {
        this.tellUnreadable(replay, error)
        return []
      }
    })
  }

  /** Once when it is found, then once a minute: every look meets it again. */
  private tellUnreadable({ job, uuid }: OpenReplay, error: unknown): void {
    const { clock, log } = this.options
    const now = clock.monotonic()
    const told = this.toldAt.get(job)
    if (told !== undefined && now - told < repeatTellMs) return
    if (this.toldAt.size >= mostPerStatement) this.toldAt.clear()
    this.toldAt.set(job, now)
    log.error({ job: jobIdOf(uuid), err: error }, 'missed ticks of a job cannot be caught up')
  }
}

function paramsOf(owner: number, owned: readonly OwnedPartition[], ticks: ReplayTick[]): ReplayParams {
  return {
    owner,
    partitions: owned.map(({ partition }) => partition),
    epochs: owned.map(({ epoch }) => epoch),
    replays: ticks.map(({ replay }) => replay.replay),
    jobs: ticks.map(({ replay }) => replay.job),
    job_partitions: ticks.map(({ replay }) => replay.partition),
    cursors: ticks.map(({ replay }) => replay.cursor_ms),
    origins: ticks.map(({ origin }) => origin),
    seqs: ticks.map(({ seq }) => seq),
    next_cursors: ticks.map((tick) => tick.nextCursor),
    next_dues: ticks.map((tick) => tick.nextDue),
    versions: ticks.map(({ replay }) => replay.version),
    routes: ticks.map(({ replay }) => replay.route),
    places: ticks.map((tick) => tick.places),
    max_attempts: ticks.map(({ replay }) => 1 + replay.definition.max_retries),
  }
}
