import type { Job } from '@carillon/sdk'
import { retryFieldsOf, retryViewOf } from '@carillon/contract'
import fc from 'fast-check'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import type { Abilities } from '../calls/abilities.js'
import { carryOut, type Tools } from './carry-out.js'
import { complete, concise, definitionOf, same } from './complete.js'
import type { Declared, DeclaredInput } from './declared.js'
import { exportText } from './export.js'
import { planOf } from './plan.js'
import { planText, valueText } from './plan-view.js'
import { presentJobs } from './present.js'
import { readJobs } from './read-jobs.js'
import { warningLines } from './warnings.js'
import { ApiError } from '@carillon/sdk'

const look = { colors: pc.createColors(false), width: 80, now: new Date(0), timeZone: 'UTC' }
const none: ReadonlySet<string> = new Set()

/** A job as the server shows it. */
function jobOf(input: DeclaredInput, more: Partial<Job> & { managed_by?: string | null } = {}): Job {
  const { retry: _retry, ...definition } = complete(input)
  return {
    ...definition,
    ...retryViewOf(retryFieldsOf(input)),
    job_id: `job_${input.name}`,
    state: 'active',
    version: 1,
    warnings: [],
    ...more,
  } as unknown as Job
}

function declared(input: Partial<DeclaredInput>, paused?: boolean): Declared {
  return {
    input: { name: 'a', schedule: '@daily', ...input },
    at: { file: 'f', line: 1 },
    ...(paused !== undefined && { paused }),
  }
}

const inputs: fc.Arbitrary<DeclaredInput> = fc
  .record(
    {
      name: fc.string({ minLength: 1, maxLength: 20 }),
      schedule: fc.constantFrom<DeclaredInput['schedule']>(
        '0 9 * * 1',
        '@every 5m',
        { cron: '0 0 1 * 1', day_match: 'and' },
        ['@daily', { at: '2027-01-01T00:00:00Z' }],
      ),
      timezone: fc.constantFrom('UTC', 'Europe/Madrid'),
      description: fc.string({ minLength: 1, maxLength: 30 }),
      tags: fc.array(fc.constantFrom('a', 'b:c'), { maxLength: 2 }),
      payload: fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null),
      target: fc.constantFrom<NonNullable<DeclaredInput['target']>>(
        { type: 'task', task: 't' },
        { type: 'http', url: 'https://example.com', headers: { 'X-A': '1: # "' } },
        { type: 'command', shell: 'a\n| b' },
      ),
      max_retries: fc.integer({ min: 0, max: 9 }),
      retry_backoff: fc.constantFrom('fixed', 'linear', 'exponential'),
      overlap_policy: fc.constantFrom('SKIP', 'ALLOW'),
      exclude: fc.constantFrom<string[][]>(['2026-12-25'], []),
      starts_at: fc.constant('2026-12-01'),
      misfire_grace_seconds: fc.integer({ min: 0, max: 9 }),
      on_lost: fc.constantFrom('retry', 'fail'),
    },
    { requiredKeys: ['name', 'schedule'] },
  )
  .chain((input) =>
    fc.boolean().map((inFull) => {
      if (!inFull) return input
      const { max_retries: _retries, retry_backoff: backoff = 'linear', ...rest } = input
      return { ...rest, retry: { max_attempts: 3, backoff, base_ms: 7, cap_ms: 50 } }
    }),
  )

describe('export', () => {
  it('says the same again when it is read: whatever a job is, its export differs in nothing', () => {
    fc.assert(
      fc.property(inputs, fc.boolean(), (input, paused) => {
        const job = jobOf(input, { state: paused ? 'paused' : 'active' })
        const { declared: read, remarks } = readJobs(exportText([job]), 'f')
        expect(remarks).toEqual([])
        expect(planOf(read, new Map([[job.name, job]]), { unknown: none })).toMatchObject([
          { action: 'keep' },
        ])
      }),
    )
  })

  it('leaves out what is the default', () => {
    expect(exportText([jobOf({ name: 'a', schedule: '@daily' })])).toBe(
      'jobs:\n  - name: a\n    schedule: "@daily"\n',
    )
    expect(concise(definitionOf(jobOf({ name: 'a', schedule: '@daily', max_retries: 1 })))).toEqual({
      name: 'a',
      schedule: '@daily',
      max_retries: 1,
    })
  })
})

