import { createHash } from 'node:crypto'
import { CarillonError, type ErrorCode, limits, toProblem } from '@carillon/contract'
import type { FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify'
import { Type } from 'typebox'
import type { Answer, IdempotencyPort, Inside, KeyedCall, Replayable } from './api.js'
import { problemMediaType } from './problems.js'
import { resolveTenant } from './tenant.js'

const headerName = 'idempotency-key'

/** For `headers` of the operation of a route that takes the key. */
export const idempotencyHeaders = Type.Object({
  [headerName]: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKey,
      description:
        'Any text of your own, e.g. a UUID. A call that is repeated with the same key is not done again: it has the ' +
        'answer of the first, for 24 hours at least, with Idempotent-Replayed: true.',
    }),
  ),
})

/** For `errors` of the operation of a route that takes the key. */
export const idempotencyErrors = [
  'idempotency_key_in_use',
  'idempotency_key_reused',
] as const satisfies readonly ErrorCode[]

/** What a handler answers with, before it is written down. */
export interface Given {
  status: number
  body: unknown
  location?: string
}

/**
 * A handler that takes an Idempotency-Key. With one, `work` is done inside the transaction in which the key and the answer
 * are kept, and has to pass `inside` on to whatever port makes the effect; without one, `inside` is undefined.
 *
 *     handler: idempotent<{ Params: JobParams }>(idempotency, async (request, tenant, inside) => ({
 *       status: 202,
 *       body: await jobs.trigger(tenant, request.params.job_id, inside),
 *     }))
 */
export function idempotent<Route extends RouteGenericInterface>(
  idempotency: IdempotencyPort,
  work: (request: FastifyRequest<Route>, tenant: number, inside?: Inside) => Promise<Given>,
) {
  return async (request: FastifyRequest<Route>, reply: FastifyReply): Promise<FastifyReply> => {
    const tenant = await resolveTenant(request)
    const call = keyedCallOf(request)
    if (call === null) return send(reply, { answer: written(await work(request, tenant)), replayed: false })
    return keptOrRefused({ idempotency, tenant, call, request, reply }, () =>
      idempotency.once(tenant, call, async (inside) => written(await work(request, tenant, inside))),
    )
  }
}

/** The call as its key stands for it; null without a key. */
export function keyedCallOf(request: FastifyRequest): KeyedCall | null {
  const key = request.headers[headerName]
  if (typeof key !== 'string') return null
  const hash = createHash('sha256').update(`${request.method} ${request.url}\n`)
  return { key, request: hash.update(JSON.stringify(request.body ?? null)).digest() }
}

/** Sends what `once` answers. A refusal that is about the state of things is kept, so that the call stays decided. */
export async function keptOrRefused(
  {
    idempotency,
    tenant,
    call,
    request,
    reply,
  }: {
    idempotency: IdempotencyPort
    tenant: number
    call: KeyedCall
    request: FastifyRequest
    reply: FastifyReply
  },
  once: () => Promise<Replayable>,
): Promise<FastifyReply> {
  try {
    return send(reply, await once())
  } catch (error) {
    if (!(error instanceof CarillonError) || !isKept(error)) throw error
    const answer = {
      status: error.status,
      body: JSON.stringify(toProblem(error, request.id)),
      location: null,
    }
    await idempotency.keep(tenant, call, answer)
    return send(reply, { answer, replayed: false })
  }
}

/** Like Stripe: what was executed is decided. Refusals of the request as such, limits and failures are not. */
function isKept({ status, code }: CarillonError): boolean {
  return [404, 409, 410].includes(status) && code !== 'idempotency_key_in_use'
}

function written({ status, body, location = undefined }: Given): Answer {
  return { status, body: JSON.stringify(body), location: location ?? null }
}

function send(reply: FastifyReply, { answer, replayed }: Replayable): FastifyReply {
  if (replayed) void reply.header('Idempotent-Replayed', 'true')
  if (answer.location !== null) void reply.header('Location', answer.location)
  const type = answer.status >= 400 ? problemMediaType : 'application/json; charset=utf-8'
  // As bytes: to a text Fastify adds a charset, which the media type of problems does not have.
  return reply.code(answer.status).header('Content-Type', type).send(Buffer.from(answer.body))
}
