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

/** The times in which something was happening to a process. */
export class Windows {
  #byPid = new Map()
  #all = []

  /**
   * @param {{ at: number, until: number, victims: { name: string }[] }[]} faults
   * @param {{ name: string, pid: number }[]} starts
   * @param {Map<number, { pid: number }>} incarnations
   * @param {Timeline} clock
   * @param {number} slackMs how long after it was healed a fault may still show
   */
  constructor(faults, starts, incarnations, clock, slackMs) {
    this.incarnations = incarnations
    const pids = new Map()
    for (const { name, pid } of starts) pids.set(name, [...(pids.get(name) ?? []), pid])
    for (const { at, until, victims } of faults) {
      if (victims.length === 0) continue
      const window = { from: clock.database(at), to: clock.database(until + slackMs) }
      this.#all.push({ from: at, to: until + slackMs })
      for (const pid of victims.flatMap(({ name }) => pids.get(name) ?? []))
        this.#byPid.set(pid, [...(this.#byPid.get(pid) ?? []), window])
    }
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
