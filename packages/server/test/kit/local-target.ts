import { StopSwitch } from '../../src/targets/stop-switch.js'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import type { HttpTarget } from '@carillon/contract'
import { afterEach } from 'vitest'
import { createAddressGuard } from '../../src/targets/address-guard.js'
import { createHttpTarget, type HttpTargetOptions } from '../../src/targets/http.js'
import type { Attempt } from '../../src/targets/target.js'

/** Real servers on loopback to deliver to, and a deliverer that may reach them. All are closed after each test. */

export const scheduledAt = Date.UTC(2026, 0, 5, 9)
export const now = Date.UTC(2026, 0, 5, 9, 0, 30)
export const never = new StopSwitch()

export const attempt: Attempt = {
  tenant: 7,
  jobId: 'job_1',
  jobName: 'weekly report',
  runId: 'run_1',
  scheduledAt,
  attempt: 2,
  token: 77,
  catchUp: false,
  idempotencyKey: 'job_1:1767603600',
  payload: { n: 1 },
  timeoutMs: 20_000,
}

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

export async function serve(handler: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

/** Whatever it sends, HTTP or not. */
export async function serveRaw(onRequest: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('data', () => onRequest(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

export interface Seen {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: Buffer
}

/** A server that notes what comes and answers as told: [status, headers, body] per request, the last one for ever. */
export async function recorder(
  ...answers: [status: number, headers?: Record<string, string>, body?: string][]
): Promise<{ url: string; seen: Seen[]; server: Server }> {
  const seen: Seen[] = []
  const { url, server } = await serve((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      seen.push({ method, url, headers, body: Buffer.concat(chunks) })
      const [status, own, text] = answers[Math.min(seen.length, answers.length) - 1] ?? [200]
      response.writeHead(status, own).end(text)
    })
  })
  return { url, seen, server }
}

export function deliverer(options: Partial<HttpTargetOptions> = {}) {
  const guard = createAddressGuard({ allowedNetworks: [], allowLoopback: true })
  const target = createHttpTarget({ guard, now: () => now, ...options })
  cleanups.push(() => target.close())
  return (url: string, more: Partial<HttpTarget> = {}, changes: Partial<Attempt> = {}) =>
    target.deliver({ type: 'http', url, ...more }, { ...attempt, ...changes }, never)
}
