import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { targetNamed } from '../../../test/kit/targets-port.js'
import { buildApp } from '../app.js'

let ports: MemoryPorts
let app: FastifyInstance

beforeEach(async () => {
  ports = new MemoryPorts()
  app = buildApp(httpOptions({ api: ports })).app
  await app.ready()
})
afterEach(() => app.close())

describe('/api/v1/targets', () => {
  it('lists hosts as a page, and shows one whose name has a port', async () => {
    ports.targets.stored.set('localhost:8080', targetNamed('localhost:8080', { rate_per_second: 5 }))
    const list = await app.inject('/api/v1/targets?limit=5')
    expect(list.json()).toMatchObject({ data: [{ host: 'localhost:8080' }], next_cursor: null })
    const one = await app.inject('/api/v1/targets/localhost%3A8080')
    expect(one.json()).toEqual(ports.targets.stored.get('localhost:8080'))
  })

  it('takes limits, null among them, and refuses an unknown field by its name', async () => {
    const put = await app.inject({
      method: 'PUT',
      url: '/api/v1/targets/a.test',
      payload: { rate_per_second: 0.5, burst: null },
    })
    expect(put.statusCode).toBe(200)
    expect(put.json()).toMatchObject({ limits: { rate_per_second: 0.5, burst: null } })
    const wrong = await app.inject({ method: 'PUT', url: '/api/v1/targets/a.test', payload: { rate: 1 } })
    expect(wrong.statusCode).toBe(422)
    expect(wrong.json()).toMatchObject({ code: 'unknown_field', errors: [{ pointer: '/rate' }] })
  })

  it.each([
    { rate_per_second: 0 },
    { burst: 1.5 },
    { max_concurrent: -1 },
    { breaker_failure_ratio: 1.1 },
    {
      breaker_enabled: 'on',
    },
  ])('refuses what is out of bounds: %o', async (payload) => {
    const put = await app.inject({ method: 'PUT', url: '/api/v1/targets/a.test', payload })
    expect(put.json()).toMatchObject({ status: 422, code: 'validation_failed' })
  })

  it('removes limits, resets, and answers 404 for a host that nobody calls', async () => {
    ports.targets.stored.set('a.test', targetNamed('a.test'))
    expect((await app.inject({ method: 'DELETE', url: '/api/v1/targets/a.test' })).statusCode).toBe(204)
    const reset = await app.inject({ method: 'POST', url: '/api/v1/targets/a.test/reset' })
    expect({ status: reset.statusCode, resets: ports.targets.resets }).toEqual({
      status: 200,
      resets: ['a.test'],
    })
    const gone = await app.inject('/api/v1/targets/b.test')
    expect(gone.json()).toMatchObject({ status: 404, code: 'target_not_found' })
  })
})
