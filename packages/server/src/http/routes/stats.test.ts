import { afterEach, describe, expect, it } from 'vitest'
import { MemoryAccess, openAccess } from '../../../test/kit/access-port.js'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import type { AccessPort } from '../api.js'
import { createHttpServer, type HttpServer } from '../server.js'

let server: HttpServer | null = null
afterEach(() => server?.close())

async function setUp(access: AccessPort = openAccess) {
  const ports = new MemoryPorts()
  server = createHttpServer(httpOptions({ api: ports, access, closeTimeoutMs: 60_000 }))
  await server.listen()
  const { url } = server
  return (path: string, headers: Record<string, string> = {}) => fetch(`${url}/api/v1${path}`, { headers })
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
