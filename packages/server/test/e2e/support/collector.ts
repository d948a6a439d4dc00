import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CollectedSpan {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  links: { traceId: string; spanId: string }[]
  attributes: Record<string, unknown>
  status: { code?: number; message?: string }
}

interface Value {
  stringValue?: string
  intValue?: number | string
  boolValue?: boolean
  doubleValue?: number
}
type Attributes = { key: string; value: Value }[]
interface Sent {
  resourceSpans: {
    resource: { attributes: Attributes }
    scopeSpans: { spans: (Omit<CollectedSpan, 'service' | 'attributes'> & { attributes: Attributes })[] }[]
  }[]
}

function plain(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  )
}

/** An OpenTelemetry collector, as far as OTLP/HTTP with JSON goes: it keeps what it is sent. */
export class Collector {
  readonly spans: CollectedSpan[] = []
  readonly headers: Record<string, unknown>[] = []

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<Collector> {
    const server = createServer()
    const collector = new Collector(server)
    server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (request.url !== '/v1/traces') return void response.writeHead(404).end()
        collector.headers.push(request.headers)
        collector.take(JSON.parse(Buffer.concat(chunks).toString()) as Sent)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return collector
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  of(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId)
  }

  close(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private take({ resourceSpans }: Sent): void {
    for (const { resource, scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        for (const span of spans)
          this.spans.push({
            ...span,
            service: String(plain(resource.attributes)['service.name']),
            attributes: plain(span.attributes),
          })
  }
}
