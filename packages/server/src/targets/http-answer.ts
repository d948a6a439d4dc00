import { retryAfterMs } from './retry-after.js'
import { capText, decodeUtf8Start, storableText } from './storable.js'
import type { Outcome } from './target.js'

const excerptBytes = 4_096
/** An answer a little longer than the excerpt is read to its end, which keeps the connection usable. */
const drainBytes = 65_536
const excerptInErrorBytes = 500
const noBytes = Buffer.alloc(0)

export type AnswerHeaders = Record<string, string | string[] | undefined>

/** What is known of an answer so far: it grows while the body is read, so a deadline can tell how far it came. */
export class Answer {
  private kept = noBytes
  received = 0

  /** `refusedRedirect`: why a redirect that the job wants followed was not. */
  constructor(
    readonly status: number,
    private readonly headers: AnswerHeaders,
    /** Whether the job takes this status for success. */
    readonly ok: boolean,
    readonly refusedRedirect: string | null = null,
  ) {}

  header(name: string): string | undefined {
    const value = this.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  /** The next part of the body. False: there is more of it than anybody will look at. The part is copied, it lies in a larger buffer. */
  take(chunk: Uint8Array): boolean {
    const room = excerptBytes - this.kept.length
    if (room > 0) this.kept = Buffer.concat([this.kept, chunk.subarray(0, room)])
    this.received += chunk.length
    return this.received <= drainBytes
  }

  get excerpt(): string {
    return capText(storableText(decodeUtf8Start(this.kept)), excerptBytes)
  }

  get result(): { status: number; body: string; truncated?: true } {
    const truncated = this.received > this.kept.length
    return { status: this.status, body: this.excerpt, ...(truncated && { truncated }) }
  }
}

/** What a complete answer, or the status of one that broke off, means for the run. `callText` gives "POST http://…". */
export function judge(answer: Answer, callText: () => string, now: number): Outcome {
  if (answer.ok) return { kind: 'success', result: answer.result }
  const retryable = retryableStatus(answer.status)
  const wait = retryable ? retryAfterMs(answer.header('retry-after'), now) : undefined
  return {
    kind: 'failed',
    error: `${callText()} answered ${answer.status}${explain(answer)}`,
    retryable,
    reason: 'http_status',
    result: answer.result,
    ...(wait !== undefined && { retryAfterMs: wait }),
  }
}

/** Timeouts, "too early", "too many" and the server's own failures pass; any other refusal would be repeated. */
function retryableStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

function explain(answer: Answer): string {
  if (answer.status >= 300 && answer.status < 400) {
    const location = oneLine(answer.header('location') ?? '')
    const where = location === '' ? '' : ` (to ${location})`
    if (answer.refusedRedirect !== null) return `${where}, which was not followed: ${answer.refusedRedirect}`
    return `${where}: redirects are not followed. Give the job's target the final URL.`
  }
  if (answer.status < 300) return ", which is not one of the target's success_codes"
  const excerpt = oneLine(answer.excerpt)
  return excerpt === '' ? '' : `: ${excerpt}`
}

function oneLine(text: string): string {
  const line = storableText(text).replace(/\s+/g, ' ').trim()
  const capped = capText(line, excerptInErrorBytes)
  return capped === line ? line : `${capped}…`
}
