/** The command line asks for something that cannot be meant. The message says what, and what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What was asked for does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
}

interface Refusal {
  readonly message: string
  readonly code: string
  readonly errors: readonly { pointer: string; message: string; hint?: string }[]
}

/**
 * An error of the catalogue that was met on this side, told as an answer of the server is: wrong usage where it is
 * about a flag, and a failure where it is about the schedule. Anything else is handed back.
 */
export function refused(error: unknown, flags: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof Error) || error.name !== 'CarillonError') return error
  const { message, code, errors } = error as Error & Refusal
  const lines = [`${message} (${code})`]
  let aboutFlag = false
  for (const problem of errors) {
    const flag = flags[problem.pointer.split('/')[1] ?? '']
    aboutFlag ||= flag !== undefined
    const said = problem.message === message ? '' : ` ${problem.message}`
    lines.push(`  ${flag ?? problem.pointer}:${said}${problem.hint === undefined ? '' : ` ${problem.hint}`}`)
  }
  const text = lines.join('\n')
  return aboutFlag ? new UsageError(text) : new Error(text)
}
