import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Asked, fakeApi, speak } from '../test/support/fake-api.js'
import { hintOf } from './command-hint.js'
import { checkServer } from './doctor/port.js'
import { makeProgram } from './program.js'

/** Small comforts of the command line, each against a server of canned answers. */
let api: Awaited<ReturnType<typeof fakeApi>>

beforeAll(async () => {
  vi.stubEnv('XDG_CONFIG_HOME', '/nonexistent')
  vi.stubEnv('DATABASE_URL', undefined)
  api = await fakeApi()
})
afterAll(() => {
  api.close()
  vi.unstubAllEnvs()
})

const id = 'job_00000000000000000000000000'

describe('a range', () => {
  const count = { ticks: 0, first: null, last: null, excluded_done: 0, estimated_seconds: 0 }

  it('of a backfill begins with a date in the zone of the job, and ends now', async () => {
    api.answer({ [`POST /jobs/${id}/backfills`]: count })
    const before = Date.now()
    await api.speak('jobs', 'backfill', id, '--from', '2026-11-01', '--dry-run')
    const { from, to } = api.seen[0]?.body as { from: string; to: string }
    expect(from).toBe('2026-11-01T00:00')
    expect(Date.parse(to)).toBeGreaterThanOrEqual(before)
  })

  it('of a verification is the last 24 hours where nothing is said', async () => {
    api.answer({})
    const before = Date.now()
    await api.speak('verify')
    const from = api.seen.map(({ query }) => query.get('from') ?? '')[0] ?? ''
    expect(before - Date.parse(from)).toBeLessThanOrEqual(86_400_000)
    expect(before - Date.parse(from)).toBeGreaterThan(86_300_000)
  })
})

const run = {
  run_id: 'run_1',
  job_id: id,
  status: 'dead',
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
const page = (data: unknown[]) => ({ data, next_cursor: null })

describe('the name of a job', () => {
  const redrive = {
    redrive: 1,
    created_at: '2026-11-16T00:00:00Z',
    state: 'done',
    job_id: id,
    canaries: [],
    before: 'b',
    after: null,
    fingerprint: null,
  }
  const backfill = { backfill_id: 'bf_1', job_id: id, state: 'done', created_at: '2026-11-16T00:00:00Z' }
  const entry = { at: '2026-11-16T00:00:00Z', actor: 'me', action: 'pauseJob', subject: id, detail: null }
  const event = (one: object) => `id: 1\nevent: run\ndata: ${JSON.stringify(one)}\n\n`

  it.each([
    ['runs list', ['runs', 'list'], { 'GET /runs': page([run, run]) }],
    [
      'runs show',
      ['runs', 'show', 'run_1'],
      { 'GET /runs/run_1': { ...run, attempts: [], round: 1, result: null, worker: null } },
    ],
    ['tail', ['tail', '--count', '2'], { 'GET /runs/stream': event(run) + event(run) }],
    ['backfills list', ['backfills', 'list'], { 'GET /backfills': page([backfill]) }],
    ['redrives', ['dead-letters', 'redrives'], { 'GET /redrives': page([redrive]) }],
    ['audit', ['audit'], { 'GET /audit': page([entry]) }],
  ])('is shown by %s, and asked for once', async (_what, args, answers) => {
    api.answer({ ...answers, [`GET /jobs/${id}`]: { job_id: id, name: 'nightly-report' } })
    expect(await api.speak(...args)).toMatchObject({
      stdout: expect.stringContaining('nightly-report') as string,
      code: 0,
    })
    expect(api.seen.filter(({ route }) => route === `GET /jobs/${id}`)).toHaveLength(1)
  })

  it('gives way to the id of a job that is gone', async () => {
    api.answer({ 'GET /runs': page([run]) })
    expect((await api.speak('runs', 'list')).stdout).toContain(id)
  })

  it("is not asked for with --json, where the answer is the API's", async () => {
    api.answer({ 'GET /runs': page([run]) })
    await api.speak('runs', 'list', '--json')
    expect(api.seen).toHaveLength(1)
  })
})

describe('--json', () => {
  it.each([
    [['runs', 'list', id], { [`GET /jobs/${id}/runs`]: [run] }],
    [['events'], { 'GET /events': page([{ event: 1 }]) }],
  ])('of %j is {data: […]} like every list', async (args, answers) => {
    api.answer(answers)
    const { stdout } = await api.speak(...args, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ data: [expect.any(Object)] })
  })
})

