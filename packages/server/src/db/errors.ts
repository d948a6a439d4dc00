/** Errors are told apart by SQLSTATE or errno, never by their message, wherever the driver gives one. */

const unavailableErrno = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

/** 57P01–03: shutdown, crash, starting up. 53300: no connection left. 57014: our own statement timeout. 25006: read-only. */
const unavailableStates = new Set([
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '57014',
  '25006',
  '55P03',
  '53100',
  '53200',
])

/** The driver's own failures carry no code: a broken socket, a connection that could not be had in time. */
const driverFailures = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'Cannot use a pool after calling end on the pool',
]

export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

export function isDatabaseUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== undefined) {
    return unavailableErrno.has(code) || unavailableStates.has(code) || /^08/.test(code)
  }
  return error instanceof Error && driverFailures.some((text) => error.message.startsWith(text))
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (codeOf(error) !== '23505') return false
  return constraint === undefined || (error as { constraint?: string }).constraint === constraint
}

/** SQLSTATE classes 22 and 23: a value or a constraint. Such a statement fails again, however often it is sent. */
export function isAboutARow(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error) ?? '')
}

/** A deadlock, or a lock that was not to be had in the time given for it: nothing was done, because others were faster. */
export function hadToGiveWay(error: unknown): boolean {
  return isDeadlock(error) || codeOf(error) === '55P03'
}

/** Two waited for each other, and this one was given up so that the other could go on. Sent again it may well succeed. */
export function isDeadlock(error: unknown): boolean {
  return codeOf(error) === '40P01'
}
