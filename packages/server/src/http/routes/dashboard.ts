import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** Nothing from elsewhere, nothing inline, no frame around it: a hostile job name has no script to become. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ')

/** The pages for people. The files there are at start are the routes, so that anything else is an unknown route. */
export async function addDashboard(app: FastifyInstance, directory: string): Promise<void> {
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.headers({
      'Content-Security-Policy': contentSecurityPolicy,
      'X-Frame-Options': 'DENY',
      'Cross-Origin-Opener-Policy': 'same-origin',
      // Revalidated by ETag: after an upgrade nobody looks at the old page.
      'Cache-Control': 'no-cache',
    })
    done()
  })
  await app.register(fastifyStatic, {
    root: directory,
    wildcard: false,
    cacheControl: false,
    decorateReply: false,
  })
}
