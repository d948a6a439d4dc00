// A process that joins the embedded Postgres and does as it is told, one word per line of stdin:
// "leave" leaves and ends; the end of stdin ends it without leaving, as a crash would.
// Answers with one line of JSON per step. Arguments: the compiled module, the data dir, [start timeout in ms].
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [modulePath, dataDir, startTimeoutMs] = process.argv.slice(2)
const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

const { joinEmbeddedPostgres } = await import(pathToFileURL(modulePath).href)
const logged = []
const log = (message, fields) => logged.push({ message, ...fields })

try {
  const began = performance.now()
  const options = { dataDir, log, ...(startTimeoutMs ? { startTimeoutMs: Number(startTimeoutMs) } : {}) }
  const postgres = await joinEmbeddedPostgres(options)
  const { url, port, how, serverVersion } = postgres
  answer({
    joined: {
      url,
      port,
      how,
      serverVersion,
      dataDir: postgres.dataDir,
      ms: performance.now() - began,
      logged,
    },
  })
  for await (const line of createInterface({ input: process.stdin })) {
    if (line !== 'leave') continue
    const left = await postgres.leave()
    const again = await postgres.leave()
    answer({ left: { ...left, again: again.stopped } })
    break
  }
  process.exit(0)
} catch (error) {
  answer({ failed: { name: error.name, message: error.message } })
  process.exit(1)
}
