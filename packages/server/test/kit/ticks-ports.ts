import type { Backfill, BackfillPlan, LoadForecast, LoadSuggestion, Tick } from '@carillon/contract'
import { CarillonError } from '@carillon/contract'
import type { BackfillsPort, LoadPort, TicksPort } from '../../src/http/api.js'

const at = '2026-12-01T09:00:00Z'
export const aTick: Tick = { due: at, start_at: at, due_local: '2026-12-01T09:00:00+00:00', state: 'planned' }
export const aPlan: BackfillPlan = {
  ticks: 2,
  first: at,
  last: at,
  excluded_done: 1,
  estimated_seconds: 2,
}

/** Ticks, backfills and forecasts in memory, behind the ports that the HTTP room is handed. */
export class MemoryTicks implements TicksPort {
  readonly asked: unknown[] = []
  constructor(private readonly find: (jobId: string) => Promise<unknown>) {}

  async list(_tenant: number, jobId: string, query: unknown) {
    await this.find(jobId)
    this.asked.push({ list: query })
    return { data: [aTick], next_cursor: null }
  }
  skip = (_tenant: number, jobId: string, input: unknown) => this.change(jobId, { skip: input }, 'skipped')
  move = (_tenant: number, jobId: string, input: unknown) => this.change(jobId, { move: input }, 'moved')
  restore = (_tenant: number, jobId: string, input: unknown) =>
    this.change(jobId, { restore: input }, 'planned')

  private async change(jobId: string, asked: unknown, state: Tick['state']): Promise<Tick> {
    await this.find(jobId)
    this.asked.push(asked)
    return { ...aTick, state }
  }
}

export class MemoryBackfills implements BackfillsPort {
  readonly stored = new Map<string, Backfill>()
  constructor(private readonly find: (jobId: string) => Promise<unknown>) {}

  async plan(_tenant: number, jobId: string) {
    await this.find(jobId)
    return aPlan
  }

  async start(_tenant: number, jobId: string, input: { from: string; to: string; per_minute?: number }) {
    await this.find(jobId)
    const backfill: Backfill = {
      backfill_id: `bf_${String(this.stored.size + 1).padStart(13, '0')}`,
      job_id: jobId,
      from: at,
      to: at,
      state: 'running',
      total: 2,
      started: 0,
      done: 0,
      failed: 0,
      per_minute: input.per_minute ?? 60,
      only_missing: true,
      reason: null,
      created_at: at,
      eta_seconds: 2,
    }
    this.stored.set(backfill.backfill_id, backfill)
    return backfill
  }

  async list(_tenant: number, query: { jobId?: string }) {
    if (query.jobId !== undefined) await this.find(query.jobId)
    const data = [...this.stored.values()].filter(
      ({ job_id: job }) => query.jobId === undefined || job === query.jobId,
    )
    return { data, next_cursor: null }
  }

  get(_tenant: number, backfillId: string) {
    const found = this.stored.get(backfillId)
    if (found === undefined) return Promise.reject(new CarillonError('backfill_not_found'))
    return Promise.resolve(found)
  }

  async cancel(tenant: number, backfillId: string) {
    const found = await this.get(tenant, backfillId)
    if (found.state === 'cancelled') throw new CarillonError('backfill_ended')
    const cancelled: Backfill = { ...found, state: 'cancelled', eta_seconds: 0 }
    this.stored.set(backfillId, cancelled)
    return cancelled
  }
}

export class MemoryLoad implements LoadPort {
  readonly asked: unknown[] = []

  forecast(_tenant: number, query: { by: 'minute' | 'hour' }): Promise<LoadForecast> {
    this.asked.push(query)
    return Promise.resolve({
      by: query.by,
      from: at,
      to: at,
      jobs: 1,
      buckets: [{ at, firings: 1 }],
      hottest: [{ at, firings: 1, sample: [] }],
      sampled: false,
    })
  }

  suggestion(): Promise<LoadSuggestion> {
    return Promise.resolve({
      from: at,
      to: at,
      peak_before: 0,
      peak_after: 0,
      suggestions: [],
      sampled: false,
    })
  }
}
