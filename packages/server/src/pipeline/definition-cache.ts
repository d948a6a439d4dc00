import type { LeasedRun, RunDefinition } from './run.js'

const mostCached = 10_000

/** Definitions by job and version. A version never changes, so what was read once stays true. */
export class DefinitionCache {
  private readonly known = new Map<string, RunDefinition>()

  constructor(
    private readonly load: (
      wanted: readonly { job: number; version: number }[],
    ) => Promise<Map<string, RunDefinition>>,
  ) {}

  /** The definition of a run; those of its whole batch are read at once. Null when the database has none. */
  async get(run: LeasedRun, batch: readonly LeasedRun[]): Promise<RunDefinition | null> {
    if (!this.known.has(keyOf(run))) await this.loadMissing(batch)
    return this.known.get(keyOf(run)) ?? null
  }

  private async loadMissing(batch: readonly LeasedRun[]): Promise<void> {
    const missing = new Map(
      batch.filter((run) => !this.known.has(keyOf(run))).map((run) => [keyOf(run), run]),
    )
    if (this.known.size + missing.size > mostCached) this.known.clear()
    for (const [key, definition] of await this.load([...missing.values()])) this.known.set(key, definition)
  }
}

function keyOf(run: LeasedRun): string {
  return `${run.job}@${run.version}`
}
