// How long things took to be well again, and invariant 10: that they are.

/** @param {number[]} values */
export function quantiles(values) {
  const rising = [...values].sort((a, b) => a - b)
  const at = (share) =>
    rising.length === 0
      ? null
      : Math.round(rising[Math.min(rising.length - 1, Math.ceil(rising.length * share) - 1)])
  return { p50: at(0.5), p99: at(0.99), max: at(1), count: rising.length }
}

/**
 * Takeovers after kill -9 with the database reachable. For one lease after a restart of the server lost session locks say
 * nothing of their owners: kills in that time are told apart.
 */
export function takeovers(nemesis, ttlMs, firstFires) {
  const ups = nemesis.filter(({ database }) => database === 'up').map(({ at }) => at)
  const seen = nemesis.filter((entry) => 'takeover' in entry)
  const isSoon = ({ at }) => ups.some((up) => at > up && at - up < ttlMs + 500)
  const msOf = (entries, part) => entries.flatMap(({ [part]: ms }) => (ms == null ? [] : [ms]))
  const clear = seen.filter((entry) => !isSoon(entry))
  return {
    takeover_ms: quantiles(msOf(clear, 'takeover')),
    takeover_after_restart_ms: quantiles(msOf(seen.filter(isSoon), 'takeover')),
    // Each from the kill on: a partition is no longer the dead owner's, all are free, all are taken, each has fired again.
    takeover_parts_ms: {
      noticed: quantiles(msOf(clear, 'noticed')),
      freed: quantiles(msOf(clear, 'freed')),
      taken: quantiles(msOf(clear, 'takeover')),
      first_fire: quantiles(firstFires.msOf(clear)),
    },
    never: seen.filter(({ takeover, partitions }) => takeover === null && partitions !== 0).length,
  }
}

/** Of each epoch that came of a takeover, when it first fired. */
export class FirstFires {
  #firstAt = new Map()

  /** @param {object[]} nemesis @param {import('./timeline.mjs').Timeline} clock */
  constructor(nemesis, clock) {
    this.clock = clock
    for (const { epochs = [] } of nemesis)
      for (const [partition, epoch] of epochs)
        this.#firstAt.set(`${partition} ${epoch}`, Number.POSITIVE_INFINITY)
  }

  see(partition, rows) {
    for (const { fired_at, epoch } of rows) {
      const key = `${partition} ${epoch}`
      const first = this.#firstAt.get(key)
      if (fired_at !== null && first !== undefined && fired_at < first) this.#firstAt.set(key, fired_at)
    }
  }

  /** From the kill to the first fire of each partition that was taken over. @param {object[]} takeovers */
  msOf(takeovers) {
    return takeovers.flatMap(({ at, epochs = [] }) =>
      epochs.flatMap(([partition, epoch]) => {
        const first = this.#firstAt.get(`${partition} ${epoch}`)
        return Number.isFinite(first) ? [first - this.clock.database(at)] : []
      }),
    )
  }
}

/** From the death of a worker to the next delivery of what it had in flight. */
export class Redeliveries {
  ms = []
  /** Of workers over HTTP only their silence tells, for the length of a lease. */
  remoteMs = []
  #deaths = new Map()

  /** @param {object[]} nemesis @param {Map<number, { pid: number }>} incarnations */
  constructor(nemesis, incarnations) {
    this.incarnations = incarnations
    // Where no scheduler is left nobody takes runs back until one is: that time is the outage's, not the recovery's.
    const blackouts = nemesis
      .filter(({ fault }) => fault === 'blackout')
      .flatMap(({ victims }) => victims.map(({ pid }) => pid))
    for (const { ended, pid, signal, at } of nemesis)
      if (ended !== undefined && signal === 'SIGKILL' && !blackouts.includes(pid)) this.#deaths.set(pid, at)
  }

