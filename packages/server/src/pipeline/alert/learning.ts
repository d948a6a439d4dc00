import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import type { Learned } from './judge-tail.js'

const learnedStatement = statement<{ jobs: number[] }, Learned & { job: number }>(
  new URL('./learned.sql', import.meta.url),
)

const keptMs = 600_000
const mostKept = 5_000
const mostAtOnce = 500

/**
 * How long runs of jobs usually take, from the ledger. Asked only about jobs with a run that is long already, which are few; what
 * was found is kept for a while, of so many jobs at most.
 */
export class Learning {
  private readonly known = new Map<number, { learned: Learned; at: number }>()

  constructor(private readonly clock: Clock) {}

  async of(runner: Runner, jobs: Iterable<number>): Promise<Map<number, Learned>> {
    const wanted = [...new Set(jobs)].slice(0, mostKept)
    const now = this.clock.monotonic()
    const unknown = wanted.filter((job) => {
      const entry = this.known.get(job)
      return entry === undefined || entry.at < now - keptMs
    })
    for (let at = 0; at < unknown.length; at += mostAtOnce) {
      const asked = unknown.slice(at, at + mostAtOnce)
      const found = new Map(
        (await runner.run(learnedStatement, { jobs: asked })).map((row) => [row.job, row]),
      )
      for (const job of asked) this.keep(job, found.get(job) ?? { samples: 0, p95: 0 }, now)
    }
    return new Map(
      wanted.flatMap((job) => {
        const entry = this.known.get(job)
        return entry === undefined ? [] : [[job, entry.learned] as const]
      }),
    )
  }

  private keep(job: number, { samples, p95 }: Learned, at: number): void {
    this.known.delete(job)
    this.known.set(job, { learned: { samples, p95 }, at })
    if (this.known.size <= mostKept) return
    const [first] = this.known.keys()
    if (first !== undefined) this.known.delete(first)
  }
}
