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
    private readonly load: (
      wanted: readonly { job: number; version: number }[],
    ) => Promise<Map<string, RunDefinition>>,
    private readonly perHalf = mostPerHalf,
  ) {}

  /** The definition of a run; those of its whole batch are read at once. Null when the database has none. */
  async get(run: LeasedRun, batch: readonly LeasedRun[]): Promise<RunDefinition | null> {
    const key = keyOf(run)
    if (!this.has(key)) await this.loadMissing(batch)
    return this.known.get(key) ?? this.older.get(key) ?? null
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

  private async loadMissing(batch: readonly LeasedRun[]): Promise<void> {
    const missing = new Map(batch.filter((run) => !this.has(keyOf(run))).map((run) => [keyOf(run), run]))
    for (const [key, definition] of await this.load([...missing.values()])) this.keep(key, definition)
  }
}

function keyOf(run: LeasedRun): string {
  return `${run.job}@${run.version}`
}
