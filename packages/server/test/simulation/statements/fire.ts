import type { TickParams } from '../../../src/pipeline/fire/fire-statement.js'
import { type JobRow, type QueueRow, runKey, type TimerRow } from '../rows.js'
import { type Execution, type Steps, StoreError } from '../store.js'
import { epochsOf } from './cluster.js'

/** The statements of pipeline/fire: looks, and the two that fire. */

interface Look {
  partitions: number[]
  most_per_partition: number
}

function* seenTimers(
  run: Execution,
  { partitions, most_per_partition }: Look,
  from: { starts: number[]; jobs: number[]; until: number },
): Generator<undefined, (TimerRow & { start_at: number })[]> {
  const timers = [...run.table('timers').values()].filter(isSet)
  return partitions.flatMap((partition, at) => {
    const [start, job] = [from.starts[at] as number, from.jobs[at] as number]
    return timers
      .filter((timer) => timer.partition === partition && timer.start_at <= from.until)
      .filter((timer) => timer.start_at > start || (timer.start_at === start && timer.job > job))
      .sort((a, b) => a.start_at - b.start_at || a.job - b.job)
      .slice(0, most_per_partition)
  })
}

export function* scanDue(
  run: Execution,
  params: Look & { from_starts: number[]; from_jobs: number[]; ahead_ms: number },
): Steps {
  const { from_starts: starts, from_jobs: jobs, ahead_ms } = params
  const timers = yield* seenTimers(run, params, { starts, jobs, until: run.now + ahead_ms })
  return [
    {
      jobs: timers.map(({ job }) => job),
      partitions: timers.map(({ partition }) => partition),
      start_ats: timers.map(({ start_at }) => start_at),
      now: run.now,
    },
  ]
}

export function* loadHorizon(
  run: Execution,
  params: Look & { after_starts: number[]; after_jobs: number[]; horizon_ms: number },
): Steps {
  const { after_starts: starts, after_jobs: jobs, horizon_ms } = params
  const timers = yield* seenTimers(run, params, { starts, jobs, until: run.now + horizon_ms })
  return timers.map(({ job, partition, start_at }) => ({ job, partition, start_at }))
}

export function* changed(
  run: Execution,
  params: { partitions: number[]; since: number; after: number; horizon_ms: number; most: number },
): Steps {
  const { partitions, since, after, horizon_ms, most } = params
  return [...run.table('jobs').values()]
    .filter(({ changed_at: at, partition }) => at > 0 && at >= since && partitions.includes(partition))
    .filter(({ changed_at: at, job }) => at > since || job > after)
    .map((job) => ({ ...job, start_at: run.table('timers').get(job.job)?.start_at ?? null }))
    .filter(({ start_at, version }) => start_at === null || start_at <= run.now + horizon_ms || version > 1)
    .sort((a, b) => a.changed_at - b.changed_at || a.job - b.job)
    .slice(0, most)
    .map(({ job, partition, start_at, changed_at }) => ({
      job,
      partition,
      start_at,
      changed_at,
      now: run.now,
    }))
}

export function* readTimers(
  run: Execution,
  { jobs, partitions, start_ats }: { jobs: number[]; partitions: number[]; start_ats: number[] },
): Steps {
  return jobs
    .flatMap((wanted, at) => {
      const timer = run.table('timers').get(wanted)
      const job = run.table('jobs').get(wanted)
      if (timer === undefined || job === undefined) return []
      if (timer.start_at !== start_ats[at] || timer.partition !== partitions[at]) return []
      const { place, partition, tenant, due, start_at, rev, runs, accounted_through } = timer
      const { uuid, version, route, definition } = job
      return [
        {
          ...{ place, job: wanted, partition, tenant, due, start_at, rev, runs, accounted_through, uuid },
          ...{ version, route, ticks_changed_until: null, definition, now: run.now },
        },
      ]
    })
    .sort((a, b) => a.start_at - b.start_at)
}

