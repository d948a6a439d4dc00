import { createServer, get, IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/manual-clock.js'
import { until } from '../../test/kit/until.js'
import { EventStream, streamLimits } from './event-stream.js'
import { timeouts } from './timeouts.js'

const undo: (() => void)[] = []
afterEach(() => undo.splice(0).forEach((step) => step()))

function later<Value>() {
  let resolve: (value: Value) => void = () => undefined
  const promise = new Promise<Value>((settle) => (resolve = settle))
  return { promise, resolve }
}

/** A stream to a reader over a real socket. */
async function setUp({ reads = true } = {}) {
  const clock = new ManualClock()
  let closed = 0
  const opened = later<{ stream: EventStream; raw: ServerResponse }>()
  const server = createServer((_request, raw) => {
    const reply = { raw, hijack: () => undefined, getHeaders: () => ({ 'x-request-id': 'r1' }) }
    const stream = new EventStream(reply as unknown as FastifyReply, () => (closed += 1), clock)
    stream.open()
    opened.resolve({ stream, raw })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const answered = later<IncomingMessage>()
  const { port } = server.address() as AddressInfo
  const request = get({ port, host: '127.0.0.1' }, answered.resolve)
  request.on('error', () => undefined)
  const answer = await answered.promise
  const got = { text: '', ended: false }
  if (reads) answer.setEncoding('utf8').on('data', (part: string) => (got.text += part))
  answer.on('end', () => (got.ended = true)).on('error', () => undefined)
  undo.push(() => {
    request.destroy()
    server.close()
    server.closeAllConnections()
  })
  return { ...(await opened.promise), clock, got, answer, request, closings: () => closed }
}

describe('a stream of events', () => {
  it('is told to be one, and says when to come again', async () => {
    const { answer, got } = await setUp()
    await until('the first line is there', () => got.text !== '')
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-request-id': 'r1',
    })
    expect(got.text).toBe(`retry: ${streamLimits.retry}\n\n`)
  })

  it('says at once where the reader stands, and what comes with its id', async () => {
    const { stream, got } = await setUp()
    stream.stand('p1')
    stream.send('run', 'p2', '{"a":1}')
    await until('both are there', () => got.text.includes('p2'))
    expect(got.text).toContain(': alive\nid: p1\n\nevent: run\nid: p2\ndata: {"a":1}\n\n')
  })

  it('beats in silence, with the place that was reached meanwhile', async () => {
    const { stream, clock, got } = await setUp()
    stream.stand('p1')
    stream.stand('p2')
    await clock.advance(streamLimits.heartbeat)
    await clock.advance(streamLimits.heartbeat)
    await until('it beat twice', () => got.text.split(': alive\nid: p2').length === 3)
    expect(got.text.split('id: p1')).toHaveLength(2)
  })

  it('beats well before silence is taken for death', () => {
    expect(streamLimits.heartbeat * 2).toBeLessThan(timeouts.silence)
    expect(streamLimits.farewell).toBeLessThan(timeouts.close)
  })

  it('drops a reader that does not read, and tells it so', async () => {
    const { stream, answer, got, closings, raw } = await setUp({ reads: false })
    const data = JSON.stringify('x'.repeat(16_000))
    let sent = 0
    while (closings() === 0 && sent < 10_000) {
      stream.send('run', `p${(sent += 1)}`, data)
      if (sent % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(closings()).toBe(1)
    expect(raw.writableLength).toBeLessThan(streamLimits.waitingBytes + 20_000)
    stream.send('run', 'never', data)
    answer.setEncoding('utf8').on('data', (part: string) => (got.text += part))
    await until('the rest is fetched', () => got.ended)
    expect(got.text).toMatch(/event: dropped\ndata: \{"reason":"slow_reader".*\}\n\n$/)
    expect(got.text).not.toContain('never')
  })

  it('keeps a reader that gets more at once than may wait, and fetches it', async () => {
    const { stream, got, closings, raw } = await setUp()
    const data = JSON.stringify('x'.repeat(1_000))
    const much = Array.from({ length: 3_000 }, (_, n) => ({ id: `p${n}`, data }))
    stream.sendAll('run', much)
    await until('it is fetched', () => raw.writableLength === 0 && got.text.includes('id: p2999\n'))
    stream.sendAll('run', [{ id: 'next', data: '1' }])
    await until('the next is there', () => got.text.includes('id: next\n'))
    expect(closings()).toBe(0)
  })

  it('is cut off where nobody fetches the last words', async () => {
    const { stream, clock, raw } = await setUp({ reads: false })
    const data = JSON.stringify('x'.repeat(400_000))
    for (let n = 0; n < 20; n++) stream.send('run', `p${n}`, data)
    stream.end('closing', {})
    await clock.advance(streamLimits.farewell)
    await until('the socket is gone', () => raw.destroyed)
  })

  it('is none for a reader that hung up before it was opened', () => {
    const clock = new ManualClock()
    let [hijacked, closed] = [0, 0]
    const raw = new ServerResponse(new IncomingMessage(new Socket()))
    raw.destroy()
    const reply = { raw, hijack: () => (hijacked += 1), getHeaders: () => ({}) }
    const stream = new EventStream(reply as unknown as FastifyReply, () => (closed += 1), clock)
    stream.open()
    stream.send('run', 'p1', '1')
    stream.end('closing', {})
    expect([hijacked, closed]).toEqual([1, 1])
    expect(clock.delays).toEqual([])
  })

  it('ends once, whoever ends it', async () => {
    const { stream, request, closings, clock } = await setUp()
    request.destroy()
    await until('the hang-up is seen', () => closings() === 1)
    stream.end('closing', {})
    stream.send('run', 'p1', '1')
    await clock.advance(streamLimits.heartbeat * 2)
    expect(closings()).toBe(1)
  })
})
