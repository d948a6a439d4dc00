import type { Run } from '@carillon/contract'
import { byIndex } from '../../db/by-index.js'
import { codeOf, isDatabaseUnavailable } from '../../db/errors.js'
import type { Database, Runner, Snapshot } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf } from '../../platform/ids.js'
import { type RunRow, runView } from './history.js'
import { placeText, type TailPlace } from './tail-place.js'
import { earliestReach, TailReach } from './tail-reach.js'

interface TailRow extends RunRow {
  tenant: number
  job: number
  /** Null: the job is forgotten. */
  uuid: string | null
  final: boolean
  /** Not part of the batch amid which the reader was cut off. */
  later: boolean
}

interface News {
  ended: TailRow[]
  began: TailRow[]
  /** There were more than one look tells. */
  more: boolean
}

const positionStatement = statement<Record<string, never>, { snapshot: string; now: number }>(
  new URL('./tail-position.sql', import.meta.url),
)
const ledgerStatement = statement<
  {
    since: number
    seen: string
    up_to: string | null
    tenants: number[]
    jobs: number[] | null
    skip: number
    most: number
  },
  TailRow
>(new URL('./tail-ledger.sql', import.meta.url))
const runningStatement = statement<
  { seen: string; at: number; tenants: number[]; jobs: number[] | null; most: number },
  TailRow
>(new URL('./tail-running.sql', import.meta.url))

export interface TailEvent {
  id: string
  run: Run
}

/** Who watches, what of, and from where. */
export interface Watcher {
  tenant: number
  /** Only of this job. */
  job: number | null
  /** Null: from now on. */
  from: TailPlace | null
  /** Called with every look, also when there is nothing new: `place` is where the watcher stands after the events. */
  onRuns(events: TailEvent[], place: string): void
  /** Runs between these instants were passed over. */
  onGap(gap: { from: number; to: number; reason: 'too_many' | 'too_long_ago' }, place: string): void
}

export interface RunTailOptions {
  database: Database
  clock: Clock
  /** Of one look, for all who watch. */
  mostEvents?: number
  /** From longer ago nobody goes on. */
  longestMs?: number
}

const defaultMostEvents = 2_000
const defaultLongestMs = 900_000
/** A look that takes long is followed by a rest: watching costs the database a tenth of one connection at most. */
const restFactor = 9
const statementTimeout = '57014'

/**
 * Tells whoever watches which runs begin and end, wherever in the fleet. One look at the ledger for all who watch in this
 * process, and none while nobody does. Nothing is written for it, and nothing on the way of a run knows of it.
 */
export class RunTail {
  private readonly watchers = new Map<Watcher, TailPlace | null>()
  private readonly reach = new TailReach()
  private place: TailPlace | null = null
  private restUntil = Number.NEGATIVE_INFINITY

  constructor(private readonly options: RunTailOptions) {}

  /** Takes effect with the next look. Answers what ends it. */
  watch(watcher: Watcher): () => void {
    this.watchers.set(watcher, watcher.from)
    return () => this.watchers.delete(watcher)
  }

  get watching(): number {
    return this.watchers.size
  }

  async runOnce(): Promise<undefined> {
    const { clock, database } = this.options
    if (this.watchers.size === 0) this.place = null
    const begun = clock.monotonic()
    if (this.watchers.size === 0 || begun < this.restUntil) return
    // Whoever comes during the look is told from the next one on.
    const watchers = [...this.watchers.keys()]
    const { next, tellings } = await database.snapshot((runner) => this.look(runner, watchers))
    // Only after all was read: a look that fails is done anew, and must have told nobody anything.
    this.place = next
    for (const watcher of watchers) if (this.watchers.has(watcher)) this.watchers.set(watcher, next)
    for (const tell of tellings) tell()
    const took = clock.monotonic() - begun
    this.restUntil = begun + took + took * restFactor
  }

  private async look(
    runner: Snapshot,
    watchers: Watcher[],
  ): Promise<{ next: TailPlace; tellings: (() => void)[] }> {
    await byIndex(runner)
    const [position] = await runner.run(positionStatement, {})
    if (position === undefined) throw new Error('The database did not say where the ledger stands.')
    const { snapshot, now } = position
    const next = { at: now, since: this.reach.note(now, snapshot), seen: snapshot, within: null }
    const { place } = this
    const isThere = (watcher: Watcher) => place !== null && this.watchers.get(watcher) === place
    const there = watchers.filter(isThere)
    const tellings = place === null ? [] : await this.goOn(runner, there, place, next)
    for (const watcher of watchers.filter((one) => !isThere(one))) {
      const from = this.watchers.get(watcher) ?? null
      if (from === null) tellings.push(() => watcher.onRuns([], placeText(next)))
      else tellings.push(...(await this.resume(runner, watcher, from, next)))
    }
    return { next, tellings }
  }

