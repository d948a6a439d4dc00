// Some things must be registered before an instant that is named beforehand. How long that takes, a busy machine does not say.

export class TooLate extends Error {
  name = 'TooLate'
}

/** Tries with more and more time before the instant. `attempt(factor)` throws TooLate where that was not enough. */
export async function patiently(attempt) {
  for (const factor of [1, 4]) {
    try {
      return await attempt(factor)
    } catch (error) {
      if (!(error instanceof TooLate)) throw error
    }
  }
  return attempt(16)
}
