import { statement } from '../../db/statement.js'
import type { Decided, OwnedPartition, Receiver } from './fire-statement.js'
import { byJob } from './by-job.js'
import { type PlannedTick, ticksByJob } from './plan.js'

interface PlainParams {
  owner: number
  partitions: number[]
  epochs: number[]
  timer_places: string[]
  jobs: number[]
  job_partitions: number[]
  job_epochs: number[]
  dues: number[]
  revs: number[]
  available_ats: number[]
  next_dues: number[]
  next_starts: number[]
  versions: number[]
  routes: number[]
  places: (number | null)[]
  max_attempts: number[]
  holder: number | null
  tasks: string[]
  commands: boolean
}

/** Columns, not rows. `moved` and `timer_places` belong together, and so do the three of the runs, in an order of their own. */
interface PlainAnswer {
  now: number
  jobs: number[]
  tokens: (number | null)[]
  run_places: string[]
  moved: number[]
  timer_places: string[]
  slow_routes: number[]
  timeouts: number[]
}

export const firePlainStatement = statement<PlainParams, PlainAnswer>(
  new URL('./fire-plain.sql', import.meta.url),
)

/** A tick of which the short statement can make a run: it is the one that the cursor names, and another follows. */
export function isPlain(tick: PlannedTick): boolean {
  const { timer, runDue, nextDue, nextStart, skip, replay, gaps } = tick
  return (
    timer.place !== null &&
    runDue === timer.due &&
    nextDue !== null &&
    nextStart !== null &&
    skip === null &&
    replay === null &&
    gaps.length === 0 &&
    // The last of so many runs ends the job.
    timer.definition.max_runs === null
  )
}

export function inOrder(ticks: readonly PlannedTick[]): PlannedTick[] {
  return [...ticks].sort((a, b) => a.timer.job - b.timer.job)
}

/** By job, which is the order in which everybody takes the locks of timers and of overlap places. */
export function plainParams(
  owner: number,
  owned: readonly OwnedPartition[],
  ticks: readonly PlannedTick[],
  receiver: Receiver | null,
): PlainParams {
  const ordered = inOrder(ticks)
  const timers = ordered.map(({ timer }) => timer)
  const involved = new Set(timers.map(({ partition }) => partition))
  const held = owned.filter(({ partition }) => involved.has(partition))
  const epochs = new Map(held.map(({ partition, epoch }) => [partition, epoch]))
  return {
    owner,
    partitions: held.map(({ partition }) => partition),
    epochs: held.map(({ epoch }) => epoch),
    timer_places: timers.map(({ place }) => place as string),
    jobs: timers.map(({ job }) => job),
    job_partitions: timers.map(({ partition }) => partition),
    // One that is not held any more has no epoch that could be right.
    job_epochs: timers.map(({ partition }) => epochs.get(partition) ?? -1),
    dues: timers.map(({ due }) => due),
    revs: timers.map(({ rev }) => rev),
    available_ats: ordered.map(({ availableAt }) => availableAt),
    next_dues: ordered.map(({ nextDue }) => nextDue as number),
    next_starts: ordered.map(({ nextStart }) => nextStart as number),
    versions: timers.map(({ version }) => version),
    routes: timers.map(({ route }) => route),
    places: ordered.map(({ places }) => places),
    max_attempts: timers.map(({ definition }) => 1 + definition.max_retries),
    holder: receiver?.holder ?? null,
    tasks: [...(receiver?.tasks ?? [])],
    commands: receiver?.commands ?? false,
  }
}

/** What was fired, as fire.sql would have answered it. */
export function plainDecisions(ticks: readonly PlannedTick[], answer: PlainAnswer): Decided[] {
  const tickOf = ticksByJob(ticks)
  const movedAt = byJob([...answer.moved.keys()], (at) => answer.moved[at] as number)
  const timeouts = new Map(answer.slow_routes.map((route, at) => [route, answer.timeouts[at] as number]))
  const decided: Decided[] = []
  answer.jobs.forEach((job, at) => {
    const tick = tickOf(job)
    if (tick === undefined) return
    const token = answer.tokens[at] ?? null
    const moved = movedAt(job)
    decided.push({
      job,
      due: tick.timer.due,
      now: answer.now,
      decision: 'fired',
      token,
      timeout_seconds: token === null ? null : (timeouts.get(tick.timer.route) ?? null),
      run_place: answer.run_places[at] ?? null,
      timer_place: moved === undefined ? null : (answer.timer_places[moved] ?? null),
    })
  })
  return decided
}
