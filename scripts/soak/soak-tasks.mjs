// What the soak's workers run. Each attempt leaves its own evidence, before and after, in a file that Carillon does not
// know of: one line each, written at once, so that a killed worker has said what it began.
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const file = openSync(join(process.env.SOAK_EVIDENCE ?? '.', `evidence-${process.pid}.ndjson`), 'a')
const note = (line) => writeSync(file, `${JSON.stringify(line)}\n`)

async function leavingEvidence(ctx, work) {
  const token = ctx.fencingToken
  note({ begun: Date.now(), token, job: ctx.jobName, due: ctx.scheduledAt.getTime(), attempt: ctx.attempt })
  try {
    return await work()
  } finally {
    note({ ended: Date.now(), token })
  }
}

function wait(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

export default {
  quick: (_input, ctx) => leavingEvidence(ctx, () => ({ ok: true })),
  slow: (input, ctx) => leavingEvidence(ctx, () => wait(input.ms, ctx.signal)),
  flaky: (_input, ctx) =>
    leavingEvidence(ctx, () => {
      if ((ctx.fencingToken + ctx.attempt) % 3 === 0) throw new Error('it failed, as it sometimes does')
    }),
}
