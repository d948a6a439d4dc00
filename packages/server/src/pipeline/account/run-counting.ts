import { byIndex } from '../../db/by-index.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

const claimStatement = statement<
  { settled_ms: number; most_ms: number; oldest_ms: number },
  { through: number; since: number; until: number; now: number }
>(new URL('./claim-count.sql', import.meta.url))
const countStatement = statement<{ since: number; until: number; classes: number[] }, { through: number }>(
  new URL('./count-runs.sql', import.meta.url),
)
const forgetStatement = statement<{ older_ms: number }, { at: number }>(
  new URL('./forget-counts.sql', import.meta.url),
)
const summarizeStatement = statement<Record<string, never>, { ranges: number }>(
  new URL('./summarize-ledger.sql', import.meta.url),
)

/** How late a run began, in milliseconds: the lower ends of the classes that are counted. */
export const lagClasses = [
  ...[1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700],
  ...[1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 60_000, 300_000, 3_600_000],
]

/** A row may be committed this long after its instant, and be counted. A later one is missing in the counts alone. */
const settledMs = 3_000
const mostMs = 60_000
const keptMs = 2 * 3_600_000

/** Counts what the ledger gets, for those who look how things go. Any scheduler may do it: one does. */
export class RunCounting {
  constructor(private readonly database: Database) {}

  /** Answers whether more is waiting. */
  async runOnce(): Promise<boolean> {
    await this.database.run(summarizeStatement, {})
    const span = await this.database.transaction(async (runner) => {
      const [claimed] = await runner.run(claimStatement, {
        settled_ms: settledMs,
        most_ms: mostMs,
        oldest_ms: keptMs,
      })
      if (claimed === undefined) return null
      const { through, since, until, now } = claimed
      if (until <= since && through <= now) return null
      await byIndex(runner)
      await runner.run(countStatement, { since, until, classes: lagClasses })
      return claimed
    })
    if (span === null) return false
    await this.database.run(forgetStatement, { older_ms: keptMs })
    return span.until < span.now - settledMs
  }
}
