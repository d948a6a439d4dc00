import { CarillonError } from '@carillon/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, onBehalfOf } from '../platform/caller.js'
import { checkNeed, needs } from './access.js'
import type { AccessPort } from './api.js'
import { defaultTenant } from './tenant.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null only where no key is needed at all: health and the OpenAPI document. */
    caller: Caller | null
  }
}

/**
 * Finds out who is calling before anything else is read of a request, and whether they may. From then on all that is done
 * for the request is done on behalf of that caller: the database is confined to its tenant, the audit names it.
 */
export function authenticate(app: FastifyInstance, access: AccessPort): void {
  app.decorateRequest('caller', null)
  app.addHook('onRequest', (request, reply, done) => {
    const operation = operationOf(request)
    if (needs[operation] === 'open') return done()
    callerOf(request, reply, operation, access).then(
      (caller) => {
        request.caller = caller
        onBehalfOf(caller, done)
      },
      (error: unknown) => done(error as Error),
    )
  })
  // A body arrives in events of the socket, which know nothing of whom they are for.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.caller === null) done()
    else onBehalfOf(request.caller, done)
  })
}

function operationOf(request: FastifyRequest): string {
  const schema = request.routeOptions.schema as { operationId?: string } | undefined
  return schema?.operationId ?? ''
}

async function callerOf(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: string,
  access: AccessPort,
): Promise<Caller> {
  const about = { operation, requestId: request.id }
  const key = keyOf(request)
  if (key === null) {
    if (access.required) throw unauthenticated('The request has no Authorization header.')
    const caller = localCaller(about)
    checkNeed(operation, caller)
    return caller
  }
  const identity = await access.identify(key)
  if (identity === null) throw unauthenticated('The key is unknown, revoked or expired.')
  const { name, ...rest } = identity
  const caller: Caller = {
    ...rest,
    ...about,
    actor: name,
    get signal() {
      return signalOf(reply, key, access)
    },
  }
  checkNeed(operation, caller)
  return caller
}

/** Without keys everybody who reaches the port is this one. */
function localCaller(about: Pick<Caller, 'operation' | 'requestId'>): Caller {
  return {
    ...about,
    tenant: defaultTenant,
    tenantName: 'default',
    role: 'admin',
    actor: 'local',
    key: null,
    expiresAt: null,
    get signal() {
      return new AbortController().signal
    },
  }
}

const signals = new WeakMap<FastifyReply, AbortSignal>()

/** Watched only where somebody asks for it, and for as long as the answer goes on. */
function signalOf(reply: FastifyReply, key: string, access: AccessPort): AbortSignal {
  const known = signals.get(reply)
  if (known !== undefined) return known
  const { signal, release } = access.watch(key)
  reply.raw.once('close', release)
  signals.set(reply, signal)
  return signal
}

/** Null: none was sent. Only the header is looked at: a URL stands in logs and histories. */
function keyOf(request: FastifyRequest): string | null {
  const { authorization } = request.headers
  if (authorization === undefined) return null
  const [, key] = /^Bearer +(\S+) *$/i.exec(authorization) ?? []
  if (key === undefined) throw unauthenticated('The Authorization header is not "Bearer car_…".')
  return key
}

function unauthenticated(detail: string): CarillonError {
  return new CarillonError('unauthenticated', { detail })
}
