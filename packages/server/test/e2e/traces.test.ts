import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Job, LeaseAnswer } from '@carillon/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { type CollectedSpan, Collector } from './support/collector.js'
import { useDatabases } from './support/databases.js'
import { Sink } from './support/sink.js'

const folder = temporaryFolder()
const databaseOf = useDatabases(folder.path)
let collector: Collector
let sink: Sink
let server: Carillon
let worker: Carillon

/** Two processes: whatever connects their spans went through the database, or is derived. */
beforeAll(async () => {
  collector = await Collector.listen()
  sink = await Sink.listen()
  const env = {
    ...{ DATABASE_URL: await databaseOf('traced'), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    ...{ OTEL_EXPORTER_OTLP_HEADERS: 'x-team=billing%20team', CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8' },
  }
  server = await Carillon.up({
    args: ['--role', 'api', '--role', 'scheduler'],
    env: { ...env, OTEL_SERVICE_NAME: 'planner' },
  })
  worker = await Carillon.up({ args: ['--role', 'worker'], env: { ...env, OTEL_SERVICE_NAME: 'runner' } })
})
afterAll(async () => {
  await Promise.all([server, worker].map((one) => one?.terminate()))
  await Promise.all([collector, sink].map((one) => one?.close()))
  folder.remove()
})

const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name)

function one(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = named(spans, name)
  expect([name, found.length]).toEqual([name, 1])
  return found[0] as CollectedSpan
}

const refOf = ({ traceId, spanId }: Pick<CollectedSpan, 'traceId' | 'spanId'>) => ({ traceId, spanId })

test('a run is one trace from its fire to its last close, over its attempts and two processes, linked to its registration', async () => {
  sink.answer = () => (sink.deliveries.length === 1 ? 500 : 200)
  const caller = { traceId: 'c0ffee00c0ffee00c0ffee00c0ffee00', spanId: 'decaf000decaf000' }
  const answer = await fetch(`${server.url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${caller.traceId}-${caller.spanId}-01` },
    body: JSON.stringify({
      ...{ name: 'traced', schedule: new Date(Date.now() + 1_000).toISOString() },
      target: { type: 'http', url: `${sink.url}/hook?token=canary` },
      retry: { max_attempts: 3, backoff: 'fixed', base_ms: 1 },
    }),
  })
  expect(answer.status).toBe(201)
  const job = (await answer.json()) as Job
  await until('both attempts were delivered', () => sink.deliveries.length === 2)
  const [first, second] = sink.deliveries.map(({ headers }) => String(headers['traceparent']).split('-'))
  const traceId = first?.[1] ?? ''
  expect(second?.[1]).toBe(traceId)
  const spans = await until('all spans have come', () => {
    const found = collector.of(traceId)
    return named(found, 'carillon close').length === 2 && named(found, 'carillon fire').length > 0 && found
  })

  const fire = one(spans, 'carillon fire')
  expect([fire.parentSpanId ?? '', fire.service]).toEqual(['', 'planner'])
  const delivers = named(spans, 'carillon deliver http')
  const leases = named(spans, 'carillon lease')
  const closes = named(spans, 'carillon close')
  expect([delivers.length, leases.length, closes.length, spans.length]).toEqual([2, 2, 2, 7])
  for (const [at, parent] of [first?.[2], second?.[2]].entries()) {
    // The very span of the delivery is the parent of what the target does.
    const deliver = delivers.find(({ spanId }) => spanId === parent)
    const lease = leases.find(({ spanId }) => spanId === deliver?.parentSpanId)
    expect(deliver?.attributes).toMatchObject({
      ...{ 'carillon.attempt': at + 1, 'carillon.outcome': at === 0 ? 'failed' : 'success' },
      ...{ 'server.address': '127.0.0.1', 'carillon.job.id': job.job_id },
    })
    expect(deliver?.status.code ?? 0).toBe(at === 0 ? 2 : 0)
    expect([lease?.parentSpanId, lease?.service]).toEqual([fire.spanId, 'runner'])
    expect(closes.filter(({ parentSpanId }) => parentSpanId === deliver?.spanId)).toHaveLength(1)
  }
  expect(closes.map(({ attributes }) => attributes['carillon.close']).sort()).toEqual(['closed', 'retrying'])

  const register = one(collector.spans, 'carillon register')
  expect(register.traceId).not.toBe(traceId)
  expect(fire.links.map(refOf)).toEqual([refOf(register)])
  const call = one(collector.of(caller.traceId), 'carillon create')
  expect(call.parentSpanId).toBe(caller.spanId)
  expect(call.links.map(refOf)).toEqual([refOf(register)])
  expect(register.links.map(refOf)).toEqual([refOf(call)])
  for (const span of collector.spans)
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
  expect(JSON.stringify(collector.spans)).not.toContain('canary')
  expect(collector.headers[0]).toMatchObject({ 'x-team': 'billing team' })
})

