import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, type Job, type JobList, type Run } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ended, RunOptions, TestServer } from './support/carillon.js'
import {
  carillon,
  inTerminal,
  jsonOf,
  newFolder,
  removeFolder,
  startServer,
  until,
} from './support/carillon.js'

const canOpenTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
const requireAll = process.env['CARILLON_REQUIRE_ALL'] !== undefined

let server: TestServer
let folder: string
const every = ['--schedule', '@every 5m'] as const

beforeAll(async () => {
  folder = newFolder()
  server = await startServer()
})

afterAll(async () => {
  removeFolder(folder)
  const { code, stdout } = await server.stop()
  expect(code).toBe(0)
  expect(stdout.split('\n')).toHaveLength(2)
})

function speak(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return carillon(args, { ...options, env: { CARILLON_URL: server.url, ...options.env } })
}

async function create(name: string, ...flags: string[]): Promise<Job> {
  return jsonOf<Job>(await speak(['jobs', 'create', name, ...every, '--json', ...flags]))
}

describe('an empty list', () => {
  it('says what to do next, and stays out of the result', async () => {
    const { code, stdout, stderr } = await speak(['jobs', 'list'])
    expect(stdout).toBe('')
    expect(stderr).toContain('carillon jobs create')
    expect(code).toBe(0)
    const json = await speak(['jobs', 'list', '--json'])
    expect(jsonOf(json)).toEqual({ data: [], next_cursor: null })
    expect(json.stderr).toBe('')
  })
})

describe('the name of a job that has ended', () => {
  it('still finds it for reading, and asks for the id before deleting', async () => {
    const now = new Date().toISOString()
    const created = await speak(['jobs', 'create', 'brief', '--schedule', now, '--task', 'nobody', '--json'])
    const { job_id } = jsonOf<Job>(created)
    const { jobs } = createClient({ url: server.url })
    await until(async () => ((await jobs.get(job_id)).state === 'ended' ? true : null))
    expect(jsonOf<Job>(await speak(['jobs', 'get', 'brief', '--json'])).job_id).toBe(job_id)
    const {
      data: [run],
    } = jsonOf<{ data: Run[] }>(await speak(['runs', 'list', 'brief', '--json']))
    expect(run).toMatchObject({ job_id, scheduled_at: now })
    const refused = await speak(['jobs', 'delete', 'brief', '--yes'])
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain(job_id)
    expect((await speak(['jobs', 'delete', job_id, '--yes'])).code).toBe(0)
  })
})

