import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Calendar, CalendarList, Job, Run } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ended, RunOptions, TestServer } from './support/carillon.js'
import { carillon, jsonOf, newFolder, removeFolder, startServer } from './support/carillon.js'

let server: TestServer
let folder: string

beforeAll(async () => {
  folder = newFolder()
  server = await startServer()
})

afterAll(async () => {
  removeFolder(folder)
  expect((await server.stop()).code).toBe(0)
})

function speak(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return carillon(args, { ...options, env: { CARILLON_URL: server.url, ...options.env } })
}

async function create(name: string, ...flags: string[]): Promise<Job> {
  const args = ['jobs', 'create', name, '--schedule', '@every 5m', '--task', 'nobody', '--json', ...flags]
  return jsonOf<Job>(await speak(args))
}

describe('jobs create', () => {
  it('takes the flags of overlap and of the schedule', async () => {
    const job = await create(
      'all flags',
      ...[
        '--overlap',
        'allow',
        '--max-concurrent',
        '3',
        '--exclude',
        '2026-12-25',
        '--exclude',
        '2026-12-26',
      ],
      ...['--on-excluded', 'next_business_day', '--starts-at', '2026-01-01T00:00:00Z', '--max-runs', '9'],
      ...['--ends-at', '2099-01-01T00:00:00Z', '--jitter-seconds', '5', '--fire-window-seconds', '6'],
      ...['--dst-gap', 'skip', '--dst-overlap', 'both'],
    )
    expect(job).toMatchObject({
      overlap_policy: 'ALLOW',
      max_concurrent: 3,
      exclude: ['2026-12-25', '2026-12-26'],
      on_excluded: 'next_business_day',
      starts_at: '2026-01-01T00:00:00Z',
      ends_at: '2099-01-01T00:00:00Z',
      max_runs: 9,
      jitter_seconds: 5,
      fire_window_seconds: 6,
      dst_gap: 'skip',
      dst_overlap: 'both',
    })
    expect((await speak(['jobs', 'get', 'all flags'])).stdout).toMatch(/^Overlap +ALLOW, 3 at once$/m)
  })
})

describe('a dry run', () => {
  it('of jobs create shows the ticks and registers nothing, and says what is wrong', async () => {
    const args = ['jobs', 'create', 'only tried', '--schedule', '30 2 * * *', '--timezone', 'Europe/Madrid']
    const { stdout, code } = await speak([...args, '--task', 'nobody', '--dry-run'])
    expect(stdout).toMatch(/^✓ only tried would be registered\. Nothing was changed\.\nAt 02:30/)
    expect(stdout).toMatch(/No live worker serves the task "nobody"/)
    expect(stdout).toMatch(/LOCAL \(Europe\/Madrid\)/)
    expect(code).toBe(0)
    expect((await speak(['jobs', 'get', 'only tried'])).code).toBe(3)
    const wrong = await speak(['jobs', 'create', 'only tried', '--schedule', '99 * * * *', '--dry-run'])
    expect(wrong.stderr).toMatch(/^ {2}\/schedule: /m)
    expect(wrong.code).toBe(1)
  })

  it('of jobs edit says what would change and changes nothing', async () => {
    await create('edited by way of trial')
    const name = 'edited by way of trial'
    const tried = await speak([
      'jobs',
      'edit',
      name,
      '--schedule',
      '@every 10m',
      '--max-retries',
      '1',
      '--dry-run',
    ])
    expect(tried.stdout).toMatch(/would get version 2: max_retries, retry, schedule/)
    const same = await speak(['jobs', 'edit', name, '--schedule', '@every 5m', '--dry-run'])
    expect(same.stdout).toMatch(/would stay as it is/)
    expect(jsonOf<Job>(await speak(['jobs', 'get', name, '--json']))).toMatchObject({
      schedule: '@every 5m',
      version: 1,
    })
  })
})

describe('jobs pause and resume', () => {
  it('pauses with a reason and an end, shows both, and resumes', async () => {
    await create('held up')
    const until = '2099-01-01T00:00:00Z'
    const paused = await speak(['jobs', 'pause', 'held up', '--reason', 'moving', '--until', until])
    expect(paused.stdout).toMatch(/^✓ Paused held up \(job_\w+\), until 2099-01-01 00:00:00 UTC/)
    const shown = (await speak(['jobs', 'get', 'held up'])).stdout
    expect(shown).toMatch(/^State .*paused$/m)
    expect(shown).toMatch(/^Because +moving$/m)
    expect(shown).toMatch(/^Until +2099-01-01 00:00:00 UTC/m)
    const resumed = jsonOf<Job>(await speak(['jobs', 'resume', 'held up', '--json']))
    expect(resumed).toMatchObject({ state: 'active', paused_at: null })
    expect(resumed.next_run_at).not.toBeNull()
  })

  it('says what is wrong with the end of a pause', async () => {
    await create('not held up')
    const { code, stderr } = await speak(['jobs', 'pause', 'not held up', '--until', '2001-01-01T00:00:00Z'])
    expect(stderr).toMatch(/^ {2}\/until: /m)
    expect(code).toBe(1)
  })
})

