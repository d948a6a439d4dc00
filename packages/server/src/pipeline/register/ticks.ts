import type { MoveInput, RestoreInput, SkipInput, Tick, TickList } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { uuidOf } from '../../platform/ids.js'
import { type JobName, notFound } from './change.js'
import { comingTicks } from './coming-ticks.js'
import { moveTick, restoreTick, skipTick } from './one-tick.js'

export interface TicksOptions {
  database: Database
  /** Told after a tick was changed: it may be near. */
  onChanged: () => void
}

/** The coming ticks of jobs, and what people ask of single ones. What it acknowledges is committed. */
export class Ticks {
  constructor(private readonly options: TicksOptions) {}

  list(tenant: number, jobId: string, query: { from: string | undefined; count: number }): Promise<TickList> {
    return comingTicks(this.options.database, nameOf(tenant, jobId), query)
  }

  skip(tenant: number, jobId: string, input: SkipInput): Promise<Tick> {
    return this.changed(skipTick(this.options.database, nameOf(tenant, jobId), input))
  }

  move(tenant: number, jobId: string, input: MoveInput): Promise<Tick> {
    return this.changed(moveTick(this.options.database, nameOf(tenant, jobId), input))
  }

  restore(tenant: number, jobId: string, input: RestoreInput): Promise<Tick> {
    return this.changed(restoreTick(this.options.database, nameOf(tenant, jobId), input))
  }

  private async changed(change: Promise<Tick>): Promise<Tick> {
    const tick = await change
    this.options.onChanged()
    return tick
  }
}

function nameOf(tenant: number, jobId: string): JobName {
  const uuid = uuidOf(jobId)
  if (uuid === null) throw notFound(jobId)
  return { tenant, uuid }
}
