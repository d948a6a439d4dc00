import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf } from '../../platform/ids.js'
import { type Finding, fingerprintOf, type JobFacts } from './finding.js'
import { slow, slowBound, slowMs } from './judge-tail.js'
import { Learning } from './learning.js'
import { raise } from './record.js'
import { RuleBook } from './rule-book.js'
import { gathered } from './storm.js'

const longStatement = statement<
  { jobs: number[]; dues: number[]; started_ats: number[]; remote: boolean; most: number },
  JobFacts & { due: number; took: number }
>(new URL('./long-runs.sql', import.meta.url))

/** A run that is under way, with when it started by the database's clock. */
export interface UnderWay {
  job: number
  due: number
  startedAt: number
}

export interface LongRunsOptions {
  database: Database
  clock: Clock
  /** The longest runs of this process's worker, so many at most. */
  underWay: (most: number) => UnderWay[]
  /** Whether runs of workers over HTTP are looked at as well. */
  remote: boolean
}

const most = 500

/**
 * Says that a run takes too long while it is under way. Each process judges what its worker has, which it knows without a look into
 * the queue; those with the api role judge what workers over HTTP have. When a later attempt ends in time, the watch closes it.
 */
export class LongRuns {
  private readonly learning: Learning
  private readonly told = new Set<string>()

  constructor(private readonly options: LongRunsOptions) {
    this.learning = new Learning(options.clock)
  }

  async runOnce(): Promise<undefined> {
    const { database, underWay, remote } = this.options
    const own = underWay(most)
    if (own.length === 0 && !remote) return
    const runs = await database.run(longStatement, {
      jobs: own.map(({ job }) => job),
      dues: own.map(({ due }) => due),
      started_ats: own.map(({ startedAt }) => Math.floor(startedAt)),
      remote,
      most,
    })
    const going = new Set(runs.map(keyOf))
    for (const key of this.told) if (!going.has(key)) this.told.delete(key)
    const untold = runs.filter((run) => !this.told.has(keyOf(run)))
    if (untold.length === 0) return
    const rules = await RuleBook.read(
      database,
      untold.map(({ tenant }) => tenant),
    )
    const learned = await this.learning.of(
      database,
      untold
        .filter(({ expect, took }) => expect?.finish_within_seconds === undefined && took >= slowMs)
        .map(({ job }) => job),
    )
    const found: Finding[] = []
    const said: string[] = []
    for (const run of untold) {
      const rule = rules.find(run.tenant, 'slow_run', run)
      const bound = slowBound(run, rule, learned.get(run.job))
      if (!rule.enabled || bound === null || run.took <= bound.ms) continue
      const { subject, detail, mark } = slow(run, bound, run.took, run.due)
      const { tenant, job } = run
      found.push({
        ...{ tenant, job, kind: 'slow_run', severity: rule.severity, subject, mark },
        fingerprint: fingerprintOf('slow_run', run),
        detail: { job_id: jobIdOf(run.uuid), ...detail },
      })
      said.push(keyOf(run))
    }
    await raise(database, await gathered(database, found))
    for (const key of said) this.told.add(key)
  }
}

function keyOf({ job, due }: { job: number; due: number }): string {
  return `${job} ${due}`
}