describe('jobs edit', () => {
  it('changes what is given, and unsets what is named', async () => {
    await create('changing', '--max-retries', '7', '--max-runs', '5')
    const edited = await speak([
      'jobs',
      'edit',
      'changing',
      '--schedule',
      '@every 10m',
      '--unset',
      'max-runs',
    ])
    expect(edited.stdout).toMatch(/^✓ Edited changing \(job_\w+\), version 2, next run /)
    expect(jsonOf<Job>(await speak(['jobs', 'get', 'changing', '--json']))).toMatchObject({
      schedule: '@every 10m',
      max_retries: 7,
      max_runs: null,
    })
  })

  it('takes the change from a file', async () => {
    await create('changing by file')
    const file = join(folder, 'change.json')
    writeFileSync(file, '{"payload": {"week": 2}, "timeout_seconds": null}')
    const job = jsonOf<Job>(await speak(['jobs', 'edit', 'changing by file', '-f', file, '--json']))
    expect(job).toMatchObject({ payload: { week: 2 }, timeout_seconds: 300, version: 2 })
  })

  it('ends with a conflict where the version is another', async () => {
    await create('contested')
    const { code, stderr } = await speak([
      'jobs',
      'edit',
      'contested',
      '--max-retries',
      '1',
      '--if-version',
      '4',
    ])
    expect(stderr).toContain('job_version_conflict')
    expect(code).toBe(4)
  })

  it.each([
    ['nothing', [], ''],
    ['a file beside flags', ['-f', '-', '--max-retries', '1'], '{}'],
    ['a file that is no object', ['-f', '-'], '[1]'],
  ])('refuses %s as wrong usage', async (_what, args, input) => {
    const { code, stderr } = await speak(['jobs', 'edit', 'whatever', ...args], { input })
    expect(stderr).toMatch(/^carillon: /)
    expect(code).toBe(2)
  })
})

describe('jobs trigger', () => {
  it('answers with the run, and says when it is passed over', async () => {
    const { job_id } = await create('triggered')
    const run = jsonOf<Run>(await speak(['jobs', 'trigger', 'triggered', '--json']))
    expect(run).toMatchObject({ job_id, status: 'pending' })
    const again = await speak(['jobs', 'trigger', 'triggered'])
    expect(again.stdout).toContain(`! triggered was not run: its run ${run.run_id} is going on`)
    expect(again.code).toBe(1)
    const { data } = jsonOf<{ data: Run[] }>(await speak(['runs', 'list', 'triggered', '--json']))
    const [first, second] = data
    expect([first?.status, second?.status].sort()).toEqual(['pending', 'skipped'])
  })

  it('does not find a job that is not there', async () => {
    for (const what of ['trigger', 'pause', 'resume']) {
      expect((await speak(['jobs', what, 'nobody'])).code).toBe(3)
    }
  })
})

describe('calendars', () => {
  it('are put, listed, read and deleted', async () => {
    expect((await speak(['calendars', 'list'])).stderr).toContain('carillon calendars put')
    const put = await speak([
      'calendars',
      'put',
      'holidays',
      '--date',
      '2026-12-25',
      '--date',
      '2026-12-31/2027-01-01',
    ])
    expect(put.stdout).toBe('✓ Stored holidays, version 1: no live job names it\n')
    await create('careful', '--exclude', 'holidays')
    const file = join(folder, 'calendar.json')
    const blackouts = [{ from: '2026-11-03T00:00:00Z', to: '2026-11-03T02:00:00Z', reason: 'upgrade' }]
    writeFileSync(file, JSON.stringify({ dates: [], blackouts }))
    const again = jsonOf<Calendar>(await speak(['calendars', 'put', 'holidays', '-f', file, '--json']))
    expect(again).toMatchObject({ version: 2, jobs: 1, dates: [], blackouts })
    expect(jsonOf<CalendarList>(await speak(['calendars', 'list', '--json'])).data).toHaveLength(1)
    expect((await speak(['calendars', 'list'])).stdout).toMatch(/holidays +0 +1 +1/)
    expect((await speak(['calendars', 'get', 'holidays'])).stdout).toContain('upgrade')
    const refused = await speak(['calendars', 'delete', 'holidays'])
    expect(refused.stderr).toContain('calendar_in_use')
    expect(refused.code).toBe(4)
    await speak(['jobs', 'delete', 'careful', '--yes'])
    expect((await speak(['calendars', 'delete', 'holidays'])).code).toBe(0)
    expect((await speak(['calendars', 'get', 'holidays'])).code).toBe(3)
  })

  it.each([
    ['no days', ['put', 'x']],
    ['days beside a file', ['put', 'x', '--date', '2026-12-25', '-f', '-']],
  ])('refuse %s as wrong usage', async (_what, args) => {
    expect((await speak(['calendars', ...args])).code).toBe(2)
  })
})
