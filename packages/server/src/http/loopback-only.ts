import { CarillonError } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'

/**
 * A server that listens on loopback asks for no key, because only programs of this machine reach it. A browser is such a
 * program, and works for strangers: a page can give its own name the address 127.0.0.1, or send a form there. What it
 * cannot do is leave out whose page it is: that stands in Host and in Origin.
 */
export function answerOnlyLoopback(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { host, origin } = request.headers
    if (host !== undefined && !namesLoopback(host)) done(foreign('Host', host))
    else if (origin !== undefined && !isLoopbackOrigin(origin)) done(foreign('Origin', origin))
    else done()
  })
}

function namesLoopback(host: string): boolean {
  return /^(?:(?:[\w-]+\.)*localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(host)
}

function isLoopbackOrigin(origin: string): boolean {
  const [, host] = /^https?:\/\/(.+)$/i.exec(origin) ?? []
  return host !== undefined && namesLoopback(host)
}

function foreign(header: string, value: string): CarillonError {
  return new CarillonError('foreign_host', {
    detail: `The header ${header} is ${JSON.stringify(value.slice(0, 200))}; this server listens on loopback and answers to localhost and loopback addresses alone.`,
  })
}