type Claim = Pick<TickParams, 'owner' | 'partitions' | 'epochs'>

/** The partitions that are still mine: by epoch, FOR KEY SHARE, read again after a wait. */
function* owned(
  run: Execution,
  { owner, partitions, epochs }: Claim,
): Generator<undefined, Map<number, number>> {
  const claimed = epochsOf(partitions, epochs)
  if (run.has('epoch unchecked')) return claimed
  const mine = new Map<number, number>()
  for (const [partition, epoch] of [...claimed].sort(([a], [b]) => a - b)) {
    const seen = run.table('partitions').get(partition)
    if (seen?.epoch !== epoch || seen.owner !== owner) continue
    if (!run.has('epoch read without a lock')) {
      const row = yield* run.lock('partitions', partition, 'key share')
      if (row?.epoch !== epoch || row.owner !== owner) continue
    }
    mine.set(partition, epoch)
  }
  return mine
}

interface Receiving {
  holder: number | null
  tasks: string[]
  commands: boolean
}

/** Whether runs of the only route may be handed over: its worker is held FOR KEY SHARE. */
export function* receives(
  run: Execution,
  { holder, tasks }: Pick<Receiving, 'holder' | 'tasks'>,
): Generator<undefined, boolean> {
  if (holder === null || !tasks.includes('task')) return false
  if (run.table('incarnations').get(holder)?.state !== 'alive') return false
  if (run.has('lease without a hold on its worker')) return true
  return (yield* run.lock('incarnations', holder, 'key share'))?.state === 'alive'
}

interface PlainParams extends Claim, Receiving {
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
}

export function* firePlain(run: Execution, params: PlainParams): Steps {
  const own = yield* owned(run, params)
  const queue = [...run.table('queue').values()]
  const moved: { timer: TimerRow; row: TimerRow; at: number }[] = []
  for (const [at, job] of params.jobs.entries()) {
    const partition = params.job_partitions[at] as number
    if (own.get(partition) !== params.job_epochs[at]) continue
    const is = (row: TimerRow | null | undefined): row is TimerRow =>
      row?.place === params.timer_places[at] &&
      row?.due === params.dues[at] &&
      row?.rev === params.revs[at] &&
      row?.partition === partition
    if (!is(run.table('timers').get(job))) continue
    if (params.places[at] !== null && queue.some((other) => other.job === job)) continue
    const timer = yield* run.lock('timers', job, 'no key update')
    if (!is(timer)) continue
    const [due, start_at] = [params.next_dues[at] as number, params.next_starts[at] as number]
    const after = { ...timer, due, start_at, accounted_through: timer.due as number, runs: timer.runs + 1 }
    moved.push({ timer, row: run.write('timers', job, timer, after) as TimerRow, at })
  }
  const leased = moved.length > 0 && (yield* receives(run, params))
  const fired: QueueRow[] = []
  for (const { timer, at } of moved) {
    const places = params.places[at] ?? null
    fired.push(
      yield* insertRun(run, {
        ...runOf(
          run,
          timer,
          params.dues[at] as number,
          places === null ? null : 0,
          leased ? params.holder : null,
        ),
        ...{ epoch: params.job_epochs[at] as number, next_due: params.next_dues[at] as number, places },
        ...{ version: params.versions[at] as number, route: params.routes[at] as number },
        ...{
          max_attempts: params.max_attempts[at] as number,
          available_at: params.available_ats[at] as number,
        },
      }),
    )
  }
  return [
    {
      now: run.now,
      ...{ jobs: fired.map(({ job }) => job), tokens: fired.map(({ token }) => token) },
      run_places: fired.map(({ place }) => place),
      ...{ moved: moved.map(({ row }) => row.job), timer_places: moved.map(({ row }) => row.place) },
      ...{ slow_routes: [], timeouts: [] },
    },
  ]
}

