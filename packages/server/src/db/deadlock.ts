import { isDeadlock } from './errors.js'

const mostTries = 3

/** Does again what Postgres gave up so that another could go on. `work` has to be undone as a whole when it fails. */
export async function despiteDeadlocks<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isDeadlock(error) || tries === mostTries) throw error
    }
  }
}
