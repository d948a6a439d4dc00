import { beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../src/http/access.js'
import { buildApp } from '../../src/http/app.js'
import { changes, samples } from '../kit/api-calls.js'
import { type ApiHouse, openApi } from '../kit/api-house.js'
import { httpOptions } from '../kit/http-ports.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Route {
  operationId: string
  method: string
  path: string
  params: string[]
}

const routes: Route[] = []
const { app } = buildApp(httpOptions())
const document = (await app.inject('/api/v1/openapi.json')).json<{
  paths: Record<string, Record<string, { operationId: string }>>
}>()
for (const [path, methods] of Object.entries(document.paths)) {
  // The names of jobs and of calendars have one word in the paths, and are two things.
  const whole = path.replace('by-name/{name}', 'by-name/{job_name}')
  const params = [...whole.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  for (const [method, { operationId }] of Object.entries(methods)) {
    if (params.length > 0) routes.push({ operationId, method: method.toUpperCase(), path: whole, params })
  }
}

/** By these a name is taken: a tenant that uses a name of another has something of its own under it. */
const makesItsOwn = ['putCalendar', 'putTargetLimits', 'putJobByName']
const isForFleet = ({ operationId }: Route) => {
  const need = needs[operationId]
  return need !== undefined && need !== 'open' && need.fleet === true
}
const queries: Record<string, string> = { whyTick: '?at=2026-11-02T12:00:00Z' }

/** Every row of the tenant `default`, in every table that carries a tenant. */
async function rowsOfDefault(): Promise<unknown> {
  const tables = await house().query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
     WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  )
  const found: Record<string, unknown> = {}
  for (const { name } of tables) {
    const text = [
      'SELECT to_jsonb(t) AS row FROM carillon.',
      name,
      ' t WHERE tenant = 1 ORDER BY to_jsonb(t)::text',
    ].join('')
    found[name] = await house().query(text)
  }
  return found
}

let api: ApiHouse

describe('an id of another tenant', () => {
  beforeAll(() => expect(routes.length).toBeGreaterThan(15))

  test('is known here for every parameter of every route', () => {
    const names = new Set(routes.flatMap(({ params }) => params))
    expect(Object.keys(samples).sort()).toEqual([...names].sort())
  })

  test.each(routes)('is not found by $method $path, and nothing of it is changed', async (route) => {
    const node = await house().node()
    api = await openApi(house(), node)
    const stranger = await api.tenant('stranger')
    const world = { house: house(), node }
    let path = route.path.replace('/api/v1', '')
    for (const name of route.params) {
      const value = await samples[name]?.(world)
      path = path.replace(`{${name}}`, encodeURIComponent(String(value)))
    }
    const { body } = (await changes[route.operationId]?.(world)) ?? {}
    const before = await rowsOfDefault()
    const answer = await api.ask(route.method, `${path}${queries[route.operationId] ?? ''}`, {
      key: stranger,
      ...(body !== undefined && { body }),
    })
    const expected = isForFleet(route) ? 403 : makesItsOwn.includes(route.operationId) ? 200 : 404
    const status = answer.status === 201 ? 200 : answer.status
    expect([status, answer.body]).toEqual([expected, expect.anything()])
    expect(await rowsOfDefault()).toEqual(before)
    // Its own admin does find it: what was refused above was there.
    if (!makesItsOwn.includes(route.operationId)) {
      const own = await api.ask(route.method, `${path}${queries[route.operationId] ?? ''}`, {
        key: await api.key('admin'),
        ...(body !== undefined && { body }),
      })
      expect([own.status, own.body]).not.toEqual([404, expect.anything()])
    }
  })
})

describe('what another tenant has', () => {
  test('is in no list of a stranger, and its cursors open nothing', async () => {
    const node = await house().node()
    api = await openApi(house(), node)
    const stranger = await api.tenant('stranger')
    const admin = await api.key('admin')
    const world = { house: house(), node }
    for (const make of Object.values(samples)) await make(world)
    for (let n = 0; n < 3; n++) await samples['job_id']?.(world)
    for (const path of ['/jobs', '/dead-letters', '/calendars', '/targets', '/redrives']) {
      const [own, foreign] = [
        await api.ask('GET', path, { key: admin }),
        await api.ask('GET', path, { key: stranger }),
      ]
      expect([path, (own.body['data'] as unknown[]).length > 0]).toEqual([path, true])
      expect([path, foreign.body['data']]).toEqual([path, []])
    }
    const page = await api.ask('GET', '/jobs?limit=1', { key: admin })
    const next = await api.ask('GET', `/jobs?limit=1&cursor=${String(page.body['next_cursor'])}`, {
      key: stranger,
    })
    expect(next.body['data'] ?? []).toEqual([])
    const keys = await api.ask('GET', '/keys', { key: stranger })
    expect((keys.body['data'] as { name: string }[]).map(({ name }) => name)).toEqual([
      expect.stringMatching(/^admin-/),
    ])
  })
})
