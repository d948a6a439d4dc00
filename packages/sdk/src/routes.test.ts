import { expect, test } from 'vitest'
import { type Client, createClient } from './index.js'

interface Sent {
  call: string
  body: unknown
  headers: Headers
}

/** A client whose calls are answered from a list, one after another. */
function clientWith(...answers: unknown[]) {
  const sent: Sent[] = []
  const fetch: typeof globalThis.fetch = (url, init) => {
    const { pathname, search } = new URL(url instanceof Request ? url.url : url)
    sent.push({
      call: `${init?.method ?? ''} ${pathname.replace('/api/v1', '')}${search}`,
      body: typeof init?.body === 'string' ? (JSON.parse(init.body) as unknown) : undefined,
      headers: new Headers(init?.headers),
    })
    const answer = answers[Math.min(sent.length, answers.length) - 1]
    if (answer instanceof Response) return Promise.resolve(answer)
    return Promise.resolve(
      answer === undefined
        ? new Response(null, { status: 204 })
        : new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } }),
    )
  }
  return {
    client: createClient({ url: 'http://carillon.test', fetch, sleep: () => Promise.resolve() }),
    sent,
  }
}

const at = '2026-11-02T09:00:00Z'
const range = { from: at, to: '2026-11-03T09:00:00Z' }
const definition = { schedule: '0 9 * * *' }

