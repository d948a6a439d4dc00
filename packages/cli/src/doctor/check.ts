export type CheckStatus = 'ok' | 'warn' | 'fail' | 'skip'

/** One thing that was looked at. */
export interface Check {
  readonly name: string
  /** `skip`: it could not be looked at, or there is nothing to look at. */
  readonly status: CheckStatus
  /** What was found, and what that means. */
  readonly says: string
  /** What to do about it. */
  readonly todo: string | null
}

export function ok(name: string, says: string): Check {
  return { name, status: 'ok', says, todo: null }
}

export function skip(name: string, says: string, todo: string | null = null): Check {
  return { name, status: 'skip', says, todo }
}

export function warn(name: string, says: string, todo: string): Check {
  return { name, status: 'warn', says, todo }
}

export function fail(name: string, says: string, todo: string): Check {
  return { name, status: 'fail', says, todo }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  // A connection refused on every address comes as an AggregateError without a message of its own.
  const inner = error instanceof AggregateError ? (error.errors as unknown[]).map(reasonOf) : []
  return inner.length > 0 ? inner.join('; ') : error.name
}