describe('a trigger that another run is in the way of', () => {
  it('names that run and ends with 1', async () => {
    const job = { job_id: id, name: 'report' }
    api.answer({
      [`GET /jobs/${id}`]: job,
      [`POST /jobs/${id}/trigger`]: { ...run, run_id: 'run_skipped', status: 'skipped' },
      [`GET /jobs/${id}/runs`]: ({ query }: Asked) =>
        query.get('status') === 'running' ? [{ ...run, run_id: 'run_busy' }] : [],
    })
    const { stdout, code } = await api.speak('jobs', 'trigger', id)
    expect(stdout).toMatch(/report was not run: its run run_busy is going on/)
    expect(stdout).not.toContain('run_skipped')
    expect(code).toBe(1)
  })
})

describe('a re-drive of nothing', () => {
  it('says that nothing is there', async () => {
    api.answer({
      'POST /dead-letters/redrive': {
        redrive: 1,
        state: 'done',
        job_id: id,
        canaries: [],
        before: 'b',
        after: null,
        fingerprint: null,
        total: 0,
        moved: 0,
        ended_at: 'e',
      },
    })
    expect((await api.speak('dead-letters', 'redrive', '--job', id)).stderr).toContain(
      'no dead letter that matches',
    )
  })
})

describe('a key', () => {
  it('is made for another tenant', async () => {
    api.answer({ 'POST /keys': { key_id: 'key_1', key: 'car_secret', name: 'root', role: 'admin' } })
    await api.speak('keys', 'create', 'root', '--role', 'admin', '--tenant', 'acme')
    expect(api.seen[0]?.body).toEqual({ name: 'root', role: 'admin', tenant: 'acme' })
  })
})

describe('a tenant without numbers of its own', () => {
  it('has those of the server, and no cap on its runs', async () => {
    const none = { max_jobs: null, create_per_second: null, min_interval_seconds: null, max_concurrent: null }
    api.answer({ 'GET /tenants/t': { name: 't', weight: 100, ...none } })
    const { stdout } = await api.speak('tenants', 'get', 't')
    expect(stdout).toMatch(/Max jobs +as the server says\n/)
    expect(stdout).toMatch(/At once +no cap\n/)
  })
})

describe('a command that is misspelt', () => {
  it.each([
    ['lsit', /^Did you mean carillon jobs list, or carillon runs list, or carillon \S+ list, …\?$/],
    ['triger', /^Did you mean carillon jobs trigger\?$/],
  ])('%s is looked for one level below, too', (word, hint) => {
    expect(hintOf(makeProgram(), word)).toMatch(hint)
  })

  it('is not guessed where nothing is near', () => {
    expect(hintOf(makeProgram(), 'xyzzy')).toBeNull()
    expect(hintOf(makeProgram(), 'x')).toBeNull()
  })
})

describe('db url', () => {
  it('prints where to connect, alone, with a word about the password', async () => {
    vi.stubEnv('DATABASE_URL', 'postgres://me:pw@db/x')
    const { stdout, stderr } = await speak(['db', 'url'])
    vi.stubEnv('DATABASE_URL', undefined)
    expect(stdout).toBe('postgres://me:pw@db/x\n')
    expect(stderr).toContain('password')
  })

  it('says where there is no Postgres that runs', async () => {
    const { stderr, code } = await speak(['db', 'url', '--data-dir', '/nonexistent/carillon'])
    expect(stderr).toMatch(/holds no Postgres.*carillon up/)
    expect(code).toBe(1)
  })
})

describe('the server that commands ask', () => {
  const config = (url: string) =>
    ({ url, provenance: { url: 'env CARILLON_URL' } }) as unknown as Parameters<typeof checkServer>[0]

  it('is looked at where one is named', async () => {
    api.answer({})
    expect(await checkServer(config(api.url))).toMatchObject({
      status: 'warn',
      says: expect.stringContaining('HTTP 404') as string,
    })
    api.answer({ 'GET /readyz': { status: 'ready', checks: {} } })
    expect(await checkServer(config(api.url))).toMatchObject({
      status: 'ok',
      says: `a Carillon answers at ${api.url} (env CARILLON_URL) and is ready`,
    })
    expect(await checkServer(config('http://127.0.0.1:1'))).toMatchObject({ status: 'warn' })
  })
})

describe('npm start', () => {
  it('leaves no shell between npm and the server, which would keep signals to itself', () => {
    const file = new URL('../../../package.json', import.meta.url)
    const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts: { start: string } }
    expect(scripts.start).toMatch(/^exec node /)
  })
})
