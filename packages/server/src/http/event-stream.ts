import type { FastifyReply } from 'fastify'
import { type Clock, systemClock } from '../platform/clock.js'
import { timeouts } from './timeouts.js'

/** Milliseconds and bytes. */
export const streamLimits = {
  /** Often enough that neither we nor a proxy takes the silence for death. */
  heartbeat: 15_000,
  /** What may wait for a reader when more comes. One that lets more pile up is dropped, and told so. */
  waitingBytes: 512 * 1024,
  /** How long a reader may take to fetch the last words. */
  farewell: timeouts.close / 2,
  /** When a client that was cut off should come again. */
  retry: 1_000,
} as const

/** Server-sent events to one reader. */
export class EventStream {
  private place: string | null = null
  private callOff: () => void = () => undefined
  private closed = false

  constructor(
    private readonly reply: FastifyReply,
    private readonly onClosed: () => void,
    private readonly clock: Clock = systemClock,
  ) {}

  /** From here on the answer is ours: Fastify writes nothing more. */
  open(): void {
    const { reply } = this
    reply.hijack()
    // Who hung up while the stream was prepared has closed already, and closes no second time.
    if (reply.raw.destroyed) {
      this.finish()
      return
    }
    reply.raw.on('close', () => this.finish())
    reply.raw.on('error', () => this.finish())
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'Content-Type': 'text/event-stream; charset=utf-8',
      // Proxies that gather answers would hold the events back.
      'X-Accel-Buffering': 'no',
      Connection: 'close',
    })
    this.write(`retry: ${streamLimits.retry}\n\n`)
    this.rest()
  }

  /** `data` is JSON in one line. */
  send(event: string, id: string | null, data: string): void {
    this.write(`event: ${event}\n${id === null ? '' : `id: ${id}\n`}data: ${data}\n\n`)
    if (id !== null) this.place = id
  }

  /** All of one look in one piece. */
  sendAll(event: string, all: readonly { id: string; data: string }[]): void {
    const last = all.at(-1)
    if (last === undefined) return
    this.place = last.id
    this.write(all.map(({ id, data }) => `event: ${event}\nid: ${id}\ndata: ${data}\n\n`).join(''))
  }

  /** Where the reader goes on after a cut, although there was nothing to tell. Goes out at once the first time. */
  stand(place: string): void {
    const isFirst = this.place === null
    this.place = place
    if (isFirst) this.beat()
  }

  /** Says why and ends it. */
  end(event: string, data: object): void {
    if (this.closed) return
    this.reply.raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    this.reply.raw.end()
    this.finish()
    const giveUp = this.clock.after(streamLimits.farewell, () => this.reply.raw.destroy())
    this.reply.raw.once('close', giveUp)
  }

  /** What came at once may be much: it counts what was left of that when more comes. */
  private write(text: string): void {
    if (this.closed) return
    if (this.reply.raw.writableLength <= streamLimits.waitingBytes) this.reply.raw.write(text)
    else
      this.end('dropped', {
        reason: 'slow_reader',
        detail: 'Events were fetched too slowly. Connect again to go on.',
      })
  }

  private beat(): void {
    this.write(`: alive\n${this.place === null ? '' : `id: ${this.place}\n`}\n`)
  }

  private rest(): void {
    this.callOff = this.clock.after(streamLimits.heartbeat, () => {
      this.beat()
      if (!this.closed) this.rest()
    })
  }

  private finish(): void {
    if (this.closed) return
    this.closed = true
    this.callOff()
    this.onClosed()
  }
}
