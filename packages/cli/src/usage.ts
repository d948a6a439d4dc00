/** The command line asks for something that cannot be meant. The message says what, and what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What was asked for does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
}
