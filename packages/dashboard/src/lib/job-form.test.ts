import type { Job } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { ApiError } from '@carillon/sdk/browser'
import { emptyForm, formOf, inputOf, patchOf, refusalOf } from './job-form.js'

const job = {
  ...{
    job_id: 'job_1',
    name: 'nightly',
    description: null,
    tags: ['a', 'b'],
    managed_by: 'repo',
    state: 'active',
    version: 3,
  },
  ...{
    schedule: [{ cron: '0 9 * * *' }, '@every 5m'],
    timezone: 'Europe/Madrid',
    dst_gap: 'skip',
    dst_overlap: 'both',
  },
  ...{
    exclude: ['2026-12-24/2027-01-02', 'bank holidays'],
    on_excluded: 'exclude',
    starts_at: null,
    ends_at: '2027-01-01T00:00:00Z',
  },
  ...{
    max_runs: null,
    jitter_seconds: 30,
    fire_window_seconds: 0,
    payload: { a: [1] },
    overlap_policy: 'ALLOW',
  },
  target: {
    type: 'http',
    url: 'https://a.test/x',
    method: 'PUT',
    headers: { 'X-A': 'b: c' },
    success_codes: ['2xx', 404],
  },
  ...{
    missed_window: 'RUN_ALL',
    max_missed: 10,
    max_retries: 2,
    retry_backoff: 'fixed',
    timeout_seconds: 60,
    priority: 7,
  },
} as unknown as Job

describe('the form of a job', () => {
  it('that nobody touched changes nothing', () => {
    expect(inputOf(formOf(job)).problems).toEqual({})
    expect(patchOf(job, formOf(job))).toEqual({})
  })

  it('sends what was changed and nothing else, and keeps what it does not show', () => {
    const form = { ...formOf(job), timeout_seconds: '90', ends_at: '' }
    expect(patchOf(job, form)).toEqual({ timeout_seconds: 90, ends_at: null })
    const target = { ...job.target, url: 'https://b.test/' } as Job['target']
    expect(patchOf(job, { ...formOf(job), target })).toEqual({
      target: { ...job.target, url: 'https://b.test/' },
    })
  })

  it('keeps a colon in a header, and a comma-separated list of exclusions', () => {
    const { input } = inputOf(formOf(job))
    expect(input.target).toEqual(job.target)
    expect(input.exclude).toEqual(job.exclude)
    expect(input.schedule).toEqual(job.schedule)
  })

  it.each([
    ['a name', { name: ' ' }, 'name'],
    ['a schedule', { schedule: '' }, 'schedule'],
    ['rules that are JSON', { schedule: '[{"cron":' }, 'schedule'],
    ['a payload that is JSON', { payload: '{a}' }, 'payload'],
    ['whole numbers', { timeout_seconds: '1.5' }, 'timeout_seconds'],
    [
      'headers with a name',
      { headers: 'no colon', target: { type: 'http' as const, url: 'https://a.test' } },
      'headers',
    ],
    ['a URL', { target: { type: 'http' as const, url: 'nowhere' } }, 'target'],
    ['a command', { target: { type: 'command' as const, shell: '' } }, 'target'],
    ['arguments that are a list', { target: { type: 'command' as const }, argv: 'ls' }, 'argv'],
  ])('asks for %s', (_, changes, field) => {
    const { problems } = inputOf({ ...emptyForm, name: 'n', target: { type: 'task', task: 't' }, ...changes })
    expect(Object.keys(problems)).toEqual([field])
  })
})

describe('what the server refuses', () => {
  const refused = (...errors: { pointer: string; message: string; hint?: string }[]) =>
    refusalOf(
      new ApiError({ status: 422, code: 'x', detail: 'd', hint: '', errors, requestId: undefined }),
      emptyForm,
    )

  it('stands beside its field, also inside of it', () =>
    expect(
      refused(
        { pointer: '/name', message: 'is taken' },
        { pointer: '/exclude/0', message: 'is no calendar', hint: 'Make one.' },
        { pointer: '/target/headers/X-A', message: 'is reserved' },
        { pointer: '/target/url', message: 'is private' },
        { pointer: '/target', message: 'a second word on it' },
      ),
    ).toEqual({
      problems: {
        name: 'is taken',
        exclude: 'is no calendar Make one.',
        headers: 'is reserved',
        target: 'is private',
      },
      elsewhere: false,
    }))

  it('is told beside the button where the form has no such field, or it is about none', () => {
    expect(refused({ pointer: '/max_concurrent', message: 'has no meaning' }).elsewhere).toBe(true)
    expect(refused().elsewhere).toBe(true)
    expect(refusalOf(new Error('offline'), emptyForm)).toEqual({ problems: {}, elsewhere: true })
    expect(refusalOf(null, emptyForm)).toEqual({ problems: {}, elsewhere: false })
  })
})
