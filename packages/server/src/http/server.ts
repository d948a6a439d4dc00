import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { codeOf } from '../db/errors.js'
import { systemClock } from '../platform/clock.js'
import { loopbackOnly } from '../config.js'
import { type AppOptions, buildApp } from './app.js'
import { answerOnlyLoopback } from './loopback-only.js'
import { timeouts } from './timeouts.js'

export interface HttpOptions extends AppOptions {
  host: string
  port: number
  /** How long close() waits for requests in flight before it cuts them off. */
  closeTimeoutMs?: number
  /** The API answers from then on; what is asked of it before waits. Health is told all the while. */
  opened?: Promise<void>
}

export interface HttpServer {
  /** Where people and programs reach it; with the real port once it listens. */
  readonly url: string
  readonly port: number
  listen(): Promise<void>
  /** Goes on answering, and lets no connection live on after its answer: whoever comes again is sent elsewhere by who balances the load. */
  leave(): void
  /** Takes no new connection from now on, finishes what is in flight, and cuts off what does not finish in time. */
  close(): Promise<void>
  /** A request without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
}

export function createHttpServer(options: HttpOptions): HttpServer {
  const { app } = buildApp(options)
  if (loopbackOnly(options)) answerOnlyLoopback(app)
  const { opened } = options
  if (opened !== undefined) {
    let isOpen = false
    app.addHook('onRequest', (request, _reply, done) => {
      if (isOpen || !request.url.startsWith('/api/')) return done()
      opened.then(() => {
        isOpen = true
        done()
      }, done)
    })
  }
  let closing = false
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // Without it a kept-alive connection would stay open after its answer and hold up the close.
    if (closing) void reply.header('Connection', 'close')
    done()
  })
  const port = () => (app.server.address() as AddressInfo | null)?.port ?? options.port

  return {
    get url() {
      return `http://${reachable(options.host)}:${port()}`
    },
    get port() {
      return port()
    },
    async listen() {
      try {
        await app.listen({
          // Given the name, Fastify opens a second listener for ::1, which close() would not wait for.
          host: options.host === 'localhost' ? '127.0.0.1' : options.host,
          port: options.port,
          listenTextResolver: (address) => `listening on ${address}`,
        })
      } catch (error) {
        throw explained(error, options)
      }
    },
    leave() {
      // An idle connection is left open: one that closes just as a request is sent over it costs its caller that request.
      closing = true
    },
    async close() {
      closing = true
      const callOff = systemClock.after(options.closeTimeoutMs ?? timeouts.close, () =>
        app.server.closeAllConnections(),
      )
      try {
        await app.close()
      } finally {
        callOff()
      }
    },
    inject: app.inject.bind(app),
  }
}

function explained(error: unknown, { host, port }: HttpOptions): Error {
  const address = `${inUrl(host)}:${port}`
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new Error(
        `${address} is taken by another process: choose another port with --port or CARILLON_PORT (0 takes any free one)`,
        { cause: error },
      )
    case 'EACCES':
      return new Error(
        `this user may not listen on ${address}: choose a port above 1023 with --port or CARILLON_PORT`,
        { cause: error },
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new Error(`${host} is not an address of this machine: choose one with --host or CARILLON_HOST`, {
        cause: error,
      })
    default:
      return error instanceof Error ? error : new Error(String(error))
  }
}

/** An address that means "all of them" is no place to go to. */
function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? 'localhost' : inUrl(host)
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
