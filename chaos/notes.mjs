// What handlers write down of themselves, in the form of the receiver's deliveries, in a file that Carillon does not know of,
// written at once: a killed worker has said what it began.
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { monotonic } from './clock.mjs'

const file = openSync(join(process.env.CHAOS_FOLDER ?? '.', `deliveries-task-${process.pid}.ndjson`), 'a')
export const note = (line) => writeSync(file, `${JSON.stringify(line)}\n`)

export function delivered(ctx) {
  note({
    in: monotonic(),
    job: ctx.jobId,
    run: ctx.runId,
    due: ctx.scheduledAt.getTime(),
    attempt: ctx.attempt,
    token: ctx.fencingToken,
    key: ctx.idempotencyKey,
  })
}

export async function leavingEvidence(ctx, work) {
  delivered(ctx)
  let said = 'refused'
  try {
    const result = await work()
    said = 'ok'
    return result
  } catch (error) {
    // It did not ask for a retry: it was stopped.
    if (ctx.signal.aborted) said = 'aborted'
    throw error
  } finally {
    note({ out: monotonic(), token: ctx.fencingToken, said })
  }
}
