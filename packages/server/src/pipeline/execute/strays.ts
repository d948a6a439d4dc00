import type { WorkerPorts } from './ports.js'

/** Remembered until their answers have come or were given up: those take seconds, and so many are not lost in that time. */
const mostGivenBack = 10_000

export interface StraysOptions {
  ports: Pick<WorkerPorts, 'held' | 'handBack'>
  self: () => number
  /** Whether the worker holds the run of this token. */
  knows: (token: number) => boolean
  /** When nothing is being handed over any more. */
  settled: () => Promise<void>
}

/**
 * Runs that the database says are this worker's, and that it does not know: an answer was lost, or a lease committed after
 * the worker had given up on it. They are given back.
 */
export class Strays {
  /** A statement may have leased runs without its answer: they must be found before anything else is leased. */
  inDoubt = false
  private unknownBefore: ReadonlySet<number> = new Set()
  private readonly givenBack = new Set<number>()

  constructor(private readonly options: StraysOptions) {}

  /** An answer that brings one of these comes too late. */
  wasGivenBack(token: number): boolean {
    return this.givenBack.has(token)
  }

  async settleDoubt(): Promise<void> {
    const { ports, self, knows, settled } = this.options
    const held = await ports.held(self())
    // What is being handed over is known only when the scheduler has its answer.
    await settled()
    await ports.handBack(
      self(),
      held.filter((run) => !knows(run.token)),
    )
    this.inDoubt = false
  }

  /** Two looks apart, so that one whose answer is just on its way is not given back. */
  async lookOnce(): Promise<undefined> {
    const { ports, self, knows } = this.options
    const unknown = (await ports.held(self())).filter((run) => !knows(run.token))
    const certain = unknown.filter((run) => this.unknownBefore.has(run.token))
    this.unknownBefore = new Set(unknown.map((run) => run.token))
    for (const { token } of certain) this.givenBack.add(token)
    for (const token of this.givenBack) {
      if (this.givenBack.size <= mostGivenBack) break
      this.givenBack.delete(token)
    }
    await ports.handBack(self(), certain)
  }
}
