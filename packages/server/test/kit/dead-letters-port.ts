import {
  CarillonError,
  type DeadLetter,
  type DeadLetterDetail,
  type Redrive,
  type RedriveFilter,
  type Run,
  type RunDetail,
} from '@carillon/contract'
import type { DeadLettersPort } from '../../src/http/api.js'

/** Dead letters in memory, behind the port that the HTTP room is handed. */
export class MemoryDeadLetters implements DeadLettersPort {
  readonly stored = new Map<string, DeadLetterDetail>()
  readonly redrives: Redrive[] = []
  /** What was asked for, in order. */
  readonly asked: unknown[] = []

  list: DeadLettersPort['list'] = (_tenant, query) => {
    this.asked.push({ list: query })
    return Promise.resolve({ data: [...this.stored.values()], next_cursor: null })
  }

  groups: DeadLettersPort['groups'] = (_tenant, query) => {
    this.asked.push({ groups: query })
    return Promise.resolve({ data: [] })
  }

  get: DeadLettersPort['get'] = (_tenant, runId) => this.find(runId)

  redrive: DeadLettersPort['redrive'] = async (_tenant, runId, input) => {
    const letter = await this.find(runId)
    this.asked.push({ redrive: runId, input })
    this.stored.delete(runId)
    return runDetailOf({ run_id: letter.run_id, job_id: letter.job_id, status: 'pending' } as Run)
  }

  discard: DeadLettersPort['discard'] = async (_tenant, runId) => {
    await this.find(runId)
    this.stored.delete(runId)
  }

  discardMany: DeadLettersPort['discardMany'] = (_tenant, filter) => {
    this.asked.push({ discard: filter })
    const count = this.stored.size
    this.stored.clear()
    return Promise.resolve(count)
  }

  startRedrive: DeadLettersPort['startRedrive'] = (_tenant, filter) => {
    this.asked.push({ start: filter })
    const redrive = redriveOf(this.redrives.length + 1, filter)
    this.redrives.push(redrive)
    return Promise.resolve(redrive)
  }

  listRedrives: DeadLettersPort['listRedrives'] = () => Promise.resolve({ data: this.redrives })

  getRedrive: DeadLettersPort['getRedrive'] = (_tenant, number) => {
    const found = this.redrives.find(({ redrive }) => redrive === number)
    return found === undefined
      ? Promise.reject(new CarillonError('redrive_not_found'))
      : Promise.resolve(found)
  }

  cancelRedrive: DeadLettersPort['cancelRedrive'] = async (tenant, number) => ({
    ...(await this.getRedrive(tenant, number)),
    state: 'cancelled',
  })

  private find(runId: string): Promise<DeadLetterDetail> {
    const letter = this.stored.get(runId)
    return letter === undefined
      ? Promise.reject(new CarillonError('dead_letter_not_found'))
      : Promise.resolve(letter)
  }
}

export function runDetailOf(run: Run): RunDetail {
  return { ...run, round: 1, attempts: [] }
}

export function letterOf(number: number, given: Partial<DeadLetter> = {}): DeadLetterDetail {
  return {
    run_id: `run_${String(number).padStart(30, '0')}`,
    job_id: `job_${String(number).padStart(26, '0')}`,
    job: 'nightly',
    scheduled_at: '2026-11-01T09:00:00Z',
    dead_at: '2026-11-01T09:05:00Z',
    reason: 'task_error',
    error: 'boom',
    fingerprint: '00000000deadbeef',
    attempts: 4,
    max_attempts: 4,
    round: 1,
    version: 1,
    catch_up: false,
    payload_changed: false,
    ...given,
    pattern: 'task_error: boom',
    result: null,
    payload: null,
    target: { type: 'task', task: 'log' },
    definition: {},
    job_state: 'active',
    current_version: 1,
    history: [],
  }
}

function redriveOf(number: number, filter: RedriveFilter): Redrive {
  return {
    redrive: number,
    state: 'running',
    reason: null,
    job_id: filter.job_id ?? null,
    fingerprint: filter.fingerprint ?? null,
    after: null,
    before: '2026-11-01T09:00:00Z',
    per_second: filter.per_second ?? 10,
    canary: filter.canary ?? 0,
    version: filter.version ?? 'recorded',
    canaries: [],
    total: 0,
    moved: 0,
    created_at: '2026-11-01T09:00:00Z',
    ended_at: null,
  }
}
