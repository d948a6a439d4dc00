import { execFileSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { completionScript, placesOf } from './completion.js'
import { makeProgram } from './program.js'
import { renderCliReference } from './reference.js'

describe('the command tree', () => {
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)]
  const leaves = all(makeProgram()).filter(({ commands }) => commands.length === 0)

  it('has a description for every command and option', () => {
    for (const command of leaves) {
      expect(command.description()).not.toBe('')
      for (const { description } of command.options) expect(description).not.toBe('')
    }
  })

  it('gives --json everywhere', () => {
    const without = leaves.filter(({ options }) => !options.some(({ long }) => long === '--json'))
    expect(without.map((command) => command.name())).toEqual([])
  })

  it('is in the reference as a whole', () => {
    const page = renderCliReference()
    for (const { path } of placesOf(makeProgram()).filter(
      ({ path: one }) => !/^carillon( dlq.*)?$/.test(one),
    ))
      expect(page).toContain(`# ${path}\n`)
  })
})

describe('completion', () => {
  const complete = (...words: string[]) => {
    const script = completionScript(makeProgram(), 'bash')
    const line = words.map((word) => `'${word}'`).join(' ')
    const ask = `COMP_WORDS=(carillon ${line}); COMP_CWORD=${words.length}; _carillon; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' })
      .trim()
      .split('\n')
  }

  it.each([
    [['jo'], ['jobs']],
    [['jobs', 'pa'], ['pause']],
    [['jobs', 'list', '--lim'], ['--limit']],
    [['dlq', 'gr'], ['groups']],
    [['jobs', 'list', '--tag', 'jobs', '--or'], ['--order']],
    [
      ['import', ''],
      ['crontab', 'k8s', '--help'],
    ],
  ])('in bash knows what follows %j', (words, expected) => {
    expect(complete(...words)).toEqual(expected)
  })

  it('has a script for zsh and fish as well', () => {
    expect(completionScript(makeProgram(), 'zsh')).toMatch(/^#compdef carillon\n/)
    expect(completionScript(makeProgram(), 'fish')).toContain("-n '__carillon_at carillon jobs' -a pause -d")
  })
})

interface Seen {
  method: string | undefined
  url: string | undefined
  body: unknown
}

describe('commands', () => {
  let server: Server
  let url: string
  let seen: Seen[]
  let answers: Record<string, unknown>
  /** A stream that stays open and says nothing more. */
  const holding = Symbol('holding')
  let opened: () => Promise<unknown> = () => Promise.resolve()

  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = ''
      request.on('data', (chunk: Buffer) => (text += chunk.toString()))
      request.on('end', () => {
        const body = text === '' ? undefined : (JSON.parse(text) as unknown)
        seen.push({ method: request.method, url: request.url, body })
        const path = request.url?.replace(/\?.*/, '').replace('/api/v1', '') ?? ''
        const isDry = (body as { dry_run?: boolean } | undefined)?.dry_run === true
        const answer = answers[`${request.method} ${path}${isDry ? ' dry' : ''}`]
        const isStream = typeof answer === 'string'
        if (answer === holding) {
          opened().then(
            () => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': alive\n\n'),
            () => response.destroy(),
          )
          return
        }
        response.writeHead(answer === undefined ? 404 : 200, {
          'content-type': isStream ? 'text/event-stream' : 'application/json',
        })
        response.end(isStream ? answer : JSON.stringify(answer ?? { code: 'route_not_found', detail: path }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  beforeEach(() => {
    seen = []
    vi.stubEnv('XDG_CONFIG_HOME', '/nonexistent')
  })

  /** Runs the command inside this process, and returns what it printed. */
  async function speak(...args: string[]): Promise<string> {
    const written: string[] = []
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.write = ((text: string, done?: () => void) => {
      written.push(text)
      if (typeof done === 'function') done()
      return true
    }) as typeof write
    const program = makeProgram()
    for (const command of all(program)) command.exitOverride()
    try {
      await program.parseAsync([...args, '--url', url], { from: 'user' })
    } finally {
      process.stdout.write = write
      process.exitCode = 0
    }
    return written.join('')
  }
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)]
  const id = 'job_00000000000000000000000000'
  const job = {
    job_id: id,
    name: 'a',
    state: 'active',
    version: 3,
    next_run_at: null,
    warnings: [],
    paused_until: null,
  }
  const run = {
    run_id: 'run_1',
    job_id: id,
    status: 'success',
    scheduled_at: '2026-11-16T00:00:00Z',
    started_at: null,
    finished_at: null,
    duration_ms: 12,
    attempt: 1,
    max_attempts: 1,
    reason: null,
    error: null,
    catch_up: false,
    skipped_count: null,
    skipped_until: null,
  }
  const operation = {
    operation_id: 'op_1',
    action: 'pause',
    filter: {},
    state: 'running',
    total: 2,
    done: 0,
    failed: 0,
    errors: [],
    created_at: '2026-11-16T00:00:00Z',
    finished_at: null,
  }
  const backfill = {
    backfill_id: 'bf_1',
    job_id: id,
    from: 'f',
    to: 't',
    state: 'running',
    total: 2,
    done: 0,
    failed: 0,
    per_minute: 60,
    created_at: '2026-11-16T00:00:00Z',
    eta_seconds: 2,
  }
  const page = (data: unknown[]) => ({ data, next_cursor: null })

  it('narrow a list by every filter', async () => {
    answers = { 'GET /jobs': page([]) }
    await speak(
      'jobs',
      'list',
      '--search',
      'x',
      '--tag',
      'a',
      '--tag',
      'b',
      '--state',
      'paused',
      '--target',
      'http:h',
      '--managed-by',
      'me',
      '--order',
      'next-run',
    )
    expect(seen[0]?.url).toBe(
      '/api/v1/jobs?search=x&tag=a&tag=b&state=paused&target=http%3Ah&managed_by=me&order=next_run&limit=20',
    )
  })

  it('act on all that match: counted, then done and followed to the end', async () => {
    answers = {
      'POST /operations dry': { matched: 2, sample: [{ job_id: id, name: 'a' }] },
      'POST /operations': operation,
      'GET /operations/op_1': { ...operation, state: 'done', done: 2 },
    }
    const shown = await speak('jobs', 'pause', '--tag', 'mail', '--reason', 'down', '--yes')
    expect(shown).toMatch(/^2 jobs match \(pause\)\n {2}a\n {2}… and 1 more\n[^]*2 of 2/)
    const body = { action: 'pause', filter: { tags: ['mail'] }, reason: 'down' }
    expect(seen.map((one) => one.body)).toEqual([{ ...body, dry_run: true }, body, undefined])
    seen = []
    expect(await speak('jobs', 'delete', '--all', '--dry-run')).toContain('2 jobs match (delete)')
    expect(seen.map((one) => one.body)).toEqual([{ action: 'delete', filter: {}, all: true, dry_run: true }])
  })

  it.each([
    [['jobs', 'pause']],
    [['jobs', 'pause', 'a', '--tag', 'b']],
    [['jobs', 'delete', '--all', '--search', 'x']],
    [['jobs', 'tag', '--search', 'x']],
  ])('ask for one job or a filter: %j is neither', async (args) => {
    await expect(speak(...args)).rejects.toThrow(/Name|all|tag/)
    expect(seen).toEqual([])
  })

  it('take no empty file for the wish to delete all that an owner has', async () => {
    answers = { 'GET /jobs': page([{ ...job, managed_by: 'me' }]) }
    await expect(speak('apply', '-f', '/dev/null', '--owner', 'me', '--prune', '--yes')).rejects.toThrow(
      /no job in \/dev\/null[^]*jobs delete --managed-by me/,
    )
    expect(seen).toEqual([])
  })

  it('find a job by its name with one call, however many there are', async () => {
    answers = { 'GET /jobs/by-name/a': job, [`POST /jobs/${id}/pause`]: job }
    await speak('jobs', 'pause', 'a')
    expect(seen.map((one) => one.url)).toEqual(['/api/v1/jobs/by-name/a', `/api/v1/jobs/${id}/pause`])
    answers['GET /jobs/by-name/a'] = { ...job, state: 'ended' }
    await expect(speak('jobs', 'pause', 'a')).rejects.toThrow(/No live job is named "a"/)
  })

  it('backfill after a count, and say how far it came', async () => {
    answers = {
      [`POST /jobs/${id}/backfills dry`]: {
        ticks: 2,
        first: null,
        last: null,
        excluded_done: 1,
        estimated_seconds: 2,
      },
      [`POST /jobs/${id}/backfills`]: backfill,
      'GET /backfills/bf_1': { ...backfill, state: 'done', done: 2 },
    }
    const shown = await speak(
      'jobs',
      'backfill',
      id,
      '--from',
      '2026-01-01',
      '--to',
      '2026-01-02',
      '--per-minute',
      '60',
      '--yes',
    )
    expect(shown).toMatch(/2 ticks would be run[^]*1 succeeded already[^]*2 of 2/)
    expect(seen[1]?.body).toEqual({ from: '2026-01-01T00:00', to: '2026-01-02T00:00', per_minute: 60 })
  })

  it.each([
    [['jobs', 'cancel', id, '--yes'], `POST /jobs/${id}/cancel`, {}],
    [['jobs', 'rollback', id, '2', '--yes'], `POST /jobs/${id}/rollback`, { version: 2 }],
    [
      ['jobs', 'put', 'a', '--schedule', '@daily', '--tags', 't'],
      'PUT /jobs/by-name/a',
      { schedule: '@daily', tags: ['t'] },
    ],
  ])('%j reaches its route', async (args, route, body) => {
    answers = { [`GET /jobs/${id}`]: job, [route]: job }
    await speak(...args)
    const last = seen.at(-1)
    expect(`${last?.method} ${last?.url}`).toBe(route.replace(' /', ' /api/v1/'))
    expect(last?.body).toEqual(body)
  })

  it.each([
    [['jobs', 'ticks', 'skip', id, 'T'], `POST /jobs/${id}/ticks/skip`, { at: 'T' }],
    [['jobs', 'ticks', 'move', id, 'T', '--to', 'U'], `POST /jobs/${id}/ticks/move`, { at: 'T', to: 'U' }],
    [['jobs', 'ticks', 'restore', id, 'T'], `POST /jobs/${id}/ticks/restore`, { at: 'T' }],
  ])('%j changes a tick', async (args, route, body) => {
    answers = {
      [route]: { due: 'T', due_local: 'local', start_at: '2026-11-16T00:00:00Z', state: 'skipped' },
    }
    expect(await speak(...args)).toContain('skipped')
    expect(seen[0]?.body).toEqual(body)
  })

  it('follow runs live, a line each', async () => {
    const event = (one: object) => `id: 1\nevent: run\ndata: ${JSON.stringify(one)}\n\n`
    answers = { 'GET /runs/stream': event(run) + event({ ...run, status: 'dead', error: 'HTTP 500' }) }
    expect(await speak('tail', '--count', '2')).toMatch(
      /✓ success +job_0+ {2}run_1 {2}12 ms\n.*✗ dead .*HTTP 500\n$/,
    )
    expect(await speak('tail', '--failed', '--count', '1', '--json')).toMatch(/^\{.*"dead".*\}\n$/)
  })

  it('watch a run to its end, also where that came before the stream was open', async () => {
    const running = { ...run, status: 'running' }
    answers = { 'GET /runs/run_1': running, 'GET /runs/stream': holding }
    // Slow to open: whoever looked meanwhile saw it run.
    opened = async () => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      answers['GET /runs/run_1'] = run
    }
    const shown = await speak('runs', 'watch', 'run_1')
    expect(shown).toMatch(/running[^]*✓ success/)
  })

  it('end when nobody reads any more', async () => {
    answers = { 'GET /runs/stream': holding }
    opened = () => {
      const gone = Object.assign(new Error('gone'), { code: 'EPIPE' })
      return Promise.resolve(process.stdout.emit('error', gone))
    }
    expect(await speak('tail')).toBe('')
  })

  it('do not wait for a server that never answered', async () => {
    answers = { 'GET /runs/stream': holding }
    opened = () => Promise.reject(new Error('hang up'))
    await expect(speak('tail')).rejects.toMatchObject({ name: 'ConnectionError' })
  })

  it('show stats, the forecast, keys, tenants and the audit', async () => {
    const window = {
      fired: 120,
      success: 1,
      failed: 2,
      dead: 1,
      skipped: 0,
      lag_ms: { p50: 1, p95: 2, p99: 3, max: null },
    }
    answers = {
      'GET /stats': {
        now: '2026-11-16T00:00:00Z',
        jobs: { active: 1234, paused: 0, ended: 0, cancelled: 0 },
        queue: { ready: 1, waiting: 3, running: 0, waiting_retry: 0, parked: 0, oldest_ready_ms: 1500 },
        last_minute: window,
        last_hour: window,
        dead_letters: 1,
        nodes: { alive: 2 },
        catch_up: { replays: 0, ticks: 0 },
      },
      'GET /stats/history': {
        now: '2026-11-16T00:00:00Z',
        through: '2026-11-16T00:00:00Z',
        step_seconds: 60,
        data: [{ at: '2026-11-16T00:00:00Z', counts: { ...window, lag_ms: null } }],
      },
      'GET /runs': page([{ ...run, status: 'dead' }]),
      'GET /load/forecast': {
        by: 'hour',
        from: '2026-11-16T00:00:00Z',
        to: '',
        jobs: 1,
        buckets: Array.from({ length: 48 }, (_, at) => ({
          at: new Date(Date.UTC(2026, 10, 16, at)).toISOString(),
          firings: at,
        })),
        hottest: [{ at: '2026-11-16T09:00:00Z', firings: 9, sample: [{ job_id: id, name: 'nine' }] }],
        sampled: false,
      },
      'POST /keys': { key_id: 'key_1', key: 'car_secret', name: 'ci', role: 'viewer' },
      'PATCH /tenants/t': {
        name: 't',
        max_jobs: null,
        create_per_second: null,
        min_interval_seconds: null,
        weight: 2,
        max_concurrent: null,
      },
      'GET /audit': page([
        {
          entry_id: 'e',
          at: '2026-11-16T00:00:00Z',
          actor: 'me',
          action: 'pauseJob',
          subject: id,
          detail: {},
          request_id: null,
        },
      ]),
    }
    expect(await speak('top')).toMatch(
      /1,234 active[^]*waits 1\.5 s[^]*last minute +120 +2\.0[^]*Died last[^]*run_1/,
    )
    expect(await speak('stats', '--last', '2h')).toMatch(/PER SECOND[^]*120 +2\.0[^]*–/)
    expect(seen.at(-1)?.url).toContain('minutes=120')
    const map = await speak('load', 'forecast')
    expect(map).toMatch(/1,128 firings of 1 jobs[^]*█[^]*9 at once: nine/)
    expect(map.split('\n').filter((line) => /^2026-11-1[67] /.test(line))).toHaveLength(2)
    expect(await speak('keys', 'create', 'ci', '--role', 'VIEWER', '--tenant', 't')).toBe('car_secret\n')
    expect(seen.at(-1)?.body).toEqual({ name: 'ci', role: 'viewer', tenant: 't' })
    await speak('tenants', 'edit', 't', '--max-jobs', 'none', '--weight', '2')
    expect(seen.at(-1)?.body).toEqual({ max_jobs: null, weight: 2 })
    expect(await speak('audit', '--actor', 'me')).toContain('pauseJob')
  })
})