describe('a plan', () => {
  const job = jobOf({
    name: 'a',
    schedule: '@daily',
    target: { type: 'http', url: 'https://x', headers: { A: '1', B: '2' } },
  })
  const present = new Map([[job.name, job]])

  it('tells a change leaf by leaf', () => {
    const [step] = planOf(
      [declared({ target: { type: 'http', url: 'https://x', headers: { A: '1', C: '3' } }, priority: 9 })],
      present,
      { unknown: none },
    )
    expect(step).toMatchObject({
      action: 'change',
      changes: [
        { path: 'target.headers.B', before: '2', after: undefined },
        { path: 'target.headers.C', before: undefined, after: '3' },
        { path: 'priority', before: 5, after: 9 },
      ],
    })
  })

  it('tells retries once', () => {
    const [step] = planOf([declared({ target: job.target, max_retries: 5 })], present, { unknown: none })
    expect(step).toMatchObject({ changes: [{ path: 'max_retries', before: 3, after: 5 }] })
    const retry = { max_attempts: 4, base_ms: 50 }
    const [fuller] = planOf([declared({ target: job.target, retry })], present, { unknown: none })
    expect(fuller).toMatchObject({ changes: [{ path: 'retry.base_ms' }] })
  })

  it('passes over fields that the server does not know', () => {
    const [step] = planOf([declared({ target: job.target, tags: ['x'] })], present, {
      unknown: new Set(['tags']),
    })
    expect(step).toMatchObject({ action: 'keep' })
  })

  it('pauses and resumes what says so, and leaves the rest as it is', () => {
    const paused = new Map([['a', { ...job, state: 'paused' as const }]])
    const target = { target: job.target }
    expect(planOf([declared(target, true)], present, { unknown: none })).toMatchObject([
      { pause: true, fields: [] },
    ])
    expect(planOf([declared(target, false)], paused, { unknown: none })).toMatchObject([{ pause: false }])
    expect(planOf([declared(target)], paused, { unknown: none })).toMatchObject([{ action: 'keep' }])
  })

  it('deletes only what its owner has and the files have not', () => {
    const mine = jobOf({ name: 'mine', schedule: '@daily' }, { managed_by: 'me' })
    const other = jobOf({ name: 'other', schedule: '@daily' }, { managed_by: 'you' })
    const all = new Map([mine, other, job].map((one) => [one.name, one]))
    const steps = planOf([declared({ target: job.target })], all, { unknown: none, pruneOwner: 'me' })
    expect(steps.map((step) => [step.action, 'job' in step ? step.job.name : ''])).toEqual([
      ['keep', 'a'],
      ['delete', 'mine'],
    ])
  })

  it.each(['me', null])(
    'begins nothing again that ended by itself (owner: %s), unless it changed',
    (owner) => {
      const ended = jobOf(
        { name: 'a', schedule: '@daily', max_runs: 3 },
        { state: 'ended', managed_by: owner },
      )
      const present = new Map([['a', ended]])
      const again = declared({ max_runs: 3, managed_by: 'me' }, true)
      expect(planOf([again], present, { unknown: none, pruneOwner: 'me' })).toMatchObject([
        { action: 'keep' },
      ])
      const more = declared({ max_runs: 5, managed_by: 'me' })
      expect(planOf([more], present, { unknown: none })).toMatchObject([{ action: 'create' }])
      expect(planOf([], present, { unknown: none, pruneOwner: 'me' })).toEqual([])
    },
  )

  it('keeps the owner of a job where nobody names another', () => {
    const owned = jobOf({ name: 'a', schedule: '@daily' }, { managed_by: 'you' })
    expect(planOf([declared({})], new Map([['a', owned]]), { unknown: none })).toMatchObject([
      { action: 'keep' },
    ])
  })

  it('shows no secret', () => {
    const headers = { Authorization: 'Bearer hunter2', A: '1' }
    const steps = planOf([declared({ target: { type: 'http', url: 'https://x', headers } })], present, {
      unknown: none,
    })
    expect(planText(steps, look)).not.toContain('hunter2')
    expect(
      planText(
        planOf(
          steps.map((s) => (s as { declared: Declared }).declared),
          new Map(),
          { unknown: none },
        ),
        look,
      ),
    ).not.toContain('hunter2')
    expect(valueText('target.env.API_KEY', 'x')).toBe('(hidden)')
    expect(valueText('target', { env: { PGPASS: 'hunter2', DB: 'pg://u:hunter2@h/d' } })).toBe(
      '{"env":{"PGPASS":"(hidden)","DB":"pg://u:(hidden)@h/d"}}',
    )
  })
})

