import { CarillonError, roles } from '@carillon/contract'
import { pino } from 'pino'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { MemoryAccess } from '../../test/kit/access-port.js'
import { httpOptions, MemoryPorts } from '../../test/kit/http-ports.js'
import { mayCall, type Need, needs } from './access.js'
import { buildApp } from './app.js'

interface Call {
  operationId: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
}

const access = new MemoryAccess()
const ports = new MemoryPorts()
// A stream has no end of its own: here each ends as it begins, or does not begin.
ports.runStreams.prepare = () =>
  Promise.resolve({
    start: ({ onClosing }) => {
      setImmediate(onClosing)
      return () => undefined
    },
  })
ports.stats.get = () => Promise.reject(new CarillonError('database_unavailable'))
/** What is asked of these changes nothing, and is too long for a query. */
const asks = ['previewSchedule', 'explainSchedule']
const { app } = buildApp(httpOptions({ access, api: ports }))
let calls: Call[]

beforeAll(async () => {
  const document = (await app.inject('/api/v1/openapi.json')).json<{
    paths: Record<string, Record<string, { operationId: string }>>
  }>()
  calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({
      operationId,
      method: method.toUpperCase() as Call['method'],
      url: path.replace(/\{\w+\}/g, '1'),
    })),
  )
})

const ask = ({ method, url }: Call, key?: string) =>
  app.inject({ method, url, headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })

const isClosed = (id: string) => needs[id] !== 'open'

test('every operation says what it needs, and nothing that is named is missing', () => {
  expect(Object.keys(needs).sort()).toEqual(calls.map(({ operationId }) => operationId).sort())
})

test('only health and the descriptions of the API are open', () => {
  expect(Object.keys(needs).filter((id) => !isClosed(id))).toEqual([
    'getLiveness',
    'getReadiness',
    'getOpenApi',
    'getReference',
  ])
})

test('changes need more than to read, and keys, secrets, tenants and the audit need an admin', () => {
  for (const { operationId: id, method } of calls.filter(({ operationId }) => isClosed(operationId))) {
    const { role } = needs[id] as Need
    if (method !== 'GET' && !asks.includes(id)) expect([id, role]).not.toEqual([id, 'viewer'])
    if (/Key|Tenant|Audit|revealSigning|rotateSigning/.test(id)) expect([id, role]).toEqual([id, 'admin'])
  }
})

test('without a key every call is refused, and told how to come in', async () => {
  for (const call of calls.filter(({ operationId }) => isClosed(operationId))) {
    const answer = await ask(call)
    expect([call.operationId, answer.statusCode]).toEqual([call.operationId, 401])
    expect(answer.json()).toMatchObject({ code: 'unauthenticated' })
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
  }
})

test('what is open is answered without one', async () => {
  for (const call of calls.filter(({ operationId }) => !isClosed(operationId))) {
    expect((await ask(call)).statusCode).toBe(200)
  }
})

describe.each(roles.flatMap((role) => [1, 2].map((tenant) => ({ role, tenant }))))(
  'a key with the role $role of tenant $tenant',
  ({ role, tenant }) => {
    it('may call what the table says, and is told which role the rest needs', async () => {
      for (const call of calls.filter(({ operationId }) => isClosed(operationId))) {
        const need = needs[call.operationId] as Need
        const answer = await ask(call, access.keyOf(role, tenant))
        const refused = answer.statusCode === 403
        expect([call.operationId, refused]).toEqual([call.operationId, !mayCall(need, { role, tenant })])
        expect(answer.statusCode).not.toBe(401)
        if (refused) {
          expect(answer.json()).toMatchObject({ code: 'forbidden' })
          expect(answer.json<{ detail: string }>().detail).toContain(`needs the role ${need.role}`)
        }
      }
    })
  },
)

