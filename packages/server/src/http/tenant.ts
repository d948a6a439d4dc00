import type { FastifyRequest } from 'fastify'

/** The tenant `default`, which every database has. */
export const defaultTenant = 1

/** Whose jobs a request is about. The one place where a key decides; without keys everybody is the default tenant. */
export function resolveTenant(_request: FastifyRequest): Promise<number> {
  return Promise.resolve(defaultTenant)
}
