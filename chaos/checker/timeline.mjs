// When was what, by which clock: the harness writes the machine's time, Carillon the database's, which is elsewhere and steps.

/** How long before and after a step both readings are possible. */
const aroundStepMs = 2_000

export class Timeline {
  /** @param {{ at: number, from: number, to: number }[]} steps of the database's clock, rising by `at` */
  constructor(steps) {
    this.steps = steps
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
      at + Math.max(this.#shiftAt(at - aroundStepMs), this.#shiftAt(at), this.#shiftAt(at + aroundStepMs))
    )
  }

  /** Times of the database that came twice, or nearly so. */
  get unclear() {
    return this.steps
      .filter(({ from, to }) => to < from)
      .map(({ at, from, to }) => ({ from: at + to - aroundStepMs, to: at + from + aroundStepMs }))
  }

  isNearStep(at) {
    return this.steps.some((step) => step.from !== step.to && Math.abs(step.at - at) < aroundStepMs)
  }
}

/** How long after it was lifted a fault may still show: what it had held up arrives. */
const aftermathMs = 1_000

/** The times in which something was happening to a process. */
export class Windows {
  #byPid = new Map()
  #all = []

  /**
   * @param {{ fault: string, at: number, lifted: number, victims: { name: string, pid: number }[] }[]} faults
   * @param {{ name: string, pid: number, at: number }[]} starts
   * @param {{ pid: number, at: number }[]} ends
   * @param {Map<number, { pid: number }>} incarnations
   * @param {Timeline} clock
   */
  constructor(faults, starts, ends, incarnations, clock) {
    this.incarnations = incarnations
    const endedAt = new Map(ends.map(({ pid, at }) => [pid, at]))
    for (const { at, lifted, victims } of faults) {
      if (victims.length === 0) continue
      this.#all.push({ from: at, to: lifted + aftermathMs })
      const begun = starts.filter(
        (start) => start.at > at && start.at < lifted && victims.some(({ name }) => name === start.name),
      )
      for (const { pid } of [...victims, ...begun])
        this.#add(pid, at, Math.min(lifted + aftermathMs, endedAt.get(pid) ?? lifted + aftermathMs), clock)
    }
    // Whoever dies, of a fault or of its own, had something in flight.
    for (const { pid, at } of ends) this.#add(pid, at, at, clock)
  }

  #add(pid, from, to, clock) {
    this.#byPid.set(pid, [
      ...(this.#byPid.get(pid) ?? []),
      { from: clock.database(from), to: clock.database(to) },
    ])
  }

  /** Whether something was happening to a worker between two times of the database. */
  met(worker, from, to) {
    const windows = this.#byPid.get(this.incarnations.get(worker)?.pid) ?? []
    return windows.some((window) => from <= window.to && to >= window.from)
  }

  /** Whether anything was happening to anybody. @param {number} at by the machine's clock */
  open(at) {
    return this.#all.some(({ from, to }) => at >= from && at <= to)
  }
}
