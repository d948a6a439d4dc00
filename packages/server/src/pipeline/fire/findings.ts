import type { Whereabouts } from './horizon.js'
import type { Overtaken, Scan } from './scan.js'

/** What scans have found and no pass has looked at yet: a scan after an outage finds more than a pass takes. */
export class Findings {
  private found = new Map<number, Whereabouts>()
  private looking: Promise<void> | null = null
  private failure: { error: unknown } | null = null
  /** Jobs that were fired, or about to be, at some time of the look under way: it may see them as they were before. */
  private overtaken = new Set<number>()

  constructor(private readonly scan: Scan) {}

  get size(): number {
    return this.found.size
  }

  /** Looks, unless there is something left from the last look; while nothing is being fired. Not for those that are about to be. */
  async look(isAboutTo: Overtaken): Promise<void> {
    await this.looking
    this.throwFailure()
    if (this.found.size === 0) this.found = await this.scan.runOnce(isAboutTo)
  }

  /** Begins to look while ticks are fired: `underWay` now, and those that `taken` tells of. What it finds is there for a later pass. */
  lookBeside(underWay: Iterable<number>): void {
    if (this.looking !== null || this.found.size > 0) return
    this.overtaken = new Set(underWay)
    this.looking = this.scan
      .runOnce((job) => this.overtaken.has(job))
      .then(
        (found) => {
          this.found = found
        },
        (error: unknown) => {
          this.failure = { error }
        },
      )
      .finally(() => {
        this.looking = null
      })
  }

  /** A pass fires these: what was found of them, or is being found, is no longer so. */
  taken(jobs: Iterable<number>): void {
    if (this.looking === null && this.found.size === 0) return
    for (const job of jobs) {
      this.overtaken.add(job)
      this.found.delete(job)
    }
  }

  /** Moves so many to those that a pass looks at. */
  moveTo(wanted: Map<number, Whereabouts>, most: number): void {
    let moved = 0
    for (const [job, whereabouts] of this.found) {
      if (moved++ >= most) break
      this.found.delete(job)
      wanted.set(job, whereabouts)
    }
  }

  /** Forgets what a look beside has met, and what one under way meets. */
  async forgiven(): Promise<void> {
    await this.looking
    this.failure = null
  }

  /** Throws what a look beside has met, once. */
  throwFailure(): void {
    const { failure } = this
    this.failure = null
    if (failure !== null) throw failure.error
  }
}