type NewRun = Omit<QueueRow, 'place'>

function runOf(run: Execution, timer: TimerRow, due: number, slot: number | null, holder: number | null) {
  return {
    ...{ due, job: timer.job, origin: 0, seq: 0, tenant: timer.tenant, slot, attempt: 1, round: 0 },
    ...{ fired_at: run.now, holder, token: holder === null ? null : run.store.nextToken() },
    ...{ leased_at: holder === null ? null : run.now, catch_up: false, last_error: null },
    partition: timer.partition,
  }
}

/** Fails where its place or its key is taken, after a wait for whoever is about to take or free it. */
function* insertRun(run: Execution, row: NewRun): Generator<undefined, QueueRow> {
  if (row.slot !== null) {
    if (!(yield* run.claimPlace(row.job, row.slot)))
      throw new StoreError('23505', 'the place is taken', 'queue_slot')
  }
  if ((yield* run.lock('queue', runKey(row), 'update')) !== null)
    throw new StoreError('23505', 'the run is there already', 'queue_pkey')
  return run.write('queue', runKey(row), null, row) as QueueRow
}

export interface FireParams extends TickParams, Receiving {
  places: (number | null)[]
  waits: boolean[]
  replay_froms: (number | null)[]
  handed: boolean[]
}

type Decision = 'fired' | 'skipped' | 'overlap' | 'early' | 'behind' | 'refused' | 'changed'

export function* fire(run: Execution, params: FireParams): Steps {
  if (
    [params.replay_froms, params.gap_jobs, params.max_runs].some((some) => some.some((one) => one !== null))
  )
    throw new Error('Replays, gaps and jobs with a last run are not simulated.')
  if (params.waits.some(Boolean)) throw new Error('Policies that wait or replace are not simulated.')
  const own = yield* owned(run, params)
  const locked: { at: number; timer: TimerRow }[] = []
  for (const at of byJob(params.jobs)) {
    const job = params.jobs[at] as number
    const seen = run.table('timers').get(job)
    if (!own.has(params.job_partitions[at] as number) || seen?.start_at !== params.start_ats[at]) continue
    if (seen?.due !== params.dues[at] || seen?.rev !== params.revs[at]) continue
    const timer = run.lockOrSkip('timers', job, 'no key update')
    // Another version than the snapshot's lies elsewhere: left for the next pass.
    if (timer?.place === seen?.place && timer !== null) locked.push({ at, timer })
  }
  // Asked for with the first run that could be handed over, and not before.
  let receiving: boolean | null = null
  const hands = function* (): Generator<undefined, boolean> {
    receiving ??= yield* receives(run, params)
    return receiving
  }
  const decided = new Map<number, { decision: Decision; token: number | null }>()
  for (const { at, timer } of locked) {
    const fired = yield* fireOne(run, params, own, at, timer, hands)
    const decision = fired === null ? decide(run, params, at, timer.job) : 'fired'
    decided.set(timer.job, { decision, token: fired?.token ?? null })
    if (decision === 'fired' || decision === 'overlap' || decision === 'skipped')
      yield* moveOn(run, params, own, at, timer, decision)
  }
  return params.jobs.map((job, at) => {
    const { decision, token } = decided.get(job) ?? { decision: null, token: null }
    const otherwise = own.has(params.job_partitions[at] as number) ? 'changed' : 'refused'
    return {
      job,
      due: params.dues[at],
      now: run.now,
      token,
      timeout_seconds: null,
      decision: decision ?? otherwise,
    }
  })
}