test('a trigger begins the trace of its run, linked to the registration and to the call', async () => {
  sink.answer = () => 200
  const job = await server.client.jobs.create({
    ...{ name: 'triggered', schedule: '0 9 1 1 *' },
    target: { type: 'http', url: `${sink.url}/trigger` },
  })
  await server.client.jobs.trigger(job.job_id)
  const delivery = await until('it was delivered', () =>
    sink.deliveries.find(({ path }) => path === '/trigger'),
  )
  const traceId = String(delivery.headers['traceparent']).split('-')[1] ?? ''
  const spans = await until('all spans have come', () => {
    const found = collector.of(traceId)
    return found.length === 4 && found
  })
  const root = one(spans, 'carillon trigger')
  const register = collector.spans.find(
    ({ name, attributes }) => name === 'carillon register' && attributes['carillon.job.id'] === job.job_id,
  )
  expect(root.links.map(refOf)).toEqual([refOf(register as CollectedSpan)])
  expect(one(spans, 'carillon lease').parentSpanId).toBe(root.spanId)
})

test('a worker over HTTP is told the trace of its run: register, fire, lease, deliver and close are connected', async () => {
  const job = await server.client.jobs.create({
    ...{ name: 'elsewhere', schedule: new Date(Date.now() + 500).toISOString() },
    target: { type: 'task', task: 'elsewhere' },
  })
  const post = async <Answer>(path: string, body: object): Promise<Answer> => {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(`${server.url}/api/v1/leases${path}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    })
    return (await answer.json()) as Answer
  }
  const { worker_id, data } = await until('it was leased', async () => {
    const answer = await post<LeaseAnswer>('', { tasks: ['elsewhere'], wait_seconds: 10 })
    return answer.data.length === 1 && answer
  })
  const [leased] = data
  const [, traceId = '', parent] = leased?.traceparent.split('-') ?? []
  const result = { run_id: leased?.run_id, fencing_token: leased?.fencing_token, outcome: 'success' }
  await post('/close', { worker_id, results: [result] })
  const spans = await until('all spans have come', () => {
    const found = collector.of(traceId)
    return found.length === 4 && found
  })
  const [fire, lease] = [one(spans, 'carillon fire'), one(spans, 'carillon lease')]
  const [deliver, close] = [one(spans, 'carillon deliver task'), one(spans, 'carillon close')]
  // What the worker does hangs below the delivery itself.
  expect(deliver.spanId).toBe(parent)
  expect([lease.parentSpanId, deliver.parentSpanId, close.parentSpanId]).toEqual([
    ...[fire.spanId, lease.spanId, deliver.spanId],
  ])
  const register = collector.spans.find(
    ({ name, attributes }) => name === 'carillon register' && attributes['carillon.job.id'] === job.job_id,
  )
  expect(fire.links.map(refOf)).toEqual([refOf(register as CollectedSpan)])
})

test('runs that are left out say so to their targets, and go on all the same', async () => {
  sink.answer = () => 200
  const env = {
    ...{ DATABASE_URL: await databaseOf('seldom'), OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
    CARILLON_TRACE_ONE_IN: '1000000',
  }
  // Nobody listens there: a collector that is away harms nothing.
  const seldom = await Carillon.up({ env })
  const job = await seldom.client.jobs.create({
    ...{ name: 'left-out', schedule: '0 9 1 1 *' },
    target: { type: 'http', url: `${sink.url}/left-out` },
  })
  await seldom.client.jobs.trigger(job.job_id)
  const delivery = await until('it was delivered', () =>
    sink.deliveries.find(({ path }) => path === '/left-out'),
  )
  expect(delivery.headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  expect(await seldom.terminate()).toBe(0)
})

test('nothing of OpenTelemetry is loaded where nobody traces', () => {
  const main = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
  const tracing = fileURLToPath(new URL('../../dist/platform/tracing.js', import.meta.url))
  const loaded = (more: string) => {
    const script = `import { createRequire } from 'node:module'
await import(${JSON.stringify(main)})
${more}
console.log(Object.keys(createRequire(import.meta.url).cache).filter((path) => /opentelemetry.(sdk|exporter|resources)/.test(path)).length)`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      cwd: join(fileURLToPath(new URL('../..', import.meta.url))),
    })
    if (stdout === '') throw new Error(stderr)
    return Number(stdout)
  }
  expect(loaded('')).toBe(0)
  const options = `{ endpoint: 'http://127.0.0.1:1', serviceName: 's', version: 'v', instance: 'i', wants: () => true }`
  expect(loaded(`await (await import(${JSON.stringify(tracing)})).openTracing(${options})`)).toBeGreaterThan(
    0,
  )
})
