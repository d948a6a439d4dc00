import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Reply {
  status: number
  body?: string
  afterMs?: number
}

/** A host that jobs call; what it answers, and when, is decided by the test. */
export class Receiver {
  answer: (path: string) => Reply = () => ({ status: 200, body: '{"ok":true}' })
  calls = 0
  /** What was sent with each call. */
  readonly bodies: string[] = []

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<Receiver> {
    const server = createServer()
    const receiver = new Receiver(server)
    server.on('request', (request, response) => {
      receiver.calls++
      let sent = ''
      request.on('data', (chunk: Buffer) => (sent += chunk.toString()))
      request.on('end', () => {
        receiver.bodies.push(sent)
        const { status, body = '', afterMs = 0 } = receiver.answer(request.url ?? '')
        setTimeout(() => response.writeHead(status, { 'content-type': 'text/plain' }).end(body), afterMs)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  url(path: string): string {
    return `http://${this.host}${path}`
  }

  close(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}
