import type { Brake, ClusterView, Event, Verification, Why } from '@carillon/contract'
import { CarillonError } from '@carillon/contract'
import type { AccountPort } from '../../src/http/api.js'

/** Answers of the account made by hand, behind the port that the HTTP room is handed. */
export class MemoryAccount implements AccountPort {
  readonly asked: unknown[] = []
  readonly stored: Event[] = []
  current: Brake | null = null

  why(tenant: number, jobId: string, at: string): Promise<Why> {
    this.asked.push({ tenant, jobId, at })
    return jobId.endsWith('9')
      ? Promise.reject(new CarillonError('job_not_found'))
      : Promise.resolve(someWhy(jobId))
  }

  verify(tenant: number, query: Parameters<AccountPort['verify']>[1]): Promise<Verification> {
    this.asked.push({ tenant, ...query })
    return Promise.resolve(someVerification())
  }

  cluster(tenant: number): Promise<ClusterView> {
    this.asked.push({ tenant })
    return Promise.resolve(someCluster)
  }

  events(query: { tenant: number; openOnly: boolean; limit: number }): Promise<Event[]> {
    this.asked.push(query)
    return Promise.resolve(this.stored)
  }

  brake(): Promise<Brake | null> {
    return Promise.resolve(this.current)
  }

  setBrake(input: Parameters<AccountPort['setBrake']>[0]): Promise<Brake> {
    this.asked.push(input)
    const { window_factor = 1, catch_up_factor = 1, reason } = input
    const times = { set_at: '2026-11-02T12:00:00Z', ends_at: '2026-11-02T12:30:00Z' }
    this.current = { window_factor, catch_up_factor, reason, ...times }
    return Promise.resolve(this.current)
  }

  clearBrake(): Promise<boolean> {
    const was = this.current !== null
    this.current = null
    return Promise.resolve(was)
  }
}

export function someWhy(jobId: string): Why {
  return {
    job_id: jobId,
    job: 'digest',
    at: '2026-11-02T09:00:00Z',
    local: '2026-11-02T10:00:00+01:00',
    timezone: 'Europe/Madrid',
    now: '2026-11-02T12:00:00Z',
    verdict: 'skipped',
    run_id: null,
    doubled: false,
    summary: 'Not run (overlap): the run of an earlier tick was still going on.',
    reason: 'overlap',
    todo: 'overlap_policy QUEUE lets one tick wait.',
    before: '2026-11-02T08:00:00Z',
    after: '2026-11-02T10:00:00Z',
    segment: { version: 1, from: '2026-11-01T00:00:00Z', to: null, zone_data: '2026a' },
    start_at: null,
    fired_at: null,
    leased_at: null,
    attempts: [],
    range: null,
    replay: null,
  }
}

export function someVerification(given: Partial<Verification> = {}): Verification {
  return {
    from: '2026-11-02T09:00:00Z',
    to: '2026-11-02T12:00:00Z',
    jobs: 2,
    expected: 10,
    ran: 4,
    late: 1,
    caught_up: 1,
    skipped: 2,
    in_flight: 1,
    paused: 0,
    pending: 1,
    unaccounted: 0,
    doubled: 0,
    unexpected: 0,
    wrong_count: 0,
    tz_changed: 0,
    failed: 1,
    not_verifiable: 0,
    skipped_by_reason: { overlap: 2 },
    findings: [],
    notes: [],
    next_cursor: null,
    ...given,
  }
}

const someCluster: ClusterView = {
  now: '2026-11-02T12:00:00Z',
  nodes: [],
  workers: { alive: 0, data: [] },
  partitions: [],
  unowned: 0,
  lag_ms: 0,
  timers_due: 0,
  queue: { total: 0, running: 0, ready: 0, waiting: 0, ahead: 0, parked: 0, oldest_ready_ms: 0 },
  replays: { running: 0, paused: 0, ticks_left: 0 },
  brake: null,
  events: [],
}
