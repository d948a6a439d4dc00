import type { Clock } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import type { LeasedRun } from '../run.js'

/** A worker over HTTP that asks for runs. */
export interface Ask {
  tenant: number
  holder: number
  tasks: readonly string[]
  most: number
}

/** Runs of one task of one tenant that are due, as a look saw them. */
export interface Lane {
  tenant: number
  task: string
  runs: number
}

export interface Sight<SeenLane extends Lane> {
  lanes: SeenLane[]
  nextInMs: number | null
  freed: number[]
}

/** What roles/ hands over: the queue, seen for all and leased for one. */
export interface PollPorts<SeenLane extends Lane> {
  look(wanted: readonly { tenant: number; task: string }[], most: number): Promise<Sight<SeenLane>>
  lease(ask: Ask, lanes: readonly SeenLane[], freed: readonly number[]): Promise<LeasedRun[]>
}

export interface PollsOptions<SeenLane extends Lane> {
  ports: PollPorts<SeenLane>
  clock: Clock
  metrics: Metrics
  /** Asks for a pass. */
  wake: () => void
}

interface Poll {
  ask: Ask
  signal: AbortSignal
  /** It has waited long enough: the next look is the last one for it. */
  over: boolean
  /** A look that began after it came has found nothing for it. */
  looked: boolean
  leasing: boolean
  settle: (runs: LeasedRun[]) => void
  fail: (error: unknown) => void
}

/** Between two looks, whatever asks for them. */
const leastMs = 20
/** A call that comes and may wait shares a look with those that come within this time. */
const shareMs = 100
/** While nothing is found, looks are ever further apart: from here to there. */
const firstMs = 50
const longestMs = 1_000
const leasesAtOnce = 4

/**
 * The calls that wait for work in this process, as one: a single look says where runs are due, and a lease follows only for
 * a call that gets something. A thousand that wait cost as many looks as one does.
 *
 * The look also tells when the next run is due, so that it is handed out at its instant although looks are far apart.
 */
export class Polls<SeenLane extends Lane> {
  private readonly waiting = new Set<Poll>()
  private lookedAt = Number.NEGATIVE_INFINITY
  private lookAt = Number.POSITIVE_INFINITY
  private distanceMs = firstMs
  private callOff: (() => void) | null = null
  private ended = false

  constructor(private readonly options: PollsOptions<SeenLane>) {}

  get size(): number {
    return this.waiting.size
  }

  /** The process stops: a call that comes now would get nothing, at once, and come again at once. */
  get hasEnded(): boolean {
    return this.ended
  }

