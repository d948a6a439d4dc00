import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Nothing from elsewhere, nothing inline, no frame around it: a hostile job name has no script to become. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ')

/** The addresses of its views: each, and all below it, is the one page, which shows the view. */
export const viewPaths = [
  ...['jobs', 'runs', 'dead-letters', 'load', 'cluster'],
  ...['targets', 'alerts', 'audit', 'keys', 'operations'],
] as const

/** A name with a hash in it is another file after an upgrade; all else is revalidated by ETag. */
const forEver = 'public, max-age=31536000, immutable'
const revalidated = 'no-cache'
const isHashed = (path: string) => /[/\\]assets[/\\][^/\\]+$/.test(path)

/** The pages for people. The files there are at start are the routes, so that anything else is an unknown route. */
export async function addDashboard(app: FastifyInstance, directory: string): Promise<void> {
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.headers({
      'Content-Security-Policy': contentSecurityPolicy,
      'X-Frame-Options': 'DENY',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cache-Control': revalidated,
    })
    done()
  })
  await app.register(fastifyStatic, {
    root: directory,
    wildcard: false,
    cacheControl: false,
    preCompressed: true,
    globIgnore: ['**/*.br', '**/*.gz'],
    setHeaders: (reply, path) => {
      if (isHashed(path)) void reply.header('Cache-Control', forEver)
    },
  })
  // No part of the API: hidden from its document.
  const options = { schema: { hide: true }, config: { page: true as const }, handler: sendPage }
  for (const view of viewPaths) {
    app.get(`/${view}`, options)
    app.get(`/${view}/*`, options)
  }
}

/** A browser that is sent to a view asks for HTML. Whoever does not has forgotten /api/v1, and is told so. */
function sendPage(request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  if (request.headers.accept?.includes('text/html') === true) return reply.sendFile('index.html')
  reply.callNotFound()
  return reply
}
