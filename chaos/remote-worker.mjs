// A worker over HTTP, as an application has it: the SDK, and no connection to the database.
//   node remote-worker.mjs URL NAME
import { setTimeout as wait } from 'node:timers/promises'
import { createWorker, defineTask } from '../packages/sdk/dist/index.js'
import { leavingEvidence } from './notes.mjs'

const [url, name] = process.argv.slice(2)
const remote = defineTask({
  id: 'remote',
  run: ({ ms }, ctx) => leavingEvidence(ctx, () => wait(ms, undefined, { signal: ctx.signal })),
})
// Its life in the cluster is found by this name: over HTTP nobody knows its process.
const worker = createWorker({ url, tasks: [remote], concurrency: 50, name: `${name}/${process.pid}` })
worker.start()
process.once('SIGTERM', async () => {
  await worker.stop({ withinMs: 5_000 })
  process.exit(0)
})
process.stdout.write('{}\n')
