import { once } from 'node:events'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { httpOptions, MemoryPorts } from '../../test/kit/http-ports.js'
import { buildApp } from './app.js'
import { createHttpServer, type HttpOptions, type HttpServer } from './server.js'

const open: HttpServer[] = []

async function listening(given: Partial<HttpOptions> = {}): Promise<HttpServer> {
  const server = createHttpServer(httpOptions({ closeTimeoutMs: 0, ...given }))
  open.push(server)
  await server.listen()
  return server
}

async function connected(server: HttpServer): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Jobs whose list waits until it is let go, and a promise of its being asked. */
function slowPorts() {
  const ports = new MemoryPorts()
  let letGo = () => {}
  let asked = () => {}
  const gate = new Promise<void>((resolve) => (letGo = resolve))
  const wasAsked = new Promise<void>((resolve) => (asked = resolve))
  ports.jobs.list = async () => {
    asked()
    await gate
    return { data: [], next_cursor: null }
  }
  return { ports, letGo: () => letGo(), wasAsked }
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

describe('listen', () => {
  it('tells health at once, and answers calls of the API when the start is over', async () => {
    let open = () => {}
    const { url } = await listening({ opened: new Promise<void>((resolve) => (open = resolve)) })
    const order: string[] = []
    const jobs = fetch(`${url}/api/v1/jobs`).then(({ status }) => order.push(`jobs ${status}`))
    await fetch(`${url}/readyz`).then(({ status }) => order.push(`ready ${status}`))
    open()
    await jobs
    expect(order).toEqual(['ready 200', 'jobs 200'])
  })

  it('tells the port that was free, and serves there', async () => {
    const server = await listening()
    expect(server.port).toBeGreaterThan(0)
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  })

  it('says which address is taken and what to do about it', async () => {
    const { port } = await listening()
    const second = createHttpServer(httpOptions({ port }))
    await expect(second.listen()).rejects.toThrow(
      new RegExp(`127\\.0\\.0\\.1:${port} is taken .*--port or CARILLON_PORT`),
    )
    await second.close()
  })

  it('says when the host is no address of this machine', async () => {
    const server = createHttpServer(httpOptions({ host: '192.0.2.1' }))
    await expect(server.listen()).rejects.toThrow(
      /192\.0\.2\.1 is not an address of this machine: .*CARILLON_HOST/,
    )
    await server.close()
  })

  it.each([
    ['0.0.0.0', 'http://localhost:7420'],
    ['::', 'http://localhost:7420'],
    ['::1', 'http://[::1]:7420'],
  ])('on %s people go to %s', (host, url) => {
    expect(createHttpServer(httpOptions({ host, port: 7420 })).url).toBe(url)
  })
})

it('that leaves closes no idle connection: the next request over it is answered, and is its last', async () => {
  const server = await listening()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const asked = async () => {
    const request = httpRequest(`${server.url}/healthz`, { agent }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await text(response)
    return [request.reusedSocket, response.headers.connection]
  }
  expect(await asked()).toEqual([false, 'keep-alive'])
  server.leave()
  // Time for a close to arrive here, if there was one.
  await fetch(`${server.url}/healthz`)
  expect(await asked()).toEqual([true, 'close'])
  agent.destroy()
})

describe('close', () => {
  it('refuses new connections at once and finishes the request in flight', async () => {
    const { ports, letGo, wasAsked } = slowPorts()
    const server = await listening({ api: ports, closeTimeoutMs: 60_000 })
    const answer = fetch(`${server.url}/api/v1/jobs`)
    await wasAsked
    const closed = server.close()
    expect(['ECONNREFUSED', 'ECONNRESET']).toContain(await refusal(server.port))
    letGo()
    const { status, headers } = await answer
    expect([status, headers.get('connection')]).toEqual([200, 'close'])
    await closed
  })

  it('does not wait for idle kept-alive connections', async () => {
    const server = await listening({ closeTimeoutMs: 60_000 })
    const agent = new Agent({ keepAlive: true })
    const request = httpRequest(`${server.url}/healthz`, { agent }).end()
    const [response] = (await once(request, 'response')) as [AsyncIterable<Buffer>]
    await text(response)
    await server.close()
    agent.destroy()
  })

  it.each(['127.0.0.1', 'localhost'])('cuts off what does not finish in time on %s', async (host) => {
    const { ports, wasAsked, letGo } = slowPorts()
    const server = await listening({ api: ports, host, closeTimeoutMs: 50 })
    const broken = expect(fetch(`${server.url}/api/v1/jobs`)).rejects.toThrow()
    await wasAsked
    await server.close()
    await broken
    letGo()
  })

  it('does not wait for a connection that never says anything', async () => {
    const server = await listening({ closeTimeoutMs: 50 })
    const socket = await connected(server)
    const ended = once(socket, 'close')
    await server.close()
    socket.resume()
    await ended
  })
})

describe('on the wire', () => {
  it('answers broken HTTP with a problem document and closes', async () => {
    const socket = await connected(await listening())
    socket.write('NONSENSE\r\n\r\n')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(problemIn(answer)).toMatchObject({ code: 'malformed_request', status: 400, errors: [] })
  })

  it('answers endless headers with 431', async () => {
    const socket = await connected(await listening())
    socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`)
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(problemIn(answer)).toMatchObject({ code: 'headers_too_large' })
  })

  const megabytes = Buffer.alloc(8 * 1024 * 1024, 'x')
  it('answers a sender that never finishes its headers with 408, in bounded time', async () => {
    const { app } = buildApp(httpOptions())
    expect(app.server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 30_000, timeout: 60_000 })
    app.server.headersTimeout = 1
    await app.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(problemIn(answer)).toMatchObject({ code: 'request_timeout' })
    await app.close()
  })

  it.each([
    ['with its length', megabytes],
    ['in chunks', new Blob([megabytes]).stream()],
  ])('lets a sender of a far too large body, %s, read the answer', async (_how, body) => {
    const server = await listening({ maxBodyBytes: 1_024 })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/api/v1/jobs`, { method: 'POST', headers, body, duplex: 'half' })
    expect(answer.status).toBe(413)
    expect(await answer.json()).toMatchObject({ code: 'body_too_large' })
  })

  it('does not take a sender that hangs up mid-body for a lost database', async () => {
    const logged: { level: number; msg: string }[] = []
    const write = (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number])
    const log = pino({ level: 'debug' }, { write })
    const server = await listening({ log })
    const socket = await connected(server)
    const head = [
      'POST /api/v1/jobs HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      'Content-Length: 100',
    ]
    socket.write([...head, 'Expect: 100-continue', '', '{"na'].join('\r\n'))
    await once(socket, 'data') // 100 Continue: the body is waited for
    socket.resetAndDestroy()
    await vi.waitFor(() => expect(logged.at(-1)?.msg).toMatch(/hung up/))
    expect(logged.filter(({ level }) => level > 30)).toEqual([])
  })

  it('keeps the connection after a refused body, so that the next request can use it', async () => {
    const socket = await connected(await listening())
    const bad =
      'POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{'
    socket.write(`${bad}GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    const statuses = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).toEqual(['400', '200'])
  })
})

async function refusal(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1')
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  return error.code
}

function problemIn(answer: string): unknown {
  expect(answer).toContain('Content-Type: application/problem+json\r\n')
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
}
