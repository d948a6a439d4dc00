// When was what, by which clock: the harness writes the machine's time, Carillon the database's, which is elsewhere and steps.

/** Times are written down in parts of a millisecond, and read a moment apart. */
const roundingMs = 0.5
/** How long before and after a step both readings are possible. */
const aroundStepMs = 2_000

export class Timeline {
  #repeated

  /**
   * @param {{ at: number, from: number, to: number }[]} steps of the database's clock, rising by `at`
   * @param {number} [driftMs] by which the machine's wall clock went away from the monotonic one in the course of the run
   */
  constructor(steps, driftMs = 0) {
    this.steps = steps
    this.uncertainMs = Math.abs(driftMs) + roundingMs
    this.#repeated = steps
      .filter(({ from, to }) => to < from)
      .map(({ at, from, to }) => ({ from: at + to - aroundStepMs, to: at + from + aroundStepMs }))
  }

  #shiftAt(at) {
    let shift = this.steps[0]?.from ?? 0
    for (const step of this.steps) if (step.at <= at) shift = step.to
    return shift
  }

  /** What the database's clock showed. */
  database(at) {
    return at + this.#shiftAt(at)
  }

  /** What it may have shown at the latest. */
  latest(at) {
    return (
      at +
      this.uncertainMs +
      Math.max(this.#shiftAt(at - aroundStepMs), this.#shiftAt(at), this.#shiftAt(at + aroundStepMs))
    )
  }

  /** Whether a time of the database came twice, or nearly so. */
  isUnclear(time) {
    return this.#repeated.some(({ from, to }) => time >= from && time <= to)
  }

  isNearStep(at) {
    return this.steps.some((step) => step.from !== step.to && Math.abs(step.at - at) < aroundStepMs)
  }
}

/** How long after it was lifted a fault still goes on: what it had held up arrives. */
const aftermathMs = 1_000

/** The times in which something was happening to a process. */
export class Windows {
  #byPid = new Map()
  #all = []

  /**
   * @param {{ at: number, lifted: number, victims: { name: string, pid: number }[] }[]} faults
   * @param {{ pid: number, at: number }[]} terminations when processes were told to end
   * @param {{ pid: number, at: number }[]} ends
   * @param {{ incarnations: Map<number, { pid: number }>, clock: Timeline, ttlMs: number }} frame
   */
  constructor(faults, terminations, ends, { incarnations, clock, ttlMs }) {
    this.incarnations = incarnations
    this.ttlMs = ttlMs
    const endedAt = new Map(ends.map(({ pid, at }) => [pid, at]))
    const add = (pid, from, to) => {
      const window = { from: clock.database(from), to: clock.database(Math.min(to, endedAt.get(pid) ?? to)) }
      this.#byPid.set(pid, [...(this.#byPid.get(pid) ?? []), window])
    }
    for (const { at, lifted, victims } of faults) {
      if (victims.length > 0) this.#all.push({ from: at, to: lifted + aftermathMs })
      for (const { pid } of victims) add(pid, at, lifted + aftermathMs)
    }
    for (const { pid, at } of terminations) add(pid, at, Number.POSITIVE_INFINITY)
    // Whoever dies, of a fault or of its own, had something in flight.
    for (const { pid, at } of ends) add(pid, at, at)
  }

  /** Whether something was happening to a worker between two times of the database. */
  met(worker, from, to) {
    return this.#of(worker).some((window) => from <= window.to && to >= window.from)
  }

  /** Whether a worker that was found dead at a time can have been so because of something that had happened to it. */
  explain(worker, at) {
    return this.#of(worker).some((window) => at >= window.from && at <= window.to + this.ttlMs)
  }

  #of(worker) {
    return this.#byPid.get(this.incarnations.get(worker)?.pid) ?? []
  }

  /** Whether anything was happening to anybody. @param {number} at by the machine's clock */
  open(at) {
    return this.#all.some(({ from, to }) => at >= from && at <= to)
  }
}
