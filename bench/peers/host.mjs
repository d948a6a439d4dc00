// The process in which one peer lives: registers and works as its guide says, and notes starts as ours does. The benchmark
// speaks to it by messages.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { now } from '../lib/figures.mjs'
import { Recorder } from '../lib/recorder.mjs'

const [name, folder] = process.argv.slice(2)
const require = createRequire(join(folder, 'package.json'))
const load = (module) => import(pathToFileURL(require.resolve(module)).href)
const { default: makePeer } = await import(`./${name}.mjs`)
const peer = makePeer(load)
const recorder = new Recorder()
const perCall = 1_000
const note = (i, due, at) => recorder.note(i, due, at)

const operations = {
  async open(options) {
    await peer.open(options)
  },
  /** One-offs, a thousand a call, one call after another. */
  async schedule({ dues }) {
    const begun = now()
    for (let from = 0; from < dues.length; from += perCall)
      await peer.addMany(
        Array.from(dues.subarray(from, from + perCall), (due, at) => ({ i: from + at, due })),
      )
    return now() - begun
  },
  async settle() {
    await peer.settle()
  },
  async listen() {
    await peer.listen(note)
  },
  count: () => recorder.count,
  records: () => recorder.records().slice(),
  drained: ({ count }) => peer.drained(count),
  /** Single calls, so many at once, for some seconds. */
  async singles({ seconds, inFlight }) {
    const due = Date.now() + 3_600_000
    let made = 0
    const until = now() + seconds * 1_000
    const begun = now()
    const line = async () => {
      while (now() < until) await peer.addOne(made++, due)
    }
    await Promise.all(Array.from({ length: inFlight }, line))
    return { made, ms: now() - begun }
  },
  async bulk({ count, inFlight }) {
    const due = Date.now() + 3_600_000
    let from = 0
    const begun = now()
    const line = async () => {
      while (from < count) {
        const [first, size] = [from, Math.min(perCall, count - from)]
        from += size
        await peer.addMany(Array.from({ length: size }, (_, at) => ({ i: first + at, due })))
      }
    }
    await Promise.all(Array.from({ length: inFlight }, line))
    return { made: count, ms: now() - begun }
  },
  stored: () => peer.stored(),
  /** The whole cycle as fast as it goes: due at once, never more than some thousand ahead of the workers. */
  async cycle({ seconds, ahead }) {
    await peer.listen(note)
    const until = now() + seconds * 1_000
    const begun = now()
    let made = 0
    const line = async () => {
      while (now() < until) {
        if (made - recorder.count > ahead) await new Promise((resolve) => setTimeout(resolve, 1))
        else {
          const first = made
          made += perCall
          const due = Date.now()
          await peer.addMany(Array.from({ length: perCall }, (_, at) => ({ i: first + at, due })))
        }
      }
    }
    await Promise.all([line(), line()])
    while (recorder.count < made) await new Promise((resolve) => setTimeout(resolve, 5))
    const ended = await peer.drained(made)
    return { made, ms: ended - begun }
  },
  /** Jobs of the peer's own cron at every minute. */
  recurring: ({ count }) => peer.recurring(count, note),
  async close() {
    await peer.close()
  },
}

process.on('message', ({ id, operation, options }) => {
  Promise.resolve()
    .then(() => operations[operation](options))
    .then(
      (result) => process.send({ id, result }),
      (error) => process.send({ id, error: error?.stack ?? String(error) }),
    )
})
// Who started it is gone: nobody wants its figures.
process.on('disconnect', () => process.exit(0))
process.send({ id: 0 })
