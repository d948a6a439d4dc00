import type { JobInput } from '@carillon/contract'
import { expect, test } from 'vitest'
import { createHttpServer } from '../../src/http/server.js'
import { Schedules } from '../../src/pipeline/register/schedules.js'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { httpOptions, MemoryPorts } from '../kit/http-ports.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** The API as it is served, over the real registry and history. */
function serve(node: TestNode) {
  const ports = Object.assign(new MemoryPorts(), {
    jobs: node.registry,
    schedules: new Schedules(node),
    runs: {
      ...new MemoryPorts().runs,
      listByJob: async (tenant: number, jobId: string, query: { limit: number; cursor: string | null }) =>
        node.history.ofJob(await node.registry.find(tenant, jobId), jobId, query),
    },
  })
  return createHttpServer(httpOptions({ api: ports }))
}

/** `POST /api/v1/jobs` of document 000, as printed. */
const printed = `{
"name": "send-weekly-report",
"schedule": "0 9 * * 1",
"timezone": "America/New_York",
"payload": { "report_type": "weekly" },
"idempotency_key_template": "report-{{week}}",
"max_retries": 3,
"retry_backoff": "exponential",
"missed_window": "RUN_ONCE",
"timeout_seconds": 120
}`

test('the examples of document 000 answer as printed', async () => {
  const node = await house().node({ tasks: ['send-weekly-report'] })
  const server = serve(node)
  const created = await server.inject({
    method: 'POST',
    url: '/api/v1/jobs',
    headers: { 'content-type': 'application/json' },
    payload: printed,
  })
  expect(created.statusCode).toBe(201)
  const job = created.json<{ job_id: string; next_run_at: string }>()
  expect(job).toMatchObject(JSON.parse(printed) as JobInput)
  expect(job.job_id).toMatch(/^job_/)
  // Monday, nine o'clock in New York, in the form that is printed: whole seconds without a fraction.
  expect(job.next_run_at).toMatch(/^\d{4}-\d\d-\d\dT1[34]:00:00Z$/)
  expect(new Date(job.next_run_at).getUTCDay()).toBe(1)
  const path = `/api/v1/jobs/${job.job_id}`
  const post = (action: string) => server.inject({ method: 'POST', url: `${path}/${action}` })
  expect((await post('pause')).json()).toMatchObject({ state: 'paused', next_run_at: null })
  expect((await post('resume')).json()).toMatchObject({ state: 'active', next_run_at: job.next_run_at })
  const triggered = await post('trigger')
  expect(triggered.statusCode).toBe(202)
  const [run] = await lease(node)
  if (run === undefined) throw new Error('Nothing was leased.')
  await closeAll(house(), node.closer, [await resultOf(house(), node, run, { outcome: 'success' })])
  const runs = await server.inject(`${path}/runs?limit=20`)
  expect(runs.statusCode).toBe(200)
  expect(runs.json()).toEqual([
    expect.objectContaining({
      run_id: triggered.json<{ run_id: string }>().run_id,
      status: 'success',
      attempt: 1,
      scheduled_at: expect.any(String) as string,
      started_at: expect.any(String) as string,
      finished_at: expect.any(String) as string,
    }),
  ])
  expect((await server.inject(path)).json()).toMatchObject({ last_run_status: 'success' })
  expect((await server.inject({ method: 'DELETE', url: path })).statusCode).toBe(204)
  expect((await server.inject(path)).statusCode).toBe(404)
  expect((await server.inject(`${path}/runs`)).json()).toHaveLength(1)
})

