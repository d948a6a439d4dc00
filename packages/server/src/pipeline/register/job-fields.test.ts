import { fieldsOfInput, type JobInput, retryViewOf } from '@carillon/contract'
import { expect, test } from 'vitest'
import { defineJob } from './definition.js'

const registration = { jobId: 'job_1', now: Date.UTC(2026, 0, 1), minIntervalMs: 1_000, calendars: {} }
const inputs: JobInput[] = [
  { name: 'least', schedule: '0 9 * * *' },
  {
    name: 'most',
    schedule: { cron: '0 9 * * *' },
    timezone: 'Europe/Berlin',
    target: { type: 'http', url: 'https://example.com/' },
    payload: { a: [1] },
    retry: { max_attempts: 2, backoff: 'linear', base_ms: 500, max_elapsed_seconds: 60 },
    on_lost: 'fail',
    overlap_policy: 'ALLOW',
    max_concurrent: 3,
    tags: ['b', 'a'],
  },
  { name: 'short', schedule: '@every 1h', max_retries: 0, retry_backoff: 'fixed' },
]

test.each(inputs)('what a client expects of $name is what is registered', (input) => {
  const { anchor: _anchor, name: _name, ...definition } = defineJob(input, registration).definition
  const expected = fieldsOfInput(input)
  const labels = { description: null, managed_by: null, tags: [...(expected['tags'] as string[])] }
  const {
    max_retries: _retries,
    retry_backoff: _backoff,
    ...shown
  } = { ...definition, ...retryViewOf(definition) }
  expect({ ...labels, ...shown, tags: labels.tags }).toEqual(expected)
})