describe('carrying out', () => {
  const abilities: Abilities = { takes: () => true, has: () => true }
  const nobody = { code: 'no_worker_for_commands', message: 'Nobody runs it: --allow-commands.' }
  function tools(calls: string[], fail?: string): Tools {
    const note = (what: string, name: string) => {
      calls.push(`${what} ${name}`)
      if (name === fail)
        throw new ApiError({
          status: 422,
          code: 'invalid_schedule',
          detail: 'no',
          hint: '',
          errors: [{ pointer: '/schedule', message: 'is bad' }],
          requestId: undefined,
        })
      return Promise.resolve({ job_id: `job_${name}`, name, warnings: [nobody] } as unknown as Job)
    }
    const jobs = {
      create: ({ name }: DeclaredInput) => note('create', name),
      upsert: (name: string) => note('put', name),
      delete: (id: string) => note('delete', id),
      pause: (id: string) => note('pause', id),
      resume: (id: string) => note('resume', id),
    }
    return {
      client: { jobs } as unknown as Tools['client'],
      abilities,
      pauseReason: 'x',
      onStep: () => undefined,
    }
  }
  const gone = jobOf({ name: 'gone', schedule: '@daily' }, { managed_by: 'me' })
  const old = jobOf({ name: 'old', schedule: '@hourly' })
  const steps = () =>
    planOf(
      [declared({ name: 'old' }, true), declared({ name: 'new' })],
      new Map([
        ['gone', gone],
        ['old', old],
      ]),
      {
        unknown: none,
        pruneOwner: 'me',
      },
    )

  it('creates first and deletes last', async () => {
    const calls: string[] = []
    const { done, failed } = await carryOut(steps(), tools(calls))
    expect(calls).toEqual(['create new', 'put old', 'pause job_old', 'delete job_gone'])
    expect(done.map(({ action }) => action)).toEqual(['created', 'changed', 'deleted'])
    expect(failed).toEqual([])
  })

  it('says what the server warns of, once for all jobs, also for those that stay as they are', async () => {
    const same = jobOf({ name: 'same', schedule: '@daily' }, { warnings: [nobody] as Job['warnings'] })
    const kept = planOf([declared({ name: 'same' })], new Map([['same', same]]), { unknown: none })
    const { warnings } = await carryOut([...steps(), ...kept], tools([]))
    expect(warnings.map(({ name }) => name)).toEqual(['same', 'new', 'job_old'])
    expect(warningLines(warnings, look.colors)).toEqual([
      '! same, new, job_old: Nobody runs it: --allow-commands. (no_worker_for_commands)',
    ])
  })

  it('tells a refusal by its place, goes on, and deletes nothing', async () => {
    const calls: string[] = []
    const { done, failed } = await carryOut(steps(), tools(calls, 'new'))
    expect(calls).toEqual(['create new', 'put old', 'pause job_old'])
    expect(done).toHaveLength(1)
    expect(failed).toMatchObject([
      { at: { file: 'f', line: 1 }, text: 'new: schedule: is bad (invalid_schedule)' },
    ])
  })
})

describe('present jobs', () => {
  const named = (name: string, state: string, id: string) =>
    ({ ...jobOf({ name, schedule: '@daily' }), state, job_id: id }) as Job
  const all = [
    named('cancelled', 'cancelled', '4'),
    named('done', 'ended', '3'),
    named('done', 'ended', '2'),
    named('again', 'active', '1'),
    named('again', 'ended', '0'),
    named('cancelled', 'ended', '0'),
  ]
  const client = {
    jobs: {
      getByName: (name: string) => Promise.resolve(all.find((job) => job.name === name)),
      // eslint-disable-next-line @typescript-eslint/require-await -- as the client has it
      async *iterate() {
        yield* all
      },
    },
  } as unknown as Tools['client']
  const names = ['cancelled', 'done', 'again']

  it.each([
    ['each by its name', names],
    ['from the list', [...names, ...Array.from({ length: 100 }, (_, at) => `none-${at}`)]],
  ])('are the live ones and, %s, the latest that ended by itself', async (_how, asked) => {
    const has = { takes: () => true, has: () => true }
    const found = await presentJobs(client, has, asked)
    expect([...found].map(([name, { job_id }]) => [name, job_id]).sort()).toEqual([
      ['again', '1'],
      ['done', '3'],
    ])
  })
})

