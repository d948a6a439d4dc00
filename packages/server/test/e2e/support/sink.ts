import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Delivery {
  receivedAt: number
  path: string
  headers: IncomingHttpHeaders
  /** The bytes as they came: what a signature covers. */
  raw: Buffer
  body: { payload?: unknown; fencing_token?: number } & Record<string, unknown>
}

/** A status, or one with headers. */
export type Answer = number | { status: number; headers: Record<string, string> }

/** An HTTP receiver that remembers every delivery, with the time by this machine's clock. */
export class Sink {
  readonly deliveries: Delivery[] = []
  /** Decides the answer to a delivery; the default is 200. */
  answer: (delivery: Delivery) => Promise<Answer> | Answer = () => 200

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<Sink> {
    const server = createServer()
    const sink = new Sink(server)
    server.on('request', (request, response) => {
      const receivedAt = Date.now()
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const raw = Buffer.concat(chunks)
        const text = raw.toString()
        const body = (text === '' ? {} : JSON.parse(text)) as Delivery['body']
        const delivery = { receivedAt, path: request.url ?? '', headers: request.headers, raw, body }
        sink.deliveries.push(delivery)
        void Promise.resolve(sink.answer(delivery)).then((answer) => {
          const { status, headers } = typeof answer === 'number' ? { status: answer, headers: {} } : answer
          response.writeHead(status, headers).end('ok')
        })
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return sink
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** How often each tick of each job arrived: `job@instant` to a count. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { headers } of this.deliveries) {
      const due = new Date(String(headers['carillon-scheduled-at'])).toISOString()
      const key = `${String(headers['carillon-job-id'])}@${due}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return counts
  }

  close(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}
