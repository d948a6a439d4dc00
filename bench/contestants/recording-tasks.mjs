// The tasks of a Carillon that is measured: they do nothing but note when they were started. The benchmark asks for the
// notes over a socket in the folder that BENCH_RECORDER names.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Recorder } from '../lib/recorder.mjs'

const recorder = new Recorder()

const server = createServer((request, response) => {
  if (request.url === '/count') return response.end(String(recorder.count))
  const records = recorder.records()
  response.end(Buffer.from(records.buffer, records.byteOffset, records.byteLength))
})
server.listen(join(process.env.BENCH_RECORDER, `${process.pid}.sock`))
server.unref()

let released

/** One look at the file for all runs of this process: the benchmark measures them, not their timers. */
async function appears(file) {
  while (!existsSync(file)) await wait(200)
}

export default {
  note({ i }, ctx) {
    recorder.note(i, ctx.scheduledAt.getTime())
  },
  noop: () => undefined,
  /** Runs until a file is there: the benchmark decides how long all of them are in flight. */
  async slow({ until }) {
    released ??= appears(until)
    await released
  },
}