describe('a file of jobs', () => {
  const mistakes = (text: string) =>
    readJobs(text, 'f').remarks.map(
      ({ at, text: said, hint }) => `${at.line}:${at.column} ${said} ${hint ?? ''}`,
    )

  it.each([
    ['a list', '- {name: a, schedule: "@daily"}\n- {name: b, schedule: "@daily"}', ['a', 'b']],
    ['one job', 'name: a\nschedule: "@daily"', ['a']],
    ['documents', 'name: a\nschedule: "@daily"\n---\njobs:\n - {name: b, schedule: "@daily"}', ['a', 'b']],
    ['JSON', '{"jobs":[{"name":"a","schedule":"@daily","payload":null}]}', ['a']],
    ['nothing', '# empty\n', []],
  ])('may be %s', (_what, text, names) => {
    const { declared: read, remarks } = readJobs(text, 'f')
    expect(remarks).toEqual([])
    expect(read.map(({ input }) => input.name)).toEqual(names)
  })

  it('has defaults for all of its jobs', () => {
    const { declared: read } = readJobs(
      'defaults: {timezone: Asia/Tokyo}\njobs:\n - {name: a, schedule: "@daily"}',
      'f',
    )
    expect(read[0]?.input.timezone).toBe('Asia/Tokyo')
  })

  it.each([
    [
      'a misspelt field',
      'name: a\nschedule: "@daily"\ntimezon: UTC',
      '3:1 a: timezon is no field here Did you mean timezone?',
    ],
    [
      'camel case',
      'name: a\nschedule: "@daily"\nmaxRetries: 1',
      '3:1 a: maxRetries is no field here Did you mean max_retries?',
    ],
    [
      'a wrong type',
      'name: a\nschedule: "@daily"\npriority: high',
      '3:11 a: priority is "high", and should be a whole number from 0 to 9 ',
    ],
    [
      'a wrong word',
      'name: a\nschedule: "@daily"\noverlap_policy: NEVER',
      '3:17 a: overlap_policy is "NEVER", and should be "SKIP", "ALLOW", "QUEUE", "REPLACE" ',
    ],
    [
      'a field of a target',
      'name: a\nschedule: "@daily"\ntarget: {type: http, urll: x, url: y}',
      '3:22 a: target.urll is no field here Did you mean url?',
    ],
    [
      'an unknown target',
      'name: a\nschedule: "@daily"\ntarget: {type: smtp}',
      '3:16 a: target.type type is "smtp": use http, task, command ',
    ],
    ['a missing name', 'schedule: "@daily"', '1:1 name is missing '],
    [
      'what the server gives',
      'name: a\nschedule: "@daily"\njob_id: x',
      '3:1 a: job_id is no field here The server gives it: remove it.',
    ],
    [
      'a bad tag',
      'name: a\nschedule: "@daily"\ntags: [ok, "not ok"]',
      '3:12 a: tags.1 is "not ok", and should be a text that matches ^[A-Za-z0-9][A-Za-z0-9._:/=-]*$ ',
    ],
    [
      'a star without quotes',
      'name: a\nschedule: * * * * *',
      '2:11 Alias cannot be an empty string Quote texts that begin with * or @, or that have ": " in them.',
    ],
    [
      'jobs that are no list',
      'jobs: {a: 1}',
      '1:7 jobs is not a list Write each job as "- name: …" below jobs:',
    ],
    [
      'a stranger beside jobs',
      'jobs: []\nversion: 2',
      '2:1 version is no field here Beside jobs: there is only defaults:',
    ],
  ])('tells %s with its place and the repair', (_what, text, said) => {
    expect(mistakes(text)).toEqual([said])
  })
})

describe('same', () => {
  it('looks at values, not at the order of names', () => {
    expect(same({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true)
    expect(same({ a: undefined }, { b: undefined })).toBe(false)
    expect(same([1, 2], [2, 1])).toBe(false)
    expect(same({}, [])).toBe(false)
  })
})