  /** For everybody who was there at the last look: one read for all, unless that is too much for one. */
  private async goOn(
    runner: Runner,
    watchers: Watcher[],
    from: TailPlace,
    next: TailPlace,
  ): Promise<(() => void)[]> {
    if (watchers.length === 0) return []
    const news = await this.read(runner, watchers, from)
    const tellings: (() => void)[] = []
    for (const group of alike(watchers)) {
      // Many runs of one tenant must not hide those of another.
      const own = news.more ? await this.read(runner, [group[0]], from) : news
      tellings.push(() => deliver(group, own, from, next))
    }
    return tellings
  }

  /** From a place that the watcher names: whatever it makes of that, nobody else's look fails with it. */
  private async resume(
    runner: Snapshot,
    watcher: Watcher,
    given: TailPlace,
    next: TailPlace,
  ): Promise<(() => void)[]> {
    const { longestMs = defaultLongestMs } = this.options
    const passOver = (reason: 'too_many' | 'too_long_ago') => [
      () => watcher.onGap({ from: given.at, to: next.at, reason }, placeText(next)),
    ]
    if (Math.abs(next.at - given.at) > longestMs) return passOver('too_long_ago')
    const from = { ...given, since: Math.max(given.since, earliestReach(given.at)) }
    try {
      const news = await runner.apart(() => this.read(runner, [watcher], from))
      return [() => deliver([watcher], news, from, next)]
    } catch (error) {
      if (isDatabaseUnavailable(error) && codeOf(error) !== statementTimeout) throw error
      return passOver('too_many')
    }
  }

  private async read(runner: Runner, watchers: Watcher[], from: TailPlace): Promise<News> {
    const { mostEvents = defaultMostEvents } = this.options
    const scope = scopeOf(watchers)
    const ended = await runner.run(ledgerStatement, {
      since: from.since,
      seen: from.seen,
      up_to: from.within?.upTo ?? null,
      ...scope,
      skip: from.within?.told ?? 0,
      most: mostEvents + 1,
    })
    const { seen, at } = from
    const began = await runner.run(runningStatement, { seen, at, ...scope, most: mostEvents + 1 })
    return {
      ended: ended.slice(0, mostEvents),
      began: began.slice(0, mostEvents),
      more: ended.length > mostEvents || began.length > mostEvents,
    }
  }
}

/** To watchers of the same runs: what they are told is made once. */
function deliver(
  [first, ...rest]: [Watcher, ...Watcher[]],
  { ended, began, more }: News,
  from: TailPlace,
  next: TailPlace,
): void {
  const isTheirs = ({ tenant, job }: TailRow) =>
    tenant === first.tenant && (first.job === null || job === first.job)
  const end = placeText(next)
  const rows = [
    ...withPlaces(ended.filter(isTheirs), from, next),
    ...began.filter(isTheirs).map((row) => ({ id: end, row })),
  ]
  const known = rows.filter(({ row }) => row.uuid !== null)
  const events = known.map(({ id, row }) => ({ id, run: viewOf(row) }))
  for (const watcher of [first, ...rest]) {
    watcher.onRuns(events, end)
    if (more) watcher.onGap({ from: from.at, to: next.at, reason: 'too_many' }, end)
  }
}

/** Each event tells where to go on after it: amid its batch, at the end of an earlier one, or at the end of this look. */
function withPlaces(rows: TailRow[], from: TailPlace, next: TailPlace): { id: string; row: TailRow }[] {
  const { within, ...base } = from
  const earlier = rows.findIndex(({ later }) => later)
  const left = earlier < 0 ? rows.length : earlier
  return rows.map((row, at) => {
    if (at === rows.length - 1) return { id: placeText(next), row }
    if (within !== null && at < left) {
      const told = within.told + at + 1
      return { id: placeText({ ...base, within: { upTo: within.upTo, told } }), row }
    }
    const seen = within?.upTo ?? base.seen
    return { id: placeText({ ...base, seen, within: { upTo: next.seen, told: at - left + 1 } }), row }
  })
}

function alike(watchers: Watcher[]): [Watcher, ...Watcher[]][] {
  const groups = new Map<string, [Watcher, ...Watcher[]]>()
  for (const watcher of watchers) {
    const key = `${watcher.tenant}.${watcher.job ?? ''}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [watcher])
    else group.push(watcher)
  }
  return [...groups.values()]
}

function scopeOf(watchers: Watcher[]): { tenants: number[]; jobs: number[] | null } {
  const jobs = watchers.map(({ job }) => job)
  return {
    tenants: [...new Set(watchers.map(({ tenant }) => tenant))],
    jobs: jobs.some((job) => job === null) ? null : [...new Set(jobs as number[])],
  }
}

/** An attempt that another one follows has not ended its run: that waits. */
function viewOf(row: TailRow): Run {
  const jobId = jobIdOf(row.uuid ?? '')
  if (row.final) return runView(row, row.job, jobId)
  const waiting: RunRow = {
    ...row,
    status: 'pending',
    attempt: row.attempt + 1,
    reason: 'waiting_for_retry',
    available_at: null,
    started_at: null,
    finished_at: null,
    token: null,
    worker: null,
  }
  return runView(waiting, row.job, jobId)
}
