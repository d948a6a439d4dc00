import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryAccess, openAccess } from '../../../test/kit/access-port.js'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { until } from '../../../test/kit/until.js'
import type { AccessPort } from '../api.js'
import { createHttpServer, type HttpServer } from '../server.js'

let server: HttpServer | null = null
afterEach(() => server?.close())

async function setUp(access: AccessPort = openAccess, ports = new MemoryPorts()) {
  server = createHttpServer(httpOptions({ api: ports, access, closeTimeoutMs: 60_000 }))
  await server.listen()
  const { url } = server
  return (path: string, headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
    fetch(`${url}/api/v1${path}`, { headers, signal })
}

/** Reads on until the words have come, or to the end. */
function listener(answer: Response): (wanted?: RegExp) => Promise<string> {
  const reader = answer.body?.getReader()
  let text = ''
  return async (wanted) => {
    while (reader !== undefined && wanted?.test(text) !== true) {
      const part = (await reader.read()) as { done: boolean; value?: Uint8Array }
      if (part.done) break
      text += new TextDecoder().decode(part.value)
    }
    return text
  }
}

describe('GET /api/v1/stats/stream', () => {
  it('tells the numbers at once, and ends when the server stops', async () => {
    const ask = await setUp()
    const answer = await ask('/stats/stream')
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const hear = listener(answer)
    await hear(/event: stats\ndata: \{"now".*\}\n\n/)
    await server?.close()
    expect(await hear()).toMatch(/event: closing\ndata: \{"reason":"server_stops".*\}\n\n$/)
  })

  it('tells from where on it will tell the history, before anybody asks for what was', async () => {
    const ask = await setUp()
    const answer = await ask('/stats/stream')
    const words = await listener(answer)(/event: history\ndata: .*\n\n/)
    const [, data = ''] = /event: history\ndata: (.*)\n\n/.exec(words) ?? []
    expect(JSON.parse(data)).toMatchObject({ step_seconds: 5, data: [] })
  })

  it('is none for a reader that hung up before the first numbers came', async () => {
    const ports = new MemoryPorts()
    const count = ports.stats.get.bind(ports.stats)
    let counted: () => void = () => undefined
    const held = new Promise<void>((resolve) => (counted = resolve))
    const get = vi.spyOn(ports.stats, 'get').mockImplementation((tenant) => held.then(() => count(tenant)))
    const ask = await setUp(openAccess, ports)
    const answers: ServerResponse[] = []
    const note = (told: unknown) => void answers.push((told as { response: ServerResponse }).response)
    subscribe('http.server.request.start', note)
    const hangUp = new AbortController()
    const answer = ask('/stats/stream', {}, hangUp.signal).catch(() => 'hung up')
    await until('the first numbers are asked for', () => get.mock.calls.length === 1)
    unsubscribe('http.server.request.start', note)
    hangUp.abort()
    expect(await answer).toBe('hung up')
    await until('the server has seen it', () => answers[0]?.destroyed === true)
    counted()
    await new Promise((resolve) => setImmediate(resolve))
    // A stream would have asked again by now, and every two seconds from here on.
    expect(get).toHaveBeenCalledOnce()
  })

  it('ends when the key that opened it does', async () => {
    const access = new MemoryAccess()
    const ask = await setUp(access)
    const answer = await ask('/stats/stream', { authorization: `Bearer ${access.keyOf('viewer')}` })
    const hear = listener(answer)
    await hear(/event: stats/)
    access.watched[0]?.abort.abort()
    expect(await hear()).toMatch(/event: closing\ndata: \{"reason":"key_ended".*\}\n\n$/)
  })
})

describe('GET /api/v1/stats/history', () => {
  it('takes minutes, and refuses what is none or too many', async () => {
    const ask = await setUp()
    expect((await ask('/stats/history?minutes=5')).status).toBe(200)
    for (const minutes of ['0', '121', 'x', '1.5', ''])
      expect((await ask(`/stats/history?minutes=${minutes}`)).status, minutes).toBe(422)
  })
})