describe('jobs create', () => {
  it('registers a job from flags', async () => {
    const job = await create(
      'from flags',
      ...['--timezone', 'Europe/Madrid', '--http', 'https://example.com/x', '--method', 'put'],
      ...[
        '--header',
        'X-One: 1',
        '--header',
        'X-Two: 2',
        '--payload',
        '{"a":[1,null]}',
        '--max-retries',
        '0',
      ],
      ...['--retry-backoff', 'fixed', '--missed-window', 'RUN_ALL', '--max-missed', '5'],
      ...[
        '--misfire-grace-seconds',
        '60',
        '--timeout-seconds',
        '30',
        '--idempotency-key-template',
        '{{date}}',
      ],
    )
    expect(job).toMatchObject({
      name: 'from flags',
      schedule: '@every 5m',
      timezone: 'Europe/Madrid',
      target: {
        type: 'http',
        url: 'https://example.com/x',
        method: 'PUT',
        headers: { 'X-One': '1', 'X-Two': '2' },
      },
      payload: { a: [1, null] },
      max_retries: 0,
      retry_backoff: 'fixed',
      missed_window: 'RUN_ALL',
      max_missed: 5,
      misfire_grace_seconds: 60,
      timeout_seconds: 30,
      idempotency_key_template: '{{date}}',
    })
  })

  it('tells a person the id, the next run and what may be wrong', async () => {
    const { code, stdout, stderr } = await speak(['jobs', 'create', 'told', ...every, '--task', 'unserved'])
    expect(stdout).toMatch(
      /^✓ Registered told \(job_[0-9a-z]{26}\): next run [-0-9]+ [:0-9]+ UTC \(in 5 min\)$/m,
    )
    expect(stderr).toMatch(/^! No live worker serves the task "unserved"/m)
    expect(code).toBe(0)
  })

  it('warns on stderr of an idempotency key that never changes, beside the JSON too', async () => {
    const flags = ['--idempotency-key-template', 'constant']
    const { code, stdout, stderr } = await speak(['jobs', 'create', 'timeless', ...every, ...flags, '--json'])
    expect(code).toBe(0)
    expect(stderr).toMatch(/^! 'constant' has no variable of time: .*\(template_without_time\)$/m)
    expect((JSON.parse(stdout) as Job).warnings).toContainEqual(
      expect.objectContaining({ code: 'template_without_time', pointer: '/idempotency_key_template' }),
    )
    const edited = await speak(['jobs', 'edit', 'timeless', '--idempotency-key-template', '{{job_id}}'])
    expect(edited.stderr).toMatch(/template_without_time/)
    const cured = await speak(['jobs', 'edit', 'timeless', '--idempotency-key-template', '{{date}}'])
    expect(cured.stderr).not.toMatch(/template_without_time/)
  })

  it('takes the job from a file or stdin, as the API takes it', async () => {
    const file = join(folder, 'job.json')
    writeFileSync(file, '\ufeff{"name": "from a file", "schedule": "@every 5m", "payload": "ñ"}')
    const fromFile = jsonOf<Job>(await speak(['jobs', 'create', '-f', file, '--json']))
    expect(fromFile).toMatchObject({ name: 'from a file', payload: 'ñ' })
    const input = '{"name": "from stdin", "schedule": "@every 5m"}'
    const fromStdin = jsonOf<Job>(await speak(['jobs', 'create', '-f', '-', '--json'], { input }))
    expect(fromStdin.name).toBe('from stdin')
  })

  it('takes the payload from a file or stdin', async () => {
    const file = join(folder, 'payload.json')
    writeFileSync(file, '[1, 2]')
    expect((await create('payload of a file', '--payload', `@${file}`)).payload).toEqual([1, 2])
    const piped = await speak(['jobs', 'create', 'piped', ...every, '--payload', '-', '--json'], {
      input: '{"b":2}',
    })
    expect(jsonOf<Job>(piped).payload).toEqual({ b: 2 })
  })

  it('shows a refusal with its code, fields and hints, each once', async () => {
    const { code, stdout, stderr } = await speak(['jobs', 'create', 'bad', '--schedule', '* * *'])
    expect(stderr).toMatch(/\(invalid_schedule, HTTP 422\)/)
    expect(stderr).toMatch(/^carillon: .*3 fields/m)
    expect(stderr).toMatch(/^ {2}\/schedule: Write minute, hour/m)
    expect(stdout).toBe('')
    expect(code).toBe(1)
    const asJson = await speak(['jobs', 'create', 'bad', '--schedule', '* * *', '--json'])
    expect(JSON.parse(asJson.stderr)).toMatchObject({
      error: { code: 'invalid_schedule', status: 422, exit_code: 1, errors: [{ pointer: '/schedule' }] },
    })
  })

  it('shows what is wrong in a file where it is wrong', async () => {
    const input = '{"name": "x", "schedule": "@every 5m", "tagret": {}}'
    const { code, stderr } = await speak(['jobs', 'create', '-f', '-'], { input })
    expect(stderr).toMatch(/^ {2}\/tagret: .*\n {6}Did you mean target\?$/m)
    expect(code).toBe(1)
  })

  it('answers a name that is taken with a conflict', async () => {
    await create('taken')
    const { code, stderr } = await speak(['jobs', 'create', 'taken', ...every])
    expect(stderr).toContain('job_name_taken')
    expect(code).toBe(4)
  })

  it.each([
    ['no name', [...every], ''],
    ['no schedule', ['x'], ''],
    ['a payload that is no JSON', ['x', ...every, '--payload', 'hello'], ''],
    ['a file that is not there', ['-f', 'not-there.json'], ''],
    ['a payload file that is not there', ['x', ...every, '--payload', '@not-there.json'], ''],
    ['a file beside flags', ['-f', '-', '--schedule', '@every 5m'], '{}'],
    ['a name beside a file', ['x', '-f', '-'], '{}'],
    ['stdin that is no JSON', ['-f', '-'], '{"name":'],
    ['stdin without anything', ['-f', '-'], ''],
    ['two targets', ['x', ...every, '--http', 'https://example.com', '--task', 'a'], ''],
  ])('refuses %s as wrong usage', async (_what, args, input) => {
    const { code, stdout, stderr } = await speak(['jobs', 'create', ...args], { input, cwd: folder })
    expect(stderr).toMatch(/^carillon: /)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  it('refuses bytes that are no text', async () => {
    const { code, stderr } = await speak(['jobs', 'create', '-f', '-'], {
      input: Buffer.from([0x22, 0xff, 0x22]),
    })
    expect(stderr).toContain('UTF-8')
    expect(code).toBe(2)
  })
})

describe('jobs get', () => {
  it('finds a job by its id and by its name', async () => {
    const job = await create('wanted')
    for (const given of [job.job_id, 'wanted']) {
      expect(jsonOf<Job>(await speak(['jobs', 'get', given, '--json']))).toMatchObject({ job_id: job.job_id })
    }
    const { stdout } = await speak(['jobs', 'get', 'wanted'])
    expect(stdout).toMatch(/^State +● active$/m)
    expect(stdout).toContain(job.job_id)
  })

  it.each(['nobody', 'job_00000000000000000000000000', '', '..', 'a/b'])(
    'does not find "%s"',
    async (given) => {
      const { code, stdout, stderr } = await speak(['jobs', 'get', given, '--json'])
      const { error } = JSON.parse(stderr) as { error: { message: string } }
      expect(error.message).toMatch(/^There is no/)
      expect(stdout).toBe('')
      expect(code).toBe(3)
    },
  )

  it('never sends what a name holds to the terminal', async () => {
    const name = 'evil\u001b[31m\u009b\u202e\nname'
    const job = await create(name)
    expect(job.name).toBe(name)
    const shown = await Promise.all([
      speak(['jobs', 'get', job.job_id]),
      speak(['jobs', 'list', '--all']),
      speak(['jobs', 'list', '--all', '--json']),
      speak(['jobs', 'create', name, ...every]),
      speak(['jobs', 'get', `${name}!`]),
    ])
    shown.push(await speak(['jobs', 'delete', name, '--yes']))
    for (const { stdout, stderr } of shown) {
      expect(stdout + stderr).toContain('evil\\u001b[31m\\u009b')
      expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
    }
  })
})

describe('jobs delete', () => {
  it('needs --yes where nobody can be asked', async () => {
    await create('kept')
    const { code, stdout, stderr } = await speak(['jobs', 'delete', 'kept'])
    expect(stderr).toContain('--yes')
    expect(stdout).toBe('')
    expect(code).toBe(2)
    expect((await speak(['jobs', 'get', 'kept'])).code).toBe(0)
  })

  it('deletes with --yes, and the history stays to be read', async () => {
    const { job_id } = await create('gone')
    const ended = await speak(['jobs', 'delete', 'gone', '--yes', '--json'])
    expect(jsonOf(ended)).toEqual({ job_id, name: 'gone', deleted: true })
    expect((await speak(['jobs', 'get', 'gone'])).code).toBe(3)
    expect((await speak(['jobs', 'get', job_id])).code).toBe(3)
    expect((await speak(['jobs', 'delete', job_id, '--yes'])).code).toBe(3)
    expect(jsonOf(await speak(['runs', 'list', job_id, '--json']))).toEqual({ data: [] })
  })
})

describe('jobs list', () => {
  it('shows as many as asked for and says that there are more', async () => {
    const client = createClient({ url: server.url })
    for (let number = 0; number < 30; number++) {
      await client.jobs.create({ name: `many ${number}`, schedule: '@every 5m' })
    }
    const page = await speak(['jobs', 'list', '--limit', '3'])
    expect(page.stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(page.stderr).toContain('--all')
    expect(jsonOf<JobList>(await speak(['jobs', 'list', '--json'])).data).toHaveLength(20)
    const some = jsonOf<JobList>(await speak(['jobs', 'list', '--limit', '22', '--json']))
    expect(some.data).toHaveLength(22)
    expect(some.next_cursor).not.toBeNull()
    const all = jsonOf<JobList>(await speak(['jobs', 'list', '--all', '--json']))
    const seen: string[] = []
    for await (const job of client.jobs.iterate({ limit: 200 })) seen.push(job.job_id)
    expect(all.data.map((job) => job.job_id)).toEqual(seen)
    expect(all.next_cursor).toBeNull()
  })
})

describe('runs list', () => {
  it('shows what became of a tick', async () => {
    const at = new Date(Math.ceil(Date.now() / 1000) * 1000).toISOString()
    const target = ['--http', `${server.url}/healthz`, '--method', 'GET']
    const created = await speak(['jobs', 'create', 'once', '--schedule', at, ...target, '--json'])
    const { job_id } = jsonOf<Job>(created)
    const runs = await until(async () => {
      const { data: list } = jsonOf<{ data: Run[] }>(await speak(['runs', 'list', job_id, '--json']))
      return list[0]?.status === 'success' ? list : null
    })
    expect(runs).toHaveLength(1)
    expect(Date.parse(runs[0]?.scheduled_at ?? '')).toBe(Date.parse(at))
    const { stdout } = await speak(['runs', 'list', job_id, '--limit', '1'])
    expect(stdout).toMatch(/✓ success +1 of 4/)
    expect(stdout).toContain(runs[0]?.run_id)

    const byName = await speak(['runs', 'list', 'once'])
    expect(byName.stdout).toContain('success')
    expect(byName.code).toBe(0)
  })

  it('says when the first tick comes where none has come', async () => {
    await create('early')
    const { code, stdout, stderr } = await speak(['runs', 'list', 'early'])
    expect(stdout).toBe('')
    expect(stderr).toMatch(/No tick of it has come yet; the first is at .*\(in 5 min\)/)
    expect(code).toBe(0)
    expect(jsonOf(await speak(['runs', 'list', 'early', '--json']))).toEqual({ data: [] })
  })

  it('does not find the runs of nobody', async () => {
    expect((await speak(['runs', 'list', 'nobody'])).code).toBe(3)
    expect((await speak(['runs', 'list', 'job_00000000000000000000000000'])).code).toBe(3)
  })
})

describe.skipIf(!canOpenTerminal && !requireAll)('in a terminal', () => {
  const inTerminalHere = (args: readonly string[], options: Parameters<typeof inTerminal>[1] = {}) =>
    inTerminal(args, { ...options, env: { CARILLON_URL: server.url, ...options.env } })

  it('uses colours unless NO_COLOR is set, and fits its width', async () => {
    await create(`wide ${'w'.repeat(100)}`)
    const colored = await inTerminalHere(['jobs', 'list'], { columns: 80 })
    expect(colored.screen).toContain('\u001b[32m● active\u001b[39m')
    const plain = await inTerminalHere(['jobs', 'list'], { columns: 80, env: { NO_COLOR: '1' } })
    expect(plain.screen).toContain('● active')
    expect(plain.screen).not.toContain('\u001b')
    for (const line of plain.screen.split('\r\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('asks before it deletes, and takes no for an answer', async () => {
    await create('asked about')
    const no = await inTerminalHere(['jobs', 'delete', 'asked about'], { typed: 'n\n' })
    expect(no.screen).toContain('Nothing was deleted')
    expect(no.code).toBe(1)
    const nothing = await inTerminalHere(['jobs', 'delete', 'asked about'], { typed: '\u0004' })
    expect(nothing.code).toBe(1)
    const yes = await inTerminalHere(['jobs', 'delete', 'asked about'], { typed: 'yes\n' })
    expect(yes.screen).toContain('Deleted')
    expect(yes.code).toBe(0)
    expect((await speak(['jobs', 'get', 'asked about'])).code).toBe(3)
  })
})