/** The table in words, so that a change of the rule itself is seen. */
test.each([
  ['viewer', 'listJobs', true],
  ['viewer', 'createJob', false],
  ['viewer', 'leaseRuns', false],
  ['worker', 'leaseRuns', true],
  ['worker', 'getJob', true],
  ['worker', 'listJobs', false],
  ['worker', 'createJob', false],
  ['operator', 'createJob', true],
  ['operator', 'leaseRuns', false],
  ['operator', 'createKey', false],
  ['operator', 'setBrake', true],
  ['admin', 'createKey', true],
  ['admin', 'leaseRuns', true],
  ['admin', 'createTenant', true],
] as const)('of the tenant default a %s calling %s: %s', (role, id, may) => {
  expect(mayCall(needs[id] as Need, { role, tenant: 1 })).toBe(may)
})

test.each(['createTenant', 'listTenants', 'setBrake', 'clearBrake', 'getCluster', 'getMetrics'])(
  'an admin of another tenant may not %s: it concerns the fleet',
  (id) => {
    expect(mayCall(needs[id] as Need, { role: 'admin', tenant: 2 })).toBe(false)
  },
)

describe('who is calling decides whose jobs are meant', () => {
  it('on a call with a body', async () => {
    const key = access.keyOf('operator', 7)
    const answer = await app.inject({
      method: 'POST',
      url: '/api/v1/jobs',
      headers: { authorization: `Bearer ${key}` },
      payload: { name: 'mine', schedule: '* * * * *', target: { type: 'task', task: 'log' } },
    })
    expect(answer.statusCode).toBe(201)
    expect(ports.created.at(-1)?.tenant).toBe(7)
  })

  it('and is told by /keys/self', async () => {
    const answer = await app.inject({
      url: '/api/v1/keys/self',
      headers: { authorization: `Bearer ${access.keyOf('worker', 7)}` },
    })
    expect(answer.json()).toMatchObject({ tenant: 'tenant-7', role: 'worker', actor: 'worker of tenant-7' })
  })

  it('makes keys of another tenant for the admin of the fleet alone', async () => {
    const make = (tenant: number) =>
      app.inject({
        method: 'POST',
        url: '/api/v1/keys',
        headers: { authorization: `Bearer ${access.keyOf('admin', tenant)}` },
        payload: { name: 'first', role: 'admin', tenant: 'acme' },
      })
    expect((await make(2)).statusCode).toBe(403)
    expect((await make(1)).statusCode).toBe(201)
    expect(ports.keys.made).toEqual([{ tenant: 'acme', input: { name: 'first', role: 'admin' } }])
  })
})

test.each([
  ['an unknown one', `Bearer car_${'x'.repeat(43)}`],
  ['something else', 'Bearer hello'],
  ['two of them', 'Bearer a b'],
  ['another scheme', 'Basic YTpi'],
  ['nothing', ''],
])('%s in place of a key is refused, also where none is needed', async (_what, authorization) => {
  for (const guarded of [app, buildApp(httpOptions()).app]) {
    const answer = await guarded.inject({ url: '/api/v1/jobs', headers: { authorization } })
    if (authorization === '' && guarded !== app) continue
    expect(answer.statusCode).toBe(401)
    expect(answer.body).not.toContain('YTpi')
  }
})

test('a key in the URL opens nothing, and comes into no log', async () => {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const { app: logging } = buildApp(httpOptions({ access, log }))
  const key = access.keyOf('admin')
  const answer = await logging.inject(`/api/v1/jobs?key=${key}&authorization=Bearer%20${key}`)
  expect(answer.statusCode).toBe(401)
  await logging.inject({
    url: `/api/v1/jobs/${key}`,
    headers: { authorization: `Bearer ${key}`, 'x-request-id': key },
  })
  expect(lines.join('')).toContain('car_…')
  expect(lines.join('')).not.toContain(key)
})

test('a call that waits is watched until it is answered, and ends when its key does', async () => {
  const key = access.keyOf('worker')
  const waiting = app.inject({
    method: 'POST',
    url: '/api/v1/leases',
    headers: { authorization: `Bearer ${key}` },
    payload: { worker: 'w', tasks: ['t'], max: 1, wait_seconds: 0 },
  })
  await waiting
  const watched = access.watched.filter((entry) => entry.key === key)
  expect(watched.length).toBeGreaterThan(0)
  expect(watched.every(({ released }) => released)).toBe(true)
})
