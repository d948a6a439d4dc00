import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Situation } from './change.js'
import type { Settlement } from './settle.js'
import type { TakenBack } from './taking-back.js'
import type { TickChange } from '../tick-changes.js'
import { dropTickChanges } from './drop-tick-changes.js'

/** Where a change leaves the cursor of a job, and what becomes of the ticks before that. */
export interface Move extends Pick<Settlement, 'skip' | 'skipNext' | 'replay'> {
  taken: Pick<TakenBack, 'from' | 'count'>
  accounted: number
  due: number | null
  startAt: number | null
  /** Why ticks were passed over or put off. */
  reason: 'paused' | 'edited' | 'deleted' | 'job_cancelled'
  /** Of the replay, if one is made. */
  replayState: 'running' | 'paused'
  /** Ticks before that which are left out on request. */
  leftOut?: Settlement['leftOut']
  /** What was asked of single ticks, and means nothing from now on. */
  dropped?: readonly TickChange[]
}

export const nothingOwed = { skip: null, skipNext: null, replay: null } as const

interface MoveParams {
  now: number
  jobs: number[]
  partitions: number[]
  tenants: number[]
  versions: number[]
  taken_froms: (number | null)[]
  taken_counts: number[]
  accounted: number[]
  dues: (number | null)[]
  start_ats: (number | null)[]
  reasons: string[]
  skip_froms: (number | null)[]
  skip_tos: (number | null)[]
  skip_counts: (number | null)[]
  skip_nexts: (number | null)[]
  replay_froms: (number | null)[]
  replay_tos: (number | null)[]
  replay_counts: (number | null)[]
  replay_states: string[]
  left_out_jobs: number[]
  left_out_ats: number[]
  left_out_nexts: (number | null)[]
}

const moveCursorsStatement = statement<MoveParams, { job: number }>(
  new URL('./move-cursors.sql', import.meta.url),
)

export interface MovedJob {
  situation: Situation
  move: Move
}

export async function moveCursors(runner: Runner, now: number, changes: readonly MovedJob[]): Promise<void> {
  const situations = changes.map(({ situation }) => situation)
  const moves = changes.map(({ move }) => move)
  const leftOut = changes.flatMap(({ situation: { job }, move }) =>
    (move.leftOut ?? []).map((tick) => ({ job, ...tick })),
  )
  await runner.run(moveCursorsStatement, {
    now,
    jobs: situations.map(({ job }) => job),
    partitions: situations.map(({ partition }) => partition),
    tenants: situations.map(({ tenant }) => tenant),
    versions: situations.map(({ version }) => version),
    taken_froms: moves.map(({ taken }) => taken.from),
    taken_counts: moves.map(({ taken }) => taken.count),
    accounted: moves.map(({ accounted }) => accounted),
    dues: moves.map(({ due }) => due),
    start_ats: moves.map(({ startAt }) => startAt),
    reasons: moves.map(({ reason }) => reason),
    skip_froms: moves.map(({ skip }) => skip?.from ?? null),
    skip_tos: moves.map(({ skip }) => skip?.to ?? null),
    skip_counts: moves.map(({ skip }) => skip?.count ?? null),
    skip_nexts: moves.map(({ skipNext }) => skipNext),
    replay_froms: moves.map(({ replay }) => replay?.from ?? null),
    replay_tos: moves.map(({ replay }) => replay?.to ?? null),
    replay_counts: moves.map(({ replay }) => replay?.count ?? null),
    replay_states: moves.map(({ replayState }) => replayState),
    left_out_jobs: leftOut.map(({ job }) => job),
    left_out_ats: leftOut.map(({ at }) => at),
    left_out_nexts: leftOut.map(({ next }) => next),
  })
  await dropTickChanges(
    runner,
    changes.map(({ situation, move }) => ({ situation, dropped: move.dropped ?? [] })),
  )
}
