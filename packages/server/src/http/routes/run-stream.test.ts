import { afterEach, describe, expect, it } from 'vitest'
import { MemoryAccess, openAccess } from '../../../test/kit/access-port.js'
import { httpOptions, MemoryPorts, runOf } from '../../../test/kit/http-ports.js'
import { until } from '../../../test/kit/until.js'
import type { AccessPort } from '../api.js'
import { createHttpServer, type HttpServer } from '../server.js'

let server: HttpServer | null = null
afterEach(() => server?.close())

async function setUp(access: AccessPort = openAccess) {
  const ports = new MemoryPorts()
  server = createHttpServer(httpOptions({ api: ports, access, closeTimeoutMs: 60_000 }))
  await server.listen()
  const { url } = server
  const open = (path = '/runs/stream', headers: Record<string, string> = {}) =>
    fetch(`${url}/api/v1${path}`, { headers })
  const sink = async () => {
    await until('a stream is open', () => ports.runStreams.open.size > 0)
    const [one] = ports.runStreams.open
    if (one === undefined) throw new Error('No stream is open.')
    return one
  }
  return { ports, open, sink }
}

describe('GET /api/v1/runs/stream', () => {
  it('streams runs with ids until the server stops, which waits for none of them', async () => {
    const { ports, open, sink } = await setUp()
    const answer = await open()
    const one = await sink()
    const run = runOf('job_1', 1)
    one.onRuns([{ id: 'p1', data: JSON.stringify(run) }], 'p1')
    one.onGap({ from: 'a', to: 'b', reason: 'too_many' }, 'p2')
    one.onClosing()
    const text = await answer.text()
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(text).toContain(`event: run\nid: p1\ndata: ${JSON.stringify(run)}\n\n`)
    expect(text).toContain('event: gap\nid: p2\ndata: {"from":"a","to":"b","reason":"too_many"}\n\n')
    expect(text).toMatch(/event: closing\ndata: \{.*\}\n\n$/)
    expect(ports.runStreams.open.size).toBe(0)
  })

  it('ends when the key that opened it does', async () => {
    const access = new MemoryAccess()
    const { ports, open, sink } = await setUp(access)
    const answer = await open('/runs/stream', { authorization: `Bearer ${access.keyOf('viewer')}` })
    await sink()
    access.watched[0]?.abort.abort()
    expect(await answer.text()).toMatch(/event: closing\ndata: \{"reason":"key_ended".*\}\n\n$/)
    expect(ports.runStreams.open.size).toBe(0)
    expect(access.watched.map(({ released }) => released)).toEqual([true])
  })

  it('hands over the job and the last id, and lets go when the reader does', async () => {
    const { ports, open, sink } = await setUp()
    const answer = await open('/runs/stream?job_id=job_1', { 'Last-Event-ID': 'p7' })
    await sink()
    expect(ports.runStreams.asked).toEqual([{ tenant: 1, jobId: 'job_1', from: 'p7' }])
    await answer.body?.cancel()
    await until('it is let go', () => ports.runStreams.open.size === 0)
  })

  it.each([
    ['/runs/stream?job_id=job_none', {}, 404, 'job_not_found'],
    ['/runs/stream', { 'Last-Event-ID': 'nonsense' }, 422, 'invalid_cursor'],
    ['/runs/stream?jobs=1', {}, 422, 'unknown_field'],
  ])('answers %s %j with a problem instead', async (path, headers, status, code) => {
    const { open } = await setUp()
    const answer = await open(path, headers)
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ code })
  })
})
