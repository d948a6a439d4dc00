import type { SpanRef } from './trace-ids.js'

/** A span that is over. */
export interface Span extends SpanRef {
  name: string
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  /** In the same trace; left out: it is the root. */
  parentId?: string
  /** Spans of other traces that it follows from. */
  links?: readonly SpanRef[]
  /** Milliseconds since 1970, by the database's clock: spans of different machines line up. */
  from: number
  to: number
  attributes: Record<string, string | number | boolean>
  /** Why it failed; left out: it did not. */
  error?: string
}

/** Where spans go. Null where nobody wants them: then nothing of this is made, or even loaded. */
export interface Tracing {
  /** Whether a trace is wanted at all. */
  wants(traceId: string): boolean
  end(span: Span): void
  /** Sends what is left. */
  close(): Promise<void>
}

export interface TracingOptions {
  endpoint: string
  headers: string | undefined
  serviceName: string
  version: string
  instance: string
  wants: (traceId: string) => boolean
}

const kinds = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 } as const
const sampled = 1
const failed = 2
/** Spans beyond this many that wait are dropped: a collector that is away costs no more memory than this. */
const mostWaiting = 20_000
const batch = 1_000
const everyMs = 1_000
const exportTimeoutMs = 10_000

/** Loads OpenTelemetry, which a process that traces nothing never does, and sends spans over OTLP/HTTP. */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const { sdk, otlp, resources } = await load()
  const exporter = new otlp.OTLPTraceExporter({
    url: new URL('v1/traces', `${options.endpoint.replace(/\/+$/, '')}/`).href,
    headers: headersOf(options.headers),
    timeoutMillis: exportTimeoutMs,
  })
  const processor = new sdk.BatchSpanProcessor({
    exporter,
    maxQueueSize: mostWaiting,
    maxExportBatchSize: batch,
    scheduledDelayMillis: everyMs,
    exportTimeoutMillis: exportTimeoutMs,
  })
  const resource = resources.resourceFromAttributes({
    'service.name': options.serviceName,
    'service.version': options.version,
    'service.instance.id': options.instance,
  })
  const instrumentationScope = { name: 'carillon', version: options.version }
  const context = ({ traceId, spanId }: SpanRef) => ({ traceId, spanId, traceFlags: sampled })
  return {
    wants: options.wants,
    end(span) {
      const { traceId, parentId, links = [], from, to, error } = span
      processor.onEnd({
        name: span.name,
        kind: kinds[span.kind],
        spanContext: () => context(span),
        ...(parentId !== undefined && { parentSpanContext: context({ traceId, spanId: parentId }) }),
        startTime: timeOf(from),
        endTime: timeOf(Math.max(from, to)),
        duration: timeOf(Math.max(0, to - from)),
        status: error === undefined ? { code: 0 } : { code: failed, message: error },
        attributes: span.attributes,
        links: links.map((ref) => ({ context: context(ref) })),
        events: [],
        ended: true,
        ...{ resource, instrumentationScope },
        ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
      })
    },
    close: () => processor.shutdown(),
  }
}

async function load() {
  try {
    const [sdk, otlp, resources] = await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ])
    return { sdk, otlp, resources }
  } catch (error) {
    throw new Error(
      'OTEL_EXPORTER_OTLP_ENDPOINT asks for traces, and the packages for them are not installed. They are optional dependencies of ' +
        '@carillon/server: install again without --omit=optional, or take the setting away.',
      { cause: error },
    )
  }
}

/** `name=value` pairs as OpenTelemetry writes them. Throws where one is not: a header that is left out is a collector that refuses. */
export function headersOf(text: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const pair of (text ?? '').split(',').filter((part) => part.trim() !== '')) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim()
    if (at < 1 || name === '')
      throw new Error('OTEL_EXPORTER_OTLP_HEADERS is a list of name=value pairs, separated by commas.')
    headers[name] = decoded(pair.slice(at + 1).trim())
  }
  return headers
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw new Error('A value in OTEL_EXPORTER_OTLP_HEADERS is not percent-encoded.')
  }
}

function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1_000_000)]
}
