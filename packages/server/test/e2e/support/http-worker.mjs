// A worker over HTTP as somebody would write it with the SDK. Says on stdout what it does, one JSON line each.
import { createWorker, defineTask } from '@carillon/sdk'

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

const hold = defineTask({
  id: process.env.TASK ?? 'hold',
  async run(input, ctx) {
    const { attempt, fencingToken: token, idempotencyKey: key, runId } = ctx
    say({ started: runId, attempt, token, key, at: Date.now(), scheduledAt: ctx.scheduledAt.getTime() })
    ctx.signal.addEventListener('abort', () =>
      say({ aborted: runId, why: String(ctx.signal.reason?.message) }),
    )
    if (input?.ms > 0) await new Promise((resolve) => setTimeout(resolve, input.ms))
    return { token }
  },
})

const log = (level) => (message, fields) => say({ level, message, ...fields })
const worker = createWorker({
  url: process.env.CARILLON_URL,
  tasks: [hold],
  concurrency: Number(process.env.CONCURRENCY ?? 10),
  name: 'e2e',
  log: { info: log('info'), warn: log('warn'), error: log('error') },
})
worker.start()
process.once('SIGTERM', async () => {
  await worker.stop({ withinMs: 5_000 })
  say({ stopped: true })
  process.exit(0)
})
