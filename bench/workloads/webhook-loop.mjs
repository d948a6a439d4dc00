// Posts to a receiver as fast as it goes with so many at once: what the client library and this machine can do at most.
import { Agent, request } from 'undici'

const [url, count, atOnce] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const dispatcher = new Agent({ connections: atOnce, pipelining: 1 })
const body = JSON.stringify({ payload: { note: 'x'.repeat(100) } })
const headers = { 'content-type': 'application/json' }
let next = 0

async function line() {
  while (next < count) {
    const answer = await request(`${url}/${next++}`, { method: 'POST', body, headers, dispatcher })
    await answer.body.dump()
  }
}

const begun = performance.now()
await Promise.all(Array.from({ length: Math.min(atOnce, count) }, line))
process.send(performance.now() - begun, () => process.exit(0))
