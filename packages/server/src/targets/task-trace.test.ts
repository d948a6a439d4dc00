import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { defineTask } from '@carillon/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attemptSpanId, runTraceId } from '../platform/trace-ids.js'
import { attempt as some } from '../../test/kit/local-target.js'
import { StopSwitch } from './stop-switch.js'
import { createTaskTarget } from './task.js'
import { createTaskRegistry } from './task-registry.js'

const ofTracing = createRequire(createRequire(import.meta.url).resolve('@opentelemetry/sdk-trace'))
interface Context {
  readonly is: unique symbol
}
interface Api {
  ROOT_CONTEXT: Context
  context: { setGlobalContextManager(manager: object): void; disable(): void }
  propagation: { setGlobalPropagator(propagator: object): void; disable(): void }
  trace: {
    setGlobalTracerProvider(provider: object): void
    getTracer(name: string): { startSpan(name: string): { end(): void } }
    disable(): void
  }
}
const api = ofTracing('@opentelemetry/api') as Api
const { W3CTraceContextPropagator } = ofTracing('@opentelemetry/core') as {
  W3CTraceContextPropagator: new () => object
}
interface Ended {
  name: string
  spanContext(): { traceId: string; spanId: string }
  parentSpanContext?: { spanId: string; traceFlags: number }
}

const ended: Ended[] = []
const active = new AsyncLocalStorage<Context>()
const manager = {
  active: () => active.getStore() ?? api.ROOT_CONTEXT,
  with: (context: Context, work: (...args: unknown[]) => unknown, self?: unknown, ...args: unknown[]) =>
    active.run(context, () => work.apply(self, args)),
  bind: (_context: Context, target: unknown) => target,
  enable: () => manager,
  disable: () => manager,
}

beforeAll(async () => {
  const sdk = (await import('@opentelemetry/sdk-trace')) as unknown as {
    TracerProvider: new (options: object) => object
  }
  const processor = {
    onStart: () => undefined,
    onEnd: (span: Ended) => void ended.push(span),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
  api.context.setGlobalContextManager(manager)
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  api.trace.setGlobalTracerProvider(new sdk.TracerProvider({ spanProcessors: [processor] }))
})
afterAll(() => {
  api.context.disable()
  api.propagation.disable()
  api.trace.disable()
})

test('a handler has the trace of its run as its active context, also after a wait, and knows it by name', async () => {
  const told: string[] = []
  const span = (name: string) => api.trace.getTracer('handler').startSpan(name).end()
  const task = defineTask({
    id: 'traced',
    async run(_input, ctx) {
      told.push(ctx.traceparent)
      span('before')
      await new Promise((resolve) => setImmediate(resolve))
      span('after')
    },
  })
  const target = createTaskTarget(createTaskRegistry([task]), { isTraced: () => true })
  const attempt = { ...some, jobId: 'job_1', runId: 'run_1', token: 7 }
  await target.deliver({ type: 'task', task: 'traced' }, attempt, new StopSwitch())
  const [traceId, spanId] = [runTraceId('job_1', 'run_1'), attemptSpanId('job_1', 'run_1', 7)]
  expect(told).toEqual([`00-${traceId}-${spanId}-01`])
  expect(ended.map(({ name }) => name)).toEqual(['before', 'after'])
  for (const one of ended) {
    expect(one.spanContext().traceId).toBe(traceId)
    expect(one.parentSpanContext?.spanId).toBe(spanId)
  }
})

test('what is left out of the traces says so', async () => {
  const told: string[] = []
  const task = defineTask({ id: 'seldom', run: (_input, ctx) => void told.push(ctx.traceparent) })
  const target = createTaskTarget(createTaskRegistry([task]), { isTraced: () => false })
  await target.deliver({ type: 'task', task: 'seldom' }, some, new StopSwitch())
  expect(told[0]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
})
