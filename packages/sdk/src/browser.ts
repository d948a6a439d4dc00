import { type ApiCalls, apiCalls } from './api-calls.js'
import { type ClientOptions, transportOf } from './client-options.js'

export type { ApiCalls } from './api-calls.js'
export type { ClientOptions } from './client-options.js'
export { ApiError, ConnectionError } from './errors.js'
export type { RunEvent } from './run-stream.js'

/** Every call of the API and nothing of Node or of schemas: small enough for a page. */
export function createBrowserClient(options: ClientOptions): ApiCalls {
  return apiCalls(transportOf(options, 'createBrowserClient'))
}