  /**
   * @param {object[]} rows of one run @param {object[]} deliveries in the order in which they arrived
   * @param {(from: number, to: number) => boolean} waited whether another run of its job had its place in that time
   */
  see(rows, deliveries, waited = () => false) {
    for (const { reason, worker, token } of rows) {
      if (reason !== 'worker_lost') continue
      const diedAt = this.#deaths.get(this.incarnations.get(worker)?.pid)
      const before = deliveries.find((delivery) => delivery.token === token)
      const next = deliveries.find((delivery) => delivery.token > token)
      if (diedAt === undefined || before === undefined || next === undefined || before.in > diedAt) continue
      if (waited(diedAt, next.in)) continue
      const { isRemote } = this.incarnations.get(worker)
      ;(isRemote ? this.remoteMs : this.ms).push(next.in - diedAt)
    }
  }
}

/** From the moment in which the database takes connections again to the next fire. */
export class Resumptions {
  #ups
  #first

  /** @param {object[]} nemesis @param {import('./timeline.mjs').Timeline} clock */
  constructor(nemesis, clock) {
    this.#ups = nemesis.filter(({ database }) => database === 'up').map(({ at }) => clock.database(at))
    this.#first = this.#ups.map(() => Number.POSITIVE_INFINITY)
  }

  see(rows) {
    for (const { fired_at } of rows) {
      if (fired_at === null) continue
      for (let at = this.#ups.length - 1; at >= 0; at--) {
        if (fired_at < this.#ups[at]) continue
        if (fired_at < this.#first[at]) this.#first[at] = fired_at
        break
      }
    }
  }

  get ms() {
    return this.#first.flatMap((first, at) => (Number.isFinite(first) ? [first - this.#ups[at]] : []))
  }
}

/** After healing: no lease without a living owner, nothing left to do, everything as small as it was. */
export function judgeHealth({ partitions, queue, looks }, verdict) {
  for (const { partition, owner, held } of partitions)
    if (owner !== 'alive' || !held)
      verdict.add('orphaned_lease', `partition ${partition}: its owner is ${owner ?? 'nobody'}`)
  for (const { job, due, held_by, holder } of queue)
    if (held_by !== null && holder !== 'alive')
      verdict.add(
        'orphaned_lease',
        `run ${job} ${due} is held by ${held_by}, which is ${holder ?? 'unknown'}`,
      )
  for (const { left } of looks) if (left !== null) verdict.add('not_drained', String(left))
  for (const { what, before, after, most } of looks.flatMap(({ sizes }) => sizes))
    if (!isNumber(after) || !isNumber(most) || after > most)
      verdict.add('not_back_to_baseline', `${what}: ${after}, at first ${before}, at most ${most} allowed`)
}

/** What could not be read is null once it is written down. */
function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value)
}

/**
 * No process ends of its own accord, whatever happens around it: it was killed by the harness, or told to end (`told`: by a
 * SIGTERM), and then it ends well.
 */
export function judgeEnds(nemesis, verdict) {
  const starved = starvedIn(nemesis)
  const killed = new Set(nemesis.flatMap((entry) => (entry.killed === undefined ? [] : [entry.killed])))
  for (const { ended, pid, code, signal, told, at } of nemesis) {
    if (ended === undefined) continue
    if ((signal === 'SIGABRT' || code === outOfMemory) && starved(pid, at)) continue
    const isMeant = signal === 'SIGKILL' ? killed.has(pid) : told && (code === 0 || killed.has(pid))
    if (!isMeant) verdict.add('crashed', `${ended} (pid ${pid}) ended with ${signal ?? code}`)
  }
}

/** How Node ends when its heap is full, where no signal is told. */
const outOfMemory = 134

/** Whether a process was one of those that were given too much to hold, at a time. */
function starvedIn(nemesis) {
  const lifted = new Map(
    nemesis.flatMap((entry) => (entry.lifted === undefined ? [] : [[entry.lifted, entry.at]])),
  )
  const windows = nemesis.filter(({ fault }) => fault === 'out-of-memory')
  const started = new Map(
    nemesis.flatMap((entry) => (entry.started === undefined ? [] : [[entry.pid, entry]])),
  )
  return (pid, at) =>
    windows.some(
      ({ number, at: from, victims }) =>
        at >= from &&
        at <= (lifted.get(number) ?? Number.POSITIVE_INFINITY) &&
        victims.some(({ name }) => name === started.get(pid)?.name),
    )
}