test('the examples of documents 002 and 003 are taken in our field names', async () => {
  const node = await house().node()
  const server = serve(node)
  const daily = await server.inject({
    method: 'POST',
    url: '/api/v1/jobs',
    payload: {
      name: 'daily-report',
      schedule: '0 2 * * *',
      timezone: 'UTC',
      target: { type: 'http', url: 'https://svc/run', method: 'POST' },
      retry: { max_attempts: 5, backoff: 'exponential', base_ms: 1000 },
      missed_window: 'RUN_ONCE',
    },
  })
  expect(daily.statusCode).toBe(201)
  expect(daily.json()).toMatchObject({
    next_run_at: expect.stringMatching(/T02:00:00Z$/) as string,
    state: 'active',
    retry: { max_attempts: 5, base_ms: 1000 },
  })
  const morning = {
    name: 'morning-report-ops',
    schedule: '0 9 * * MON-FRI',
    timezone: 'America/New_York',
    target: { type: 'http', url: 'https://acme.com/webhooks/morning-report' },
    payload: { team: 'ops' },
  }
  const put = () =>
    server.inject({ method: 'PUT', url: '/api/v1/jobs/by-name/morning-report-ops', payload: morning })
  const first = await put()
  expect(first.statusCode).toBe(201)
  expect(first.headers['etag']).toBe('"1"')
  expect(first.json()).toMatchObject({ next_run_at: expect.stringMatching(/T1[34]:00:00Z$/) as string })
  const again = await put()
  expect(again.statusCode).toBe(200)
  expect(again.json()).toEqual(first.json())
  const { job_id: id } = first.json<{ job_id: string }>()
  expect((await server.inject(`/api/v1/jobs/${id}`)).json()).toEqual(first.json())
  expect((await server.inject({ method: 'POST', url: `/api/v1/jobs/${id}/cancel` })).json()).toMatchObject({
    state: 'cancelled',
  })
  expect((await server.inject(`/api/v1/jobs/${id}/runs`)).json()).toEqual([])
})

test('preview and explain say what the engine will do, with the calendars of the tenant', async () => {
  const node = await house().node()
  const server = serve(node)
  const post = (path: string, payload: object) =>
    server.inject({ method: 'POST', url: `/api/v1/${path}`, payload })
  const schedule = { schedule: '30 2 * * *', timezone: 'Europe/Madrid', from: '2026-03-28T00:00:00Z' }
  const preview = await post('preview', { ...schedule, count: 2, name: 'ignored', payload: { any: 1 } })
  expect(preview.json()).toMatchObject({
    description: expect.stringContaining('02:30') as string,
    timezone: 'Europe/Madrid',
    ticks: [
      { at: '2026-03-28T01:30:00Z', local: '2026-03-28T02:30:00+01:00', note: null },
      { at: '2026-03-29T01:00:00Z', note: expect.stringContaining('02:30') as string },
    ],
  })
  expect((await post('explain', schedule)).json()).toMatchObject({
    description: expect.stringContaining('Europe/Madrid') as string,
    next_run_at: '2026-03-28T01:30:00Z',
  })
  expect((await post('preview', { ...schedule, max_runs: 1 })).json<{ ticks: [] }>().ticks).toHaveLength(1)
  expect((await post('preview', schedule)).json<{ ticks: [] }>().ticks).toHaveLength(10)
  await house().query(
    `INSERT INTO carillon.calendars (tenant, name, definition) VALUES (1, 'closed', '{"dates": ["2026-03-28"], "blackouts": []}')`,
  )
  try {
    const excluded = await post('explain', { ...schedule, exclude: ['closed'] })
    expect(excluded.json()).toMatchObject({ next_run_at: '2026-03-29T01:00:00Z' })
  } finally {
    await house().query("DELETE FROM carillon.calendars WHERE name = 'closed'")
  }
  for (const [path, body, code] of [
    ['preview', { ...schedule, count: 1001 }, 'validation_failed'],
    ['preview', { ...schedule, from: 'soon' }, 'validation_failed'],
    ['preview', { ...schedule, schedul: 1 }, 'unknown_field'],
    ['explain', { ...schedule, schedule: '61 * * * *' }, 'invalid_schedule'],
    ['explain', { ...schedule, timezone: 'Mars/Base' }, 'invalid_timezone'],
  ] as const) {
    expect((await post(path, body)).json()).toMatchObject({ code })
  }
})
