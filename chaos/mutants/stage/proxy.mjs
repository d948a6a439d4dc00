// Stands between one process and Postgres and knows where a statement begins and its answer ends, so that a fault strikes at
// an exact place: a statement that is held, that arrives when its sender is long gone, or whose answer is never heard.
import { connect, createServer } from 'node:net'

/**
 * @typedef {{ name: string, text: string }} Call one statement, with all its messages. `name` is that of a prepared one, or ''.
 * @typedef {undefined | { late: Promise<unknown>, done: () => void } | { answered: () => unknown }} Fate
 *   nothing: it passes. late: its sender is cut off now, and it arrives all the same, when the promise has resolved; `done` is
 *   called when the database has dealt with it. answered: called when the database has dealt with it and before its sender
 *   hears of that.
 * @typedef {(call: Call) => Fate | Promise<Fate>} FateOf
 */

/**
 * @param {string} databaseUrl
 * @param {FateOf} fateOf asked for each statement, in its turn: as long as it does not
 *   answer, the statement is held.
 */
export async function listen(databaseUrl, fateOf) {
  const database = new URL(databaseUrl)
  const sockets = new Set()
  const server = createServer((client) => {
    const upstream = connect(Number(database.port || 5432), database.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    relay(client, upstream, fateOf)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(server.address().port)
  return {
    url: url.href,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function relay(client, upstream, fateOf) {
  const texts = new Map()
  const requests = new Frames(true)
  const answers = new Frames(false)
  let pending = []
  let turn = Promise.resolve()
  let orphaned = false
  let onAnswer = null
  const cut = () => {
    client.destroy()
    upstream.destroy()
  }
  client.on('close', () => {
    if (!orphaned) upstream.destroy()
  })
  upstream.on('close', () => client.destroy())

  client.on('data', (chunk) => {
    for (const frame of requests.take(chunk)) {
      pending.push(frame)
      if (!endsCall(frame)) continue
      const frames = pending
      pending = []
      turn = turn.then(() => pass(frames)).catch(cut)
    }
  })
  upstream.on('data', (chunk) => {
    if (onAnswer === null) {
      client.write(chunk)
      return
    }
    const done = answers.take(chunk).some(({ type }) => type === readyForQuery)
    if (!done) return
    const tell = onAnswer
    onAnswer = null
    void Promise.resolve(tell()).finally(cut)
  })

  async function pass(frames) {
    if (orphaned) return
    const bytes = Buffer.concat(frames.map(({ bytes }) => bytes))
    const call = callOf(frames, texts)
    const fate = call === null ? undefined : await fateOf(call)
    if (fate !== undefined && 'late' in fate) {
      orphaned = true
      client.destroy()
      await fate.late
      upstream.once('close', fate.done)
      upstream.end(bytes)
      return
    }
    if (client.destroyed) return
    if (fate !== undefined) onAnswer = fate.answered
    upstream.write(bytes)
  }
}

const readyForQuery = 'Z'

/** A simple query, or the end of the messages of an extended one. The first message of a connection has no type. */
function endsCall({ type }) {
  return type === null || !'PBDEC'.includes(type)
}

/** @returns {Call | null} */
function callOf(frames, texts) {
  let call = null
  for (const { type, bytes } of frames) {
    if (type === 'Q') return { name: '', text: bytes.toString('utf8', 5, bytes.length - 1) }
    if (type !== 'P' && type !== 'B') continue
    const [first = '', second = ''] = bytes.toString('latin1', 5).split('\0', 2)
    if (type === 'P') texts.set(first, second)
    const name = type === 'P' ? first : second
    call = { name, text: texts.get(name) ?? '' }
  }
  return call
}

/** Cuts a stream of the protocol into messages. */
class Frames {
  constructor(beginsWithoutType) {
    this.untyped = beginsWithoutType
    this.unread = Buffer.alloc(0)
  }

  take(chunk) {
    this.unread = this.unread.length === 0 ? chunk : Buffer.concat([this.unread, chunk])
    const frames = []
    for (;;) {
      const head = this.untyped ? 0 : 1
      if (this.unread.length < head + 4) return frames
      const length = head + this.unread.readInt32BE(head)
      if (this.unread.length < length) return frames
      const bytes = this.unread.subarray(0, length)
      frames.push({ type: this.untyped ? null : String.fromCharCode(bytes[0]), bytes })
      this.unread = this.unread.subarray(length)
      this.untyped = false
    }
  }
}
