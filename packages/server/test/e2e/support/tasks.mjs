// Tasks for end-to-end tests. `hold` waits until a file appears, so that a test decides when a run ends.
import { appendFileSync, existsSync } from 'node:fs'

export default {
  /** Hears no signal, and keeps the process alive. */
  async deaf(input) {
    appendFileSync(input.started, 'started')
    await new Promise((resolve) => setTimeout(resolve, 600_000))
  },
  note(input, ctx) {
    appendFileSync(
      input.file,
      `${JSON.stringify({ runId: ctx.runId, attempt: ctx.attempt, key: ctx.idempotencyKey })}\n`,
    )
    return { noted: true }
  },
  async hold(input, ctx) {
    appendFileSync(
      input.started,
      `${JSON.stringify({ attempt: ctx.attempt, token: ctx.fencingToken, key: ctx.idempotencyKey })}\n`,
    )
    while (!existsSync(input.until)) {
      if (ctx.signal.aborted) throw ctx.signal.reason
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return { held: true }
  },
}
