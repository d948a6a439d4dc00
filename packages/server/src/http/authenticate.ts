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
    const goOn = (caller: Caller) => {
      request.caller = caller
      done()
    }
    const refuse = (error: unknown) => done(error as Error)
    let caller: Caller | Promise<Caller>
    try {
      caller = callerOf({ request, reply, operation }, access)
    } catch (error) {
      return refuse(error)
    }
    if (caller instanceof Promise) caller.then(goOn, refuse)
    else goOn(caller)
  })
  // Not before: a body arrives in events of the socket, which know nothing of whom they are for.
  app.addHook('preValidation', (request, reply, done) => {
    if (request.caller === null) done()
    else onBehalfOf(request.caller, done, (ended) => reply.raw.once('close', ended))
  })
}

function operationOf(request: FastifyRequest): string {
  const schema = request.routeOptions.schema as { operationId?: string } | undefined
  return schema?.operationId ?? ''
}

/** Without a key nothing is looked up, and nothing waited for. */
function callerOf(about: Request, access: AccessPort): Caller | Promise<Caller> {
  const key = keyOf(about.request)
  if (key !== null) return keyedCallerOf(about, key, access)
  if (access.required) throw unauthenticated('The request has no Authorization header.')
  const caller = new LocalCaller(about.operation, about.request.id, traceparentOf(about.request))
  checkNeed(about.operation, caller)
  return caller
}

interface Request {
  request: FastifyRequest
  reply: FastifyReply
  operation: string
}

async function keyedCallerOf(
  { request, reply, operation }: Request,
  key: string,
  access: AccessPort,
): Promise<Caller> {
  const identity = await access.identify(key)
  if (identity === null) throw unauthenticated('The key is unknown, revoked or expired.')
  const { name, ...rest } = identity
  const caller: Caller = {
    ...rest,
    operation,
    requestId: request.id,
    traceparent: traceparentOf(request),
    actor: name,
    get signal() {
      return signalOf(reply, key, access)
    },
  }
  checkNeed(operation, caller)
  return caller
}

/** Without keys everybody who reaches the port is this one. */
class LocalCaller implements Caller {
  readonly tenant = defaultTenant
  readonly tenantName = 'default'
  readonly role = 'admin'
  readonly actor = 'local'
  readonly key = null
  readonly expiresAt = null

  constructor(
    readonly operation: string,
    readonly requestId: string,
    readonly traceparent: string | undefined,
  ) {}

  get signal(): AbortSignal {
    return new AbortController().signal
  }
}

function traceparentOf({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers
  return typeof traceparent === 'string' ? traceparent : undefined
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
