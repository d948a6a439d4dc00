import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'

/** A statement on its way to the database. */
export interface Seen {
  application: string
  text: string
  /** Which statement of its connection it is, from 1. */
  nth: number
}

/**
 * What becomes of it: it passes; or the connection is cut, before the statement has arrived, or when its answer has come
 * back, which then nobody hears. `answered` is called when the database has answered and before the cut. `late`: the client
 * is cut off at once, and the statement arrives all the same, when the promise has resolved.
 */
export type Fate = 'pass' | 'never-arrives' | { answered(): void | Promise<void> } | { late(): Promise<void> }

/** Stands between Carillon and Postgres, and cuts connections at exact places. */
export class PgProxy {
  private readonly sockets = new Set<Socket>()

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async listen(databaseUrl: string, fate: (seen: Seen) => Fate | Promise<Fate>): Promise<PgProxy> {
    const database = new URL(databaseUrl)
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = new URL(databaseUrl)
    url.hostname = '127.0.0.1'
    url.port = String((server.address() as AddressInfo).port)
    const proxy = new PgProxy(server, url.href)
    server.on('connection', (client) => {
      const upstream = connect(Number(database.port || 5432), database.hostname)
      for (const socket of [client, upstream]) proxy.watch(socket)
      relay(client, upstream, fate)
    })
    return proxy
  }

  /** Cuts what is there now. */
  sever(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    return Promise.resolve()
  }

  async close(): Promise<void> {
    await this.sever()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private watch(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.sockets.delete(socket))
  }
}

function relay(client: Socket, upstream: Socket, fate: (seen: Seen) => Fate | Promise<Fate>): void {
  let unread = Buffer.alloc(0)
  let application: string | null = null
  let nth = 0
  let onAnswer: (() => void | Promise<void>) | null = null
  const cut = () => {
    client.destroy()
    upstream.destroy()
  }
  let detached = false
  client.on('close', () => {
    if (!detached) cut()
  })
  upstream.on('close', cut)
  upstream.on('data', (chunk: Buffer) => {
    if (onAnswer === null) client.write(chunk)
    else void Promise.resolve(onAnswer()).finally(cut)
  })
  let turn = Promise.resolve()
  client.on('data', (chunk: Buffer) => {
    turn = turn.then(async () => {
      unread = Buffer.concat([unread, chunk])
      for (let message = take(); message !== null; message = take()) {
        if (client.destroyed) return
        const text = application === null ? null : statementOf(message)
        application ??= applicationOf(message)
        if (text !== null) {
          nth += 1
          const decided = await fate({ application, text, nth })
          if (decided === 'never-arrives') return cut()
          if (typeof decided === 'object' && 'late' in decided) {
            detached = true
            client.destroy()
            await decided.late()
            upstream.end(message)
            return
          }
          if (decided !== 'pass') onAnswer = () => decided.answered()
        }
        upstream.write(message)
      }
    })
  })
  /** The first message has no type. */
  const take = (): Buffer | null => {
    const head = application === null ? 0 : 1
    if (unread.length < head + 4) return null
    const length = head + unread.readInt32BE(head)
    if (unread.length < length) return null
    const message = unread.subarray(0, length)
    unread = unread.subarray(length)
    return message
  }
}

function applicationOf(startup: Buffer): string {
  const fields = startup.subarray(8).toString('utf8').split('\0')
  return fields[fields.indexOf('application_name') + 1] ?? ''
}

/** The text of a simple query, or of one that is parsed; null for all other messages. */
function statementOf(message: Buffer): string | null {
  const type = String.fromCharCode(message[0] ?? 0)
  const [first = '', second = ''] = message.subarray(5).toString('utf8').split('\0')
  return type === 'Q' ? first : type === 'P' ? second : null
}