function* fireOne(
  run: Execution,
  params: FireParams,
  own: ReadonlyMap<number, number>,
  at: number,
  timer: TimerRow,
  hands: () => Generator<undefined, boolean>,
): Generator<undefined, QueueRow | null> {
  const due = params.run_dues[at] ?? null
  const places = params.places[at] ?? null
  const slot = due === null ? null : placeFor(run, timer.job, places)
  if (due === null || (places !== null && slot === null)) return null
  const holder = params.handed[at] === true && (yield* hands()) ? params.holder : null
  if (slot !== null && !(yield* run.claimPlace(timer.job, slot))) return null
  return yield* insertRun(run, {
    ...runOf(run, timer, due, slot, holder),
    ...{ epoch: own.get(timer.partition) as number, next_due: params.next_dues[at] ?? null, places },
    ...{ version: params.versions[at] as number, route: params.routes[at] as number },
    ...{ max_attempts: params.max_attempts[at] as number, available_at: params.available_ats[at] as number },
  })
}

/** The lowest free place by the snapshot, or null; nothing is asked where any number may go on. */
function placeFor(run: Execution, job: number, places: number | null): number | null {
  if (places === null) return null
  const runs = [...run.table('queue').values()].filter((row) => row.job === job)
  const inTheWay = runs.some(
    ({ slot, places: of, holder, round, attempt, available_at }) =>
      (slot !== null && slot >= places) ||
      (slot === null &&
        of === null &&
        (holder !== null || (round === 0 && (attempt === 1 || available_at <= run.now)))),
  )
  if (inTheWay) return null
  const taken = new Set(runs.map(({ slot }) => slot))
  for (let slot = 0; slot < places; slot++) if (!taken.has(slot)) return slot
  return null
}

function decide(run: Execution, params: FireParams, at: number, job: number): Decision {
  const due = params.run_dues[at] ?? null
  if (due === null) return 'skipped'
  if ((params.available_ats[at] as number) > run.now) return 'early'
  const places = params.places[at] ?? null
  if (places !== null && places > 1 && placeFor(run, job, places) !== null) return 'changed'
  const late = [...run.table('queue').values()].some(
    (row) => row.job === job && row.slot !== null && row.slot >= 0 && (row.fired_at > due || row.catch_up),
  )
  return late ? 'behind' : 'overlap'
}

function* moveOn(
  run: Execution,
  params: FireParams,
  own: ReadonlyMap<number, number>,
  at: number,
  timer: TimerRow,
  decision: Decision,
): Generator<undefined, void> {
  const [due, start_at] = [params.next_dues[at] ?? null, params.next_starts[at] ?? null]
  const [runDue, skipFrom, skipTo] = [params.run_dues[at], params.skip_froms[at], params.skip_tos[at]]
  const noted = {
    ...{ tenant: timer.tenant, job: timer.job, outcome: 'skipped' as const, final: true },
    ...{ version: params.versions[at] as number, epoch: own.get(timer.partition) as number },
    partition: timer.partition,
  }
  if (skipFrom != null)
    run.note({
      ...{
        ...noted,
        due: skipFrom,
        next_due: runDue ?? due,
        due_to: skipTo === skipFrom ? null : (skipTo ?? null),
      },
      ...{ ticks: params.skip_counts[at] ?? 1, reason: params.reasons[at] as string },
    })
  if (decision === 'overlap') run.note({ ...noted, due: runDue as number, next_due: due, reason: 'overlap' })
  const accounted_through = Math.max(runDue ?? 0, skipTo ?? 0)
  const runs = timer.runs + (decision === 'fired' ? 1 : 0)
  run.write('timers', timer.job, timer, { ...timer, due, start_at, accounted_through, runs })
  if (due !== null || run.table('jobs').get(timer.job)?.state !== 'active') return
  const job: JobRow | null = yield* run.lock('jobs', timer.job, 'no key update')
  if (job?.state === 'active') run.write('jobs', job.job, job, { ...job, state: 'ended', ended_at: run.now })
}

function byJob(jobs: readonly number[]): number[] {
  return jobs.map((_job, at) => at).sort((a, b) => (jobs[a] as number) - (jobs[b] as number))
}

function isSet(timer: TimerRow): timer is TimerRow & { start_at: number } {
  return timer.start_at !== null
}
