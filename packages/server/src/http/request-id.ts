import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { withoutKeys } from '../platform/key.js'

/** Visible ASCII only: the id goes into headers and log lines as it came. */
const acceptable = /^[\x21-\x7e]{1,128}$/

/** The caller's own id when it is fit to be repeated, so that one id follows a call through several services. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id']
  // A key that somebody sends here by mistake must not come into logs.
  if (typeof given === 'string' && acceptable.test(given) && withoutKeys(given) === given) return given
  return `req_${randomUUID().replaceAll('-', '')}`
}
