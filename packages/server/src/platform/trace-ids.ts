import { hash } from 'node:crypto'

/**
 * Trace context by derivation: whoever has a run knows its trace and the spans of its steps, in any process and after any crash, and nothing has
 * to be stored or passed on. The job's id, a UUID, keeps traces of two installations apart.
 */
export interface SpanRef {
  traceId: string
  spanId: string
}

/** One trace per run, over all its attempts and rounds. */
export function runTraceId(jobId: string, runId: string): string {
  return derived(`trace ${jobId} ${runId}`, 32)
}

/** The root of a run's trace. */
export function fireSpanId(jobId: string, runId: string): string {
  return derived(`fire ${jobId} ${runId}`, 16)
}

export function leaseSpanId(jobId: string, runId: string, token: number): string {
  return derived(`lease ${jobId} ${runId} ${token}`, 16)
}

/** One delivery: the parent of whatever the target does. */
export function attemptSpanId(jobId: string, runId: string, token: number): string {
  return derived(`attempt ${jobId} ${runId} ${token}`, 16)
}

/** Of one version of a job: what its runs are linked to. */
export function registrationOf(jobId: string, version: number): SpanRef {
  return {
    traceId: derived(`registration ${jobId}`, 32),
    spanId: derived(`registration ${jobId} ${version}`, 16),
  }
}

/** One trace in so many, the same ones wherever it is asked. */
export function isSampled(traceId: string, oneIn: number): boolean {
  return oneIn <= 1 || Number.parseInt(traceId.slice(0, 12), 16) % oneIn === 0
}

const pattern = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/

/** What a caller sent in the header traceparent; null where that is none. */
export function parseTraceparent(header: string | undefined): (SpanRef & { sampled: boolean }) | null {
  const [, traceId, spanId, flags = '00'] = pattern.exec(header ?? '') ?? []
  if (traceId === undefined || spanId === undefined || header?.startsWith('ff') === true) return null
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

function derived(text: string, characters: number): string {
  return hash('sha256', text, 'hex').slice(0, characters)
}
