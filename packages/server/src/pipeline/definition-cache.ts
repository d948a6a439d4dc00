import type { LeasedRun, RunDefinition } from './run.js'

/** Each of the two halves, so that 50,000 jobs that fire in turn are read once, and a crowd of one-offs costs no more memory. */
const mostPerHalf = 50_000

/**
 * Definitions by job and version. A version never changes, so what was read once stays true. When one half is full the older
 * one is forgotten: what was used since was moved over from it.
 */
export class DefinitionCache {
  private known = new Map<string, RunDefinition>()
  private older = new Map<string, RunDefinition>()

  constructor(
    private readonly read: (
      wanted: readonly { job: number; version: number }[],
    ) => Promise<Map<string, RunDefinition>>,
    private readonly perHalf = mostPerHalf,
  ) {}

  /** Reads what is not known yet of these runs, all at once. */
  async load(runs: readonly LeasedRun[]): Promise<void> {
    const missing = new Map<string, LeasedRun>()
    for (const run of runs) {
      const key = keyOf(run)
      if (!this.has(key)) missing.set(key, run)
    }
    if (missing.size === 0) return
    for (const [key, definition] of await this.read([...missing.values()])) this.keep(key, definition)
  }

  /** The definition of a run that was loaded. Null when the database has none. */
  of(run: LeasedRun): RunDefinition | null {
    const key = keyOf(run)
    return this.known.get(key) ?? this.older.get(key) ?? null
  }

  /** The same for one run of a batch; those of the whole batch are read at once. */
  async get(run: LeasedRun, batch: readonly LeasedRun[]): Promise<RunDefinition | null> {
    if (!this.has(keyOf(run))) await this.load(batch)
    return this.of(run)
  }

  /** Moves it over where it is among the older ones. */
  private has(key: string): boolean {
    if (this.known.has(key)) return true
    const definition = this.older.get(key)
    if (definition !== undefined) this.keep(key, definition)
    return definition !== undefined
  }

  private keep(key: string, definition: RunDefinition): void {
    if (this.known.size >= this.perHalf) {
      this.older = this.known
      this.known = new Map()
    }
    this.known.set(key, definition)
  }
}

function keyOf(run: LeasedRun): string {
  return `${run.job}@${run.version}`
}
