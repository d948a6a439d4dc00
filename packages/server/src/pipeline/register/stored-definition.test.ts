import type { JobDefinition, JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { defineJob } from './definition.js'
import { storedText, wholeDefinition } from '../../db/stored-definition.js'

function definitionOf(input: Partial<JobInput>): JobDefinition {
  const terms = { now: 1_794_833_650_925, minIntervalMs: 1_000 }
  const calendars = { holidays: { dates: ['2030-01-01'] } }
  return defineJob({ name: 'a', schedule: '0 9 * * *', ...input }, { ...terms, calendars }).definition
}

const stored = (definition: JobDefinition) => JSON.parse(storedText(definition)) as Partial<JobDefinition>

/** Of every field a value that is not its default. */
const unusual: Partial<JobInput> = {
  description: 'what it is',
  tags: ['a'],
  managed_by: 'somebody',
  timezone: 'Europe/Madrid',
  dst_gap: 'skip',
  dst_overlap: 'both',
  exclude: ['holidays'],
  on_excluded: 'next_workday' as never,
  starts_at: '2026-01-01T00:00:00Z',
  ends_at: '2036-01-01T00:00:00Z',
  max_runs: 7,
  jitter_seconds: 1,
  fire_window_seconds: 2,
  payload: { a: null },
  idempotency_key_template: '{{job_id}}',
  retry: { backoff: 'fixed', base_ms: 2, cap_ms: 3, max_attempts: 9, max_elapsed_seconds: 5 },
  max_retries: 7,
  on_lost: 'fail',
  missed_window: 'SKIP',
  max_missed: 1,
  misfire_grace_seconds: 4,
  overlap_policy: 'ALLOW',
  max_concurrent: 3,
  priority: 1,
  timeout_seconds: 6,
  expect: { start_within_seconds: 8 },
}

describe('a definition', () => {
  const definition = definitionOf({})

  test('comes back as it was, when it says nothing that is unusual', () => {
    expect(wholeDefinition(stored(definition))).toEqual(definition)
  })

  test.each(Object.keys(unusual))('comes back as it was, with another %s', (field) => {
    const value = { ...definition, ...differing(field) }
    expect(value).not.toEqual(definition)
    expect(wholeDefinition(stored(value))).toEqual(value)
  })

  test('is stored without what most jobs leave as it is', () => {
    expect(stored(definition)).toEqual({
      name: 'a',
      schedule: '0 9 * * *',
      anchor: 1_794_833_650_925,
      target: { type: 'task', task: 'a' },
    })
  })

  test('stands in the order in which Postgres keeps its fields', () => {
    const whole = {
      ...definition,
      ...Object.assign({}, ...Object.keys(unusual).map(differing)),
    } as JobDefinition
    const fields = Object.keys(stored(whole))
    expect(fields).toHaveLength(Object.keys(definition).length)
    const byLengthAndLetters = (a: string, b: string) => a.length - b.length || (a < b ? -1 : 1)
    expect(fields).toEqual([...fields].sort(byLengthAndLetters))
  })

  /** Jobs are stored without them: another value here would change every job that there is. */
  test('means for ever the same by what it does not say', () => {
    expect(wholeDefinition({})).toEqual({
      description: null,
      tags: [],
      managed_by: null,
      timezone: 'UTC',
      dst_gap: 'run_after',
      dst_overlap: 'first',
      exclude: [],
      on_excluded: 'exclude',
      starts_at: null,
      ends_at: null,
      max_runs: null,
      jitter_seconds: 0,
      fire_window_seconds: 0,
      payload: null,
      idempotency_key_template: '{{job_id}}:{{scheduled_at_unix}}',
      max_retries: 3,
      retry_backoff: 'exponential',
      retry: { base_ms: 1_000, factor: 2, cap_ms: 300_000 },
      on_lost: 'retry',
      missed_window: 'RUN_ONCE',
      max_missed: 10,
      misfire_grace_seconds: null,
      overlap_policy: 'SKIP',
      max_concurrent: null,
      priority: 5,
      timeout_seconds: 300,
      expect: null,
    })
  })

  test('shares what it does not say with others, and nobody can write into it', () => {
    const whole = wholeDefinition<{ tags?: string[] }>({})
    expect(() => whole.tags?.push('mine')).toThrow(TypeError)
    expect(wholeDefinition<{ tags?: string[] }>({}).tags).toEqual([])
  })
})

function differing(field: string): Partial<JobDefinition> {
  const value = (unusual as Record<string, unknown>)[field]
  if (field !== 'retry') return { [field]: value }
  return { retry: { base_ms: 2, factor: 2, cap_ms: 3, max_elapsed_seconds: 5 }, retry_backoff: 'fixed' }
}
