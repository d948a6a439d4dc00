import { CarillonError, type LoadForecast, type LoadSuggestion } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { readInstant } from '../../time/instant.js'
import { timelineOf } from '../../time/timeline.js'
import { readCalendars } from '../calendars.js'
import { Breather } from './breather.js'
import { type ActiveJob, Demand } from './demand.js'
import { hottestSeconds } from './hottest.js'
import { suggest } from './suggest.js'
import { Turns } from './turns.js'
import { utcText } from '../../time/iso-text.js'

const countStatement = statement<
  { tenant: number; kind: string | null; target: string | null; tags: string[] | null; most: number },
  { now: number; jobs: number }
>(new URL('./count-active.sql', import.meta.url))
const jobsStatement = statement<
  {
    tenant: number
    after: number
    every: number
    kind: string | null
    target: string | null
    tags: string[] | null
    most: number
  },
  ActiveJob
>(new URL('./active-jobs.sql', import.meta.url))

export interface ForecastsOptions {
  database: Database
  clock: Clock
  /** So many jobs are all read for a forecast. */
  mostJobs?: number
  /** Of more than that, about so many: whoever looks at the load is not to wait long for what a part tells as well. */
  sampledJobs?: number
}

export interface ForecastQuery {
  by: 'minute' | 'hour'
  from?: string | undefined
  target?: string | undefined
  /** All of them. */
  tags?: string[] | undefined
}

const windows = {
  minute: { seconds: 86_400, bucket: 60 },
  hour: { seconds: 7 * 86_400, bucket: 3_600 },
} as const
const pageRows = 500
const countedMost = 5_000_000
const defaultMostJobs = 200_000
const defaultSampledJobs = 50_000
const hottestShown = 10
const keptMs = 60_000
const mostKept = 50
/** Of one tenant, beside the one that is being computed. */
const mostWaiting = 5

/** How many ticks start when, computed by the time engine from the jobs as they are now. Kept for a minute. */
export class Forecasts {
  private readonly kept = new Map<string, { at: number; answer: Promise<unknown> }>()
  private readonly turns = new Turns(mostWaiting)

  constructor(private readonly options: ForecastsOptions) {}

  forecast(tenant: number, query: ForecastQuery): Promise<LoadForecast> {
    const key = JSON.stringify([
      tenant,
      query.by,
      query.from ?? null,
      query.target ?? null,
      query.tags ?? null,
    ])
    return this.remembered(tenant, key, () => this.compute(tenant, query))
  }

  suggestion(tenant: number): Promise<LoadSuggestion> {
    return this.remembered(tenant, JSON.stringify([tenant, 'suggestion']), async () => {
      const { demand, breather, to } = await this.demandOf(tenant, { by: 'minute' })
      return {
        from: utcText(demand.from),
        to: utcText(to),
        ...(await suggest(demand, breather)),
        sampled: demand.sampled,
      }
    })
  }

  private async compute(tenant: number, query: ForecastQuery): Promise<LoadForecast> {
    const { demand, jobs, breather, to } = await this.demandOf(tenant, query)
    const { bucket } = windows[query.by]
    const buckets: LoadForecast['buckets'] = []
    for (let begin = 0; begin < demand.seconds.length; begin += bucket) {
      const firings = demand.seconds.subarray(begin, begin + bucket).reduce((sum, count) => sum + count, 0)
      buckets.push({ at: utcText(demand.from + begin * 1000), firings: Math.round(firings) })
    }
    const hottest: LoadForecast['hottest'] = []
    for (const { second, firings } of hottestSeconds(demand.seconds, hottestShown)) {
      const sample = await demand.samplesAt(second, breather)
      hottest.push({ at: utcText(demand.from + second * 1000), firings: Math.round(firings), sample })
    }
    return {
      by: query.by,
      from: utcText(demand.from),
      to: utcText(to),
      jobs,
      buckets,
      hottest,
      sampled: demand.sampled,
    }
  }

  private async demandOf(tenant: number, query: ForecastQuery) {
    const { database, clock, mostJobs = defaultMostJobs, sampledJobs = defaultSampledJobs } = this.options
    const filter = { ...filterOf(query.target), tags: query.tags ?? null }
    const [found] = await database.run(countStatement, { tenant, ...filter, most: countedMost })
    const { now, jobs } = found ?? { now: 0, jobs: 0 }
    const { seconds, bucket } = windows[query.by]
    const begin = query.from === undefined ? now : read(query.from)
    const from = Math.floor(begin / (bucket * 1000)) * bucket * 1000
    const every = jobs <= mostJobs ? 1 : Math.ceil(jobs / sampledJobs)
    const demand = new Demand(from, seconds, every)
    const breather = new Breather(clock)
    const calendars = (await readCalendars(database, [tenant])).get(tenant) ?? {}
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page: ActiveJob[] = await database.run(jobsStatement, {
        tenant,
        after,
        every,
        ...filter,
        most: pageRows,
      })
      for (const job of page) {
        demand.add(job, calendars)
        await breather.breathe()
      }
      after = page.length < pageRows ? undefined : page.at(-1)?.job
    }
    await demand.count(breather)
    return { demand, jobs, breather, to: from + seconds * 1000 }
  }

  private remembered<Answer>(tenant: number, key: string, compute: () => Promise<Answer>): Promise<Answer> {
    const now = this.options.clock.monotonic()
    for (const [old, { at }] of this.kept) if (now - at > keptMs) this.kept.delete(old)
    const known = this.kept.get(key)
    if (known !== undefined) return known.answer as Promise<Answer>
    for (const oldest of this.kept.keys()) if (this.kept.size >= mostKept) this.kept.delete(oldest)
    const answer = this.turns.take(tenant, compute)
    this.kept.set(key, { at: now, answer })
    // A failure is no forecast: the next who asks tries again.
    answer.catch(() => this.kept.delete(key))
    return answer
  }
}

/** `http`, `task`, `command`, or one of them with a name after a colon. */
function filterOf(target: string | undefined): { kind: string | null; target: string | null } {
  if (target === undefined) return { kind: null, target: null }
  const [kind = '', ...name] = target.split(':')
  if (!['http', 'task', 'command'].includes(kind)) {
    throw new CarillonError('validation_failed', {
      detail: `${JSON.stringify(target)} names no target.`,
      errors: [{ pointer: 'query:target', message: 'must be http, task, command, http:HOST or task:NAME' }],
    })
  }
  return { kind, target: name.length === 0 ? null : name.join(':') }
}

function read(text: string): number {
  try {
    return readInstant(text, 'query:from', timelineOf('UTC'))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    throw new CarillonError('validation_failed', { detail: error.message, errors: [...error.errors] })
  }
}
