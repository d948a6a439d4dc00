import { describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

function setUp() {
  const ports = new MemoryPorts()
  const server = createHttpServer(httpOptions({ api: ports }))
  const send = (method: 'GET' | 'POST', path: string, payload?: object) =>
    server.inject({ method, url: `/api/v1${path}`, ...(payload !== undefined && { payload }) })
  return { asked: ports.operations.asked, send }
}

describe('/api/v1/operations', () => {
  it('begins, is read, listed and cancelled', async () => {
    const { asked, send } = setUp()
    const input = {
      action: 'pause',
      filter: { search: 'nightly', state: 'active' },
      reason: 'move',
      until: '2027-01-01',
    }
    const begun = await send('POST', '/operations', input)
    expect(begun.statusCode).toBe(202)
    expect(asked).toEqual([{ tenant: 1, start: input }])
    const { operation_id: id } = begun.json<{ operation_id: string }>()
    expect((await send('GET', `/operations/${id}`)).json()).toMatchObject({ state: 'running' })
    expect((await send('GET', '/operations?limit=5')).json()).toMatchObject({ data: [{ operation_id: id }] })
    expect((await send('POST', `/operations/${id}/cancel`)).json()).toMatchObject({ state: 'cancelled' })
    expect((await send('GET', '/operations/op_none')).json()).toMatchObject({ code: 'operation_not_found' })
  })

  it('only counts with dry_run', async () => {
    const { asked, send } = setUp()
    const input = { action: 'delete', all: true, dry_run: true }
    const answer = await send('POST', '/operations', input)
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({ matched: 2 })
    expect(asked).toEqual([{ tenant: 1, preview: input }])
  })

  it.each([
    [{ action: 'explode', all: true }, '/action'],
    [{ action: 'pause', filter: { state: 'deleted' } }, '/filter/state'],
    [{ action: 'pause', filter: { target: 'ftp' } }, '/filter/target'],
    [{ action: 'pause', filter: { job_ids: [] } }, '/filter/job_ids'],
    [{ action: 'pause', filter: { nane: 'x' } }, '/filter/nane'],
    [{ filter: { search: 'x' } }, '/action'],
  ])('refuses %j at %s', async (body, pointer) => {
    const { asked, send } = setUp()
    const answer = await send('POST', '/operations', body)
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ errors: [{ pointer }] })
    expect(asked).toEqual([])
  })
})
