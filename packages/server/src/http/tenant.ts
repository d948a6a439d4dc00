import type { FastifyRequest } from 'fastify'
import type { Caller } from '../platform/caller.js'

/** The tenant `default`, which every database has. Its admins are those of the fleet. */
export const defaultTenant = 1

/** Whose jobs a request is about: the tenant of whoever authenticate.ts found to be calling. */
export function resolveTenant(request: FastifyRequest): Promise<number> {
  return Promise.resolve(callerOf(request).tenant)
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('An operation that needs no key has no caller.')
  return request.caller
}