  /** Runs for this call: as soon as there are some; none when the time is over, the caller hung up or the process stops. */
  async wait(ask: Ask, waitMs: number, signal: AbortSignal): Promise<LeasedRun[]> {
    const { clock } = this.options
    if (this.ended || signal.aborted) return []
    const poll = this.enter(ask, signal, waitMs <= 0)
    const callOff = waitMs > 0 ? clock.after(waitMs, () => this.giveUp(poll)) : () => undefined
    const onAbort = () => this.giveUp(poll)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await poll.answer
    } finally {
      callOff()
      signal.removeEventListener('abort', onAbort)
      this.leave(poll)
    }
  }

  /** There may be work, somebody of this process says. */
  hint(): void {
    this.distanceMs = firstMs
    if (this.waiting.size > 0) this.lookBy(this.lookedAt + leastMs)
  }

  /** The process stops: everybody is told that there is nothing. What is just being leased is still handed out. */
  end(): void {
    this.ended = true
    for (const poll of [...this.waiting]) if (!poll.leasing) poll.settle([])
  }

  /** One pass: a look, and a lease for each call that it promises something. Answers true when more is there. */
  async runOnce(): Promise<boolean> {
    const { clock } = this.options
    if (this.waiting.size === 0) return false
    if (clock.monotonic() < this.lookAt) {
      // A timer may fire a fraction before its time: it is set again.
      const planned = this.lookAt
      this.lookAt = Number.POSITIVE_INFINITY
      this.lookBy(planned)
      return false
    }
    this.lookAt = Number.POSITIVE_INFINITY
    this.lookedAt = clock.monotonic()
    const polls = [...this.waiting]
    try {
      return await this.serve(polls)
    } catch (error) {
      // Who has waited long enough is told; the others wait for the next look.
      for (const poll of polls) if (poll.over && !poll.leasing) poll.fail(error)
      throw error
    } finally {
      if (this.waiting.size > 0) this.lookBy(clock.monotonic() + this.distanceMs)
    }
  }

  private enter(ask: Ask, signal: AbortSignal, over: boolean): Poll & { answer: Promise<LeasedRun[]> } {
    let settle: Poll['settle'] = () => undefined
    let fail: Poll['fail'] = () => undefined
    const answer = new Promise<LeasedRun[]>((resolve, reject) => {
      settle = resolve
      fail = reject
    })
    const poll = { ask, signal, over, looked: false, leasing: false, settle, fail, answer }
    this.waiting.add(poll)
    this.options.metrics.remotePolls.set(this.waiting.size)
    this.lookBy(this.lookedAt + (over ? leastMs : shareMs))
    return poll
  }

  private leave(poll: Poll): void {
    this.waiting.delete(poll)
    this.options.metrics.remotePolls.set(this.waiting.size)
  }

  /** The time of a call is over, or its caller is gone. */
  private giveUp(poll: Poll): void {
    poll.over = true
    if (poll.leasing) return
    if (poll.looked || poll.signal.aborted) poll.settle([])
  }

  private async serve(polls: readonly Poll[]): Promise<boolean> {
    const { ports, clock, metrics } = this.options
    metrics.remoteLooks.inc()
    const most = Math.min(
      mostCounted,
      polls.reduce((sum, { ask }) => sum + ask.most, 0),
    )
    const seen = await ports.look(wantedOf(polls), most)
    const leased = await this.leaseFor(polls, seen)
    for (const poll of polls) {
      poll.looked = true
      if ((poll.over || this.ended) && !poll.leasing) poll.settle([])
    }
    const more = leased > 0 && this.waiting.size > 0
    this.distanceMs = leased > 0 ? firstMs : Math.min(longestMs, this.distanceMs * 2)
    if (seen.nextInMs !== null && seen.nextInMs < longestMs) this.lookBy(clock.monotonic() + seen.nextInMs)
    if (more) this.lookBy(this.lookedAt + leastMs)
    return more
  }

  /** Who came first is served first. A lane that gave less than it promised is empty for the rest of the pass. */
  private async leaseFor(polls: readonly Poll[], seen: Sight<SeenLane>): Promise<number> {
    const lanes = new Lanes(seen.lanes)
    let leased = 0
    const takeTurns = polls[Symbol.iterator]()
    const serveNext = async (): Promise<void> => {
      for (const poll of takeTurns) {
        const mine = this.waiting.has(poll) && !poll.signal.aborted ? lanes.promised(poll.ask) : []
        if (mine.length > 0) leased += await this.leaseOne(poll, lanes, mine, seen.freed)
      }
    }
    await Promise.all(Array.from({ length: leasesAtOnce }, serveNext))
    return leased
  }

  private async leaseOne(
    poll: Poll,
    lanes: Lanes<SeenLane>,
    mine: SeenLane[],
    freed: readonly number[],
  ): Promise<number> {
    poll.leasing = true
    lanes.reserve(mine, poll.ask.most)
    try {
      const runs = await this.options.ports.lease(poll.ask, mine, freed)
      poll.leasing = false
      if (runs.length > 0) poll.settle(runs)
      if (runs.length < poll.ask.most) lanes.exhaust(mine)
      return runs.length
    } catch (error) {
      // It may have been committed all the same. What the worker does not name with its next call is handed back then.
      poll.leasing = false
      poll.fail(error)
      return 0
    }
  }

  /** Looks at this time, or sooner if that was the plan. */
  private lookBy(at: number): void {
    if (at >= this.lookAt) return
    const { clock, wake } = this.options
    this.lookAt = at
    this.callOff?.()
    this.callOff = clock.after(Math.max(0, at - clock.monotonic()), wake)
  }
}

/** Of one lane no more is counted: what is beyond it is found by the next look, which follows at once. */
const mostCounted = 1_000

function wantedOf(polls: readonly Poll[]): { tenant: number; task: string }[] {
  const wanted = new Map<string, { tenant: number; task: string }>()
  for (const { ask } of polls) {
    for (const task of ask.tasks) wanted.set(`${ask.tenant} ${task}`, { tenant: ask.tenant, task })
  }
  return [...wanted.values()]
}

/** What is left of what a look promised. */
class Lanes<SeenLane extends Lane> {
  private readonly left: Map<SeenLane, number>

  constructor(lanes: readonly SeenLane[]) {
    this.left = new Map(lanes.map((lane) => [lane, lane.runs]))
  }

  /** The lanes of this call, if any of them has runs left. All of them: their order is the lease's matter. */
  promised({ tenant, tasks }: Ask): SeenLane[] {
    const mine = [...this.left.keys()].filter((lane) => lane.tenant === tenant && tasks.includes(lane.task))
    return mine.some((lane) => (this.left.get(lane) ?? 0) > 0) ? mine : []
  }

  reserve(lanes: readonly SeenLane[], most: number): void {
    let wanted = most
    for (const lane of lanes) {
      const left = this.left.get(lane) ?? 0
      const taken = Math.min(left, wanted)
      this.left.set(lane, left - taken)
      wanted -= taken
    }
  }

  exhaust(lanes: readonly SeenLane[]): void {
    for (const lane of lanes) this.left.set(lane, 0)
  }
}
