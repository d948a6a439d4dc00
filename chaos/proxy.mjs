// Stands between the processes and Postgres, one door for each: a process of its own, started with fork and told by
// message what becomes of the connections of which door.
//   node proxy.mjs HOST PORT DOORS
import { connect, createServer } from 'node:net'

const [host, port, doors] = process.argv.slice(2)
/** The end of an answer outside a transaction: ReadyForQuery, idle. What it answers is committed. */
const committed = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

class Door {
  mode = 'pass'
  delayMs = 0
  /** @type {Set<Passage>} */
  passages = new Set()

  open() {
    const server = createServer((client) => {
      if (this.mode === 'refuse') return client.resetAndDestroy()
      const passage = new Passage(this, client)
      this.passages.add(passage)
    })
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))
  }

  /** @param {{ mode: string, delayMs?: number }} change */
  change({ mode, delayMs = 0 }) {
    this.mode = mode
    this.delayMs = delayMs
    for (const passage of [...this.passages]) passage.follow()
  }
}

/** One connection and the one behind it. */
class Passage {
  constructor(door, client) {
    this.door = door
    this.client = client
    this.server = connect(Number(port), host)
    this.relay(client, { to: this.server, isAnswer: false, held: [] })
    this.relay(this.server, { to: client, isAnswer: true, held: [] })
    this.follow()
  }

  relay(from, way) {
    from.setNoDelay(true)
    from.on('error', () => undefined)
    from.on('close', () => {
      // Who is cut off from the other side does not hear that it has gone.
      if (this.door.mode !== 'hang') this.cut()
    })
    from.on('data', (chunk) => this.pass(chunk, from, way))
  }

  pass(chunk, from, { to, isAnswer, held }) {
    const { mode, delayMs } = this.door
    if (mode === 'swallow' && isAnswer && chunk.subarray(-committed.length).equals(committed))
      return this.cut()
    // Nothing overtakes what is held back, also when delaying is over.
    if (mode === 'delay' || held.length > 0) {
      held.push(chunk)
      setTimeout(() => to.write(held.shift()), Math.max(delayMs, 1))
    } else if (!to.write(chunk)) {
      from.pause()
      to.once('drain', () => this.door.mode !== 'hang' && from.resume())
    }
  }

  /** What the door's mode means for a connection that is there. */
  follow() {
    const { mode } = this.door
    if (mode === 'reset' || mode === 'refuse') return this.cut()
    for (const socket of [this.client, this.server]) {
      if (mode === 'hang') socket.pause()
      else if (socket.destroyed) this.cut()
      else socket.resume()
    }
  }

  cut() {
    this.door.passages.delete(this)
    for (const socket of [this.client, this.server]) if (!socket.destroyed) socket.resetAndDestroy()
  }
}

const all = Array.from({ length: Number(doors) }, () => new Door())
const ports = await Promise.all(all.map((door) => door.open()))
process.on('message', ({ doors: named, ...change }) => {
  for (const at of named) all[at].change(change)
  process.send({ changed: true })
})
process.on('disconnect', () => process.exit(0))
process.on('uncaughtException', (error) => process.stderr.write(`proxy: ${error.stack}\n`))
process.send({ ports })
