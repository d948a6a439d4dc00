import { CarillonError, errorCatalogue, toProblem } from '@carillon/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { codeOf, isDatabaseUnavailable, isDeadlock } from '../db/errors.js'
import type { KnownRoutes } from './known-routes.js'
import { shown } from './pointer.js'

export const problemMediaType = 'application/problem+json'

/** Everything that goes wrong with a request leaves through here. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (hungUp(request)) {
    request.log.debug('the caller hung up before its request was complete')
    return sendProblem(new CarillonError('malformed_request', { cause: error }), request, reply)
  }
  const known = toCarillonError(error, request)
  if (known.code === 'internal_error') request.log.error({ err: error }, 'a request failed unexpectedly')
  if (known.code === 'database_unavailable')
    request.log.warn({ err: error }, 'the database did not answer a request')
  return sendProblem(known, request, reply)
}

export function sendProblem(
  error: CarillonError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const retryAfter = error.code === 'database_unavailable' ? 1 : error.retryAfterSeconds
  if (retryAfter !== undefined) void reply.header('Retry-After', String(retryAfter))
  if (error.code === 'unauthenticated') void reply.header('WWW-Authenticate', 'Bearer realm="carillon"')
  return (
    reply
      // Fastify closes the connection under a body it refuses. A sender that still writes would be reset and never see
      // the answer: the rest of its body is read and dropped instead, for as long as a request may take.
      .removeHeader('Connection')
      .code(error.status)
      .header('X-Request-Id', request.id)
      .header('Content-Type', problemMediaType)
      // As bytes: to a text Fastify adds a charset, which this media type does not have.
      .send(Buffer.from(JSON.stringify(toProblem(error, request.id))))
  )
}

export function answerUnknownRoute(routes: KnownRoutes) {
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = request.url.split('?', 1)[0] ?? '/'
    const methods = routes.methodsAt(path)
    const detail = `${request.method} ${path} is not a route of this server.`
    if (methods.length === 0)
      return sendProblem(new CarillonError('route_not_found', { detail }), request, reply)
    void reply.header('Allow', methods.join(', '))
    const hint = `This path takes ${methods.join(', ')}. ${errorCatalogue.route_not_found.hint}`
    return sendProblem(new CarillonError('route_not_found', { detail, hint }), request, reply)
  }
}

function toCarillonError(error: unknown, request: FastifyRequest): CarillonError {
  if (error instanceof CarillonError) return error
  const code = codeOf(error) ?? ''
  if (code.startsWith('FST_')) return frameworkError(code, error, request)
  if (isDatabaseUnavailable(error)) return new CarillonError('database_unavailable', { cause: error })
  // The same call succeeds when the other one is done.
  if (isDeadlock(error)) return new CarillonError('database_unavailable', { detail: gaveWay, cause: error })
  return new CarillonError('internal_error', { cause: error })
}

const gaveWay = 'Calls that change the same jobs at once waited for each other, and this one gave way.'

/** A sender that goes away mid-body fails with ECONNRESET too, and is not the database. */
function hungUp({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete
}

function frameworkError(code: string, cause: unknown, request: FastifyRequest): CarillonError {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new CarillonError('body_too_large', {
        detail: `The body has more than ${request.routeOptions.bodyLimit} bytes.`,
        cause,
      })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new CarillonError('unsupported_media_type', {
        detail: `The Content-Type of the body is ${shown(request.headers['content-type'])}.`,
        cause,
      })
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new CarillonError('malformed_request', {
        detail: 'The body has another length than Content-Length says.',
        cause,
      })
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
    case 'FST_STATIC_FORBIDDEN_PATH':
      return new CarillonError('route_not_found', { cause })
    default:
      return new CarillonError('internal_error', { cause })
  }
}
