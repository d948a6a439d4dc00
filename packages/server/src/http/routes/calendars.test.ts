import { describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

const url = '/api/v1/calendars/public%20holidays'
const content = {
  dates: ['2026-12-25', '2026-12-31/2027-01-01'],
  blackouts: [{ from: '2026-11-03T00:00:00Z', to: '2026-11-03T02:00:00Z', reason: 'maintenance' }],
}

function setUp() {
  const ports = new MemoryPorts()
  return { ports, server: createHttpServer(httpOptions({ api: ports })) }
}

describe('calendars', () => {
  it('are put, read, listed and deleted by name', async () => {
    const { ports, server } = setUp()
    const put = await server.inject({ method: 'PUT', url, payload: content })
    expect(put.statusCode).toBe(200)
    expect(put.json()).toMatchObject({ name: 'public holidays', version: 1, ...content })
    expect((await server.inject(url)).json()).toEqual(put.json())
    expect((await server.inject('/api/v1/calendars')).json()).toEqual({ data: [put.json()] })
    expect((await server.inject({ method: 'DELETE', url })).statusCode).toBe(204)
    expect(ports.calendars.stored.size).toBe(0)
  })

  it('that are not there are not found', async () => {
    const { server } = setUp()
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await server.inject({ method, url })
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toMatchObject({ code: 'calendar_not_found' })
    }
  })

  it('that a live job names are kept', async () => {
    const { ports, server } = setUp()
    await ports.calendars.put(1, 'public holidays', { dates: [] })
    ports.calendars.inUse.add('public holidays')
    const answer = await server.inject({ method: 'DELETE', url })
    expect(answer.statusCode).toBe(409)
    expect(answer.json()).toMatchObject({ code: 'calendar_in_use' })
  })

  it.each([
    [{}, '/dates', 'validation_failed'],
    [{ dates: '2026-12-25' }, '/dates', 'validation_failed'],
    [{ dates: [5] }, '/dates/0', 'validation_failed'],
    [{ dates: [], blackouts: [{ from: 'x', to: 'y' }] }, '/blackouts/0/reason', 'validation_failed'],
    [{ dates: [], days: [] }, '/days', 'unknown_field'],
  ])('refuse %j', async (payload, pointer, code) => {
    const { ports, server } = setUp()
    const answer = await server.inject({ method: 'PUT', url, payload })
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ code, errors: [{ pointer }] })
    expect(ports.calendars.stored.size).toBe(0)
  })
})