/** Every route of the API beside those with tests of their own: what is called, and what is sent. */
const routes: [string, (client: Client) => Promise<unknown>, string, unknown?][] = [
  [
    'jobs by filter',
    (c) => c.jobs.list({ search: 'a b', tag: ['x', 'y=1'], state: 'cancelled', order: 'next_run', limit: 5 }),
    'GET /jobs?search=a+b&tag=x&tag=y%3D1&state=cancelled&order=next_run&limit=5',
  ],
  ['a job by its name', (c) => c.jobs.getByName('a/b'), 'GET /jobs/by-name/a%2Fb'],
  ['upsert', (c) => c.jobs.upsert('n', definition), 'PUT /jobs/by-name/n', definition],
  [
    'a job that is tried',
    (c) => c.jobs.tryCreate({ name: 'n', ...definition }),
    'POST /jobs?dry_run=true',
    { name: 'n', ...definition },
  ],
  [
    'an edit that is tried',
    (c) => c.jobs.tryEdit('j', { max_retries: 1 }),
    'PATCH /jobs/j?dry_run=true',
    { max_retries: 1 },
  ],
  ['cancel', (c) => c.jobs.cancel('j', { reason: 'r' }), 'POST /jobs/j/cancel', { reason: 'r' }],
  ['versions', (c) => c.jobs.versions('j', { limit: 2 }), 'GET /jobs/j/versions?limit=2'],
  ['a version', (c) => c.jobs.version('j', 3), 'GET /jobs/j/versions/3'],
  [
    'rollback',
    (c) => c.jobs.rollback('j', 3, { reason: 'r' }),
    'POST /jobs/j/rollback',
    { version: 3, reason: 'r' },
  ],
  ['ticks', (c) => c.jobs.ticks('j', { count: 3 }), 'GET /jobs/j/ticks?count=3'],
  ['skip', (c) => c.jobs.skipTick('j', at, { reason: 'r' }), 'POST /jobs/j/ticks/skip', { at, reason: 'r' }],
  ['move', (c) => c.jobs.moveTick('j', at, range.to), 'POST /jobs/j/ticks/move', { at, to: range.to }],
  ['restore', (c) => c.jobs.restoreTick('j', at), 'POST /jobs/j/ticks/restore', { at }],
  ['backfill', (c) => c.jobs.backfill('j', range), 'POST /jobs/j/backfills', range],
  [
    'count of a backfill',
    (c) => c.jobs.countBackfill('j', range),
    'POST /jobs/j/backfills',
    { ...range, dry_run: true },
  ],
  ['backfills of a job', (c) => c.jobs.backfills('j'), 'GET /jobs/j/backfills'],
  ['backfills', (c) => c.backfills.list({ limit: 1 }), 'GET /backfills?limit=1'],
  ['a backfill', (c) => c.backfills.get('b'), 'GET /backfills/b'],
  ['its end', (c) => c.backfills.cancel('b'), 'POST /backfills/b/cancel', {}],
  ['bulk', (c) => c.jobs.bulk({ jobs: [], atomic: true }), 'POST /jobs/bulk', { jobs: [], atomic: true }],
  ['preview', (c) => c.preview({ ...definition, count: 3 }), 'POST /preview', { ...definition, count: 3 }],
  ['explain', (c) => c.explain(definition), 'POST /explain', definition],
  [
    'an operation',
    (c) => c.operations.start({ action: 'pause', filter: { tags: ['x'] }, reason: 'r' }),
    'POST /operations',
    { action: 'pause', filter: { tags: ['x'] }, reason: 'r' },
  ],
  [
    'its count',
    (c) => c.operations.count({ action: 'delete', filter: {}, all: true }),
    'POST /operations',
    { action: 'delete', filter: {}, all: true, dry_run: true },
  ],
  ['operations', (c) => c.operations.list(), 'GET /operations'],
  ['an operation by its id', (c) => c.operations.get('o'), 'GET /operations/o'],
  ['its cancel', (c) => c.operations.cancel('o'), 'POST /operations/o/cancel', {}],
  [
    'runs',
    (c) => c.runs.list({ status: 'failed', job_id: 'j', tag: ['x', 'y'], after: at }),
    `GET /runs?status=failed&job_id=j&tag=x&tag=y&after=${encodeURIComponent(at)}`,
  ],
  ['stats', (c) => c.stats(), 'GET /stats'],
  ['stats of a while', (c) => c.statsHistory({ minutes: 5 }), 'GET /stats/history?minutes=5'],
  ['status', (c) => c.status(), 'GET /status'],
  ['forecast', (c) => c.load.forecast({ by: 'hour', tag: 'x' }), 'GET /load/forecast?by=hour&tag=x'],
  ['suggestion', (c) => c.load.suggestion(), 'GET /load/suggestion'],
  ['own key', (c) => c.keys.self(), 'GET /keys/self'],
  ['keys', (c) => c.keys.list(), 'GET /keys'],
  [
    'a new key',
    (c) => c.keys.create({ name: 'ci', role: 'operator' }),
    'POST /keys',
    { name: 'ci', role: 'operator' },
  ],
  [
    'rotation',
    (c) => c.keys.rotate('k', { overlap_seconds: 60 }),
    'POST /keys/k/rotate',
    { overlap_seconds: 60 },
  ],
  ['revocation', (c) => c.keys.revoke('k'), 'DELETE /keys/k'],
  ['tenants', (c) => c.tenants.list(), 'GET /tenants'],
  ['a new tenant', (c) => c.tenants.create({ name: 't' }), 'POST /tenants', { name: 't' }],
  ['a tenant', (c) => c.tenants.get('t'), 'GET /tenants/t'],
  ['its limits', (c) => c.tenants.edit('t', { weight: 2 }), 'PATCH /tenants/t', { weight: 2 }],
  [
    'alerts',
    (c) => c.alerts.list({ state: 'firing', kind: 'dead_letter', job_id: 'j', limit: 3 }),
    'GET /alerts?state=firing&kind=dead_letter&job_id=j&limit=3',
  ],
  ['an alert', (c) => c.alerts.get('a'), 'GET /alerts/a'],
  ['its end by hand', (c) => c.alerts.resolve('a'), 'POST /alerts/a/resolve', {}],
  ['silences', (c) => c.alertSilences.list(), 'GET /alert-silences'],
  [
    'a silence',
    (c) => c.alertSilences.create({ tag: 'x', until: at, reason: 'r' }),
    'POST /alert-silences',
    { tag: 'x', until: at, reason: 'r' },
  ],
  ['its end', (c) => c.alertSilences.delete('s'), 'DELETE /alert-silences/s'],
  ['rules', (c) => c.alertRules.list(), 'GET /alert-rules'],
  [
    'a rule',
    (c) => c.alertRules.create({ kind: 'slow_run', enabled: false }),
    'POST /alert-rules',
    { kind: 'slow_run', enabled: false },
  ],
  ['its change', (c) => c.alertRules.edit('r', { enabled: true }), 'PATCH /alert-rules/r', { enabled: true }],
  ['its end', (c) => c.alertRules.delete('r'), 'DELETE /alert-rules/r'],
  ['channels', (c) => c.alertChannels.list(), 'GET /alert-channels'],
  [
    'a channel',
    (c) => c.alertChannels.create({ name: 'ops', type: 'slack', url: 'https://x.test/h' }),
    'POST /alert-channels',
    { name: 'ops', type: 'slack', url: 'https://x.test/h' },
  ],
  [
    'its change',
    (c) => c.alertChannels.edit('c', { min_severity: 'critical' }),
    'PATCH /alert-channels/c',
    { min_severity: 'critical' },
  ],
  ['its end', (c) => c.alertChannels.delete('c'), 'DELETE /alert-channels/c'],
  ['its test', (c) => c.alertChannels.test('c'), 'POST /alert-channels/c/test', {}],
  ['audit', (c) => c.audit.list({ actor: 'ci', limit: 5 }), 'GET /audit?actor=ci&limit=5'],
]

test.each(routes)('%s: the route and the body are those of the API', async (_, make, call, body) => {
  const { client, sent } = clientWith({ data: [] })
  await make(client)
  expect(sent.map(({ call: made }) => made)).toEqual([call])
  expect(sent[0]?.body).toEqual(body)
})

test('an upsert for one version says which', async () => {
  const { client, sent } = clientWith({})
  await client.jobs.upsert('n', definition, { ifVersion: 4 })
  expect(sent[0]?.headers.get('if-match')).toBe('"4"')
})

const once: [string, (client: Client, idempotencyKey?: string) => Promise<unknown>][] = [
  ['create', (c, key) => c.jobs.create({ name: 'n', ...definition }, options(key))],
  ['bulk', (c, key) => c.jobs.bulk({ jobs: [] }, options(key))],
  ['trigger', (c, key) => c.jobs.trigger('j', options(key))],
  ['backfill', (c, key) => c.jobs.backfill('j', range, options(key))],
  ['operation', (c, key) => c.operations.start({ action: 'pause', all: true }, options(key))],
]
function options(idempotencyKey: string | undefined) {
  return idempotencyKey === undefined ? {} : { idempotencyKey }
}

test.each(once)('%s is repeated with the same key when its answer was lost', async (_, make) => {
  const { client, sent } = clientWith(new Response(null, { status: 503 }), {})
  await make(client)
  const [first, second] = sent.map(({ headers }) => headers.get('idempotency-key'))
  expect(sent).toHaveLength(2)
  expect(second).toBe(first)
})

test.each(once)('%s has a key of its own for each call, or the one that is given', async (_, make) => {
  const { client, sent } = clientWith({})
  await make(client)
  await make(client)
  await make(client, 'mine')
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
  expect(keys[1]).not.toBe(keys[0])
  expect(keys[2]).toBe('mine')
})

test.each([
  ['jobs', (c: Client) => c.jobs.iterate({ tag: 'x' }), '/jobs'],
  ['versions', (c: Client) => c.jobs.iterateVersions('j'), '/jobs/j/versions'],
  ['backfills', (c: Client) => c.backfills.iterate(), '/backfills'],
  ['runs', (c: Client) => c.runs.iterate({ status: 'dead' }), '/runs'],
  ['operations', (c: Client) => c.operations.iterate(), '/operations'],
  ['keys', (c: Client) => c.keys.iterate(), '/keys'],
  ['tenants', (c: Client) => c.tenants.iterate(), '/tenants'],
  ['alerts', (c: Client) => c.alerts.iterate({ state: 'firing' }), '/alerts'],
  ['audit', (c: Client) => c.audit.iterate({ actor: 'a' }), '/audit'],
])('%s are iterated over all pages, with the same filter', async (_, iterate, path) => {
  const { client, sent } = clientWith(
    { data: [1, 2], next_cursor: 'c1' },
    { data: [], next_cursor: 'c2' },
    { data: [3], next_cursor: null },
  )
  const seen: unknown[] = []
  for await (const one of iterate(client)) seen.push(one)
  expect(seen).toEqual([1, 2, 3])
  expect(sent).toHaveLength(3)
  const filters = sent.map(({ call }) => call.replace(/[?&]cursor=\w+$/, ''))
  expect(new Set(filters).size).toBe(1)
  expect(filters[0]).toContain(`GET ${path}`)
  expect(sent[2]?.call).toMatch(/[?&]cursor=c2$/)
})

test('runs of a job are iterated along the Link header', async () => {
  const page = (runs: unknown[], link?: string) =>
    new Response(JSON.stringify(runs), {
      headers: { 'content-type': 'application/json', ...(link !== undefined && { link }) },
    })
  const { client, sent } = clientWith(
    page([1], '<https://proxy.example/api/v1/jobs/j/runs?limit=1&cursor=a%2Bb>; rel="next"'),
    page([2], '</api/v1/jobs/j/runs?cursor=c>; rel="prev"'),
  )
  const seen: unknown[] = []
  for await (const run of client.jobs.iterateRuns('j', { limit: 1 })) seen.push(run)
  expect(seen).toEqual([1, 2])
  expect(sent.map(({ call }) => call)).toEqual([
    'GET /jobs/j/runs?limit=1',
    'GET /jobs/j/runs?limit=1&cursor=a%2Bb',
  ])
})

test('an operation is waited for until it has ended, and its progress is told', async () => {
  const running = { operation_id: 'o', state: 'running', done: 1 }
  const { client, sent } = clientWith(
    running,
    { ...running, done: 2 },
    { ...running, state: 'done', done: 3 },
  )
  const progress: number[] = []
  const ended = await client.operations.wait('o', { onProgress: ({ done }) => progress.push(done) })
  expect(ended.state).toBe('done')
  expect(progress).toEqual([1, 2, 3])
  expect(sent).toHaveLength(3)
})

test('a wait for an operation ends when it is given up', async () => {
  const { client } = clientWith({ operation_id: 'o', state: 'running' })
  const giveUp = new AbortController()
  const waiting = client.operations.wait('o', { signal: giveUp.signal, onProgress: () => giveUp.abort() })
  await expect(waiting).rejects.toThrow(/aborted/)
})
