import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { deliverer, serve, serveRaw } from '../../test/kit/local-target.js'

const mebibyte = 1024 * 1024

describe('an answer that means harm', () => {
  it('of a gigabyte is cut off after its start', async () => {
    let sent = 0
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-length': String(1024 * mebibyte) })
      const chunk = Buffer.alloc(65_536, 'a')
      const push = () => {
        while (sent < 1024 * mebibyte && !response.destroyed) {
          sent += chunk.length
          if (!response.write(chunk)) return
        }
      }
      response.on('drain', push)
      push()
    })
    expect(await deliverer()(url)).toEqual({
      kind: 'success',
      result: { status: 200, body: 'a'.repeat(4_096), truncated: true },
    })
    expect(sent).toBeLessThan(64 * mebibyte)
  })

  it('that is packed is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * mebibyte))
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    })
    const before = process.memoryUsage().rss
    expect(await deliverer()(url)).toMatchObject({ kind: 'success', result: { status: 200 } })
    expect(process.memoryUsage().rss - before).toBeLessThan(48 * mebibyte)
  })

  it.each([
    ['headers that never end', 'HTTP/1.1 200 OK\r\n', (n: number) => `x-${n}: ${'y'.repeat(1_000)}\r\n`],
    ['one header that never ends', 'HTTP/1.1 200 OK\r\nx: ', () => 'y'.repeat(1_000)],
    ['a status line that never ends', 'HTTP/1.1 200 ', () => 'OK'.repeat(500)],
    ['announcements that never end', '', () => 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'],
    ['chunks of nothing', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', () => '1;x=y\r\na\r\n'],
    [
      'a chunk extension that never ends',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;',
      () => 'x'.repeat(1_000),
    ],
  ])('with %s ends by a bound or at the deadline', async (_name, start, more) => {
    let closed: () => void = () => {}
    const over = new Promise<void>((resolve) => {
      closed = resolve
    })
    const url = await serveRaw((socket) => {
      socket.write(start)
      let count = 0
      const timer = setInterval(() => socket.write(more(count++)), 1)
      socket.on('close', () => {
        clearInterval(timer)
        closed()
      })
    })
    const outcome = await deliverer()(url, {}, { timeoutMs: 1_000 })
    expect(outcome).toMatchObject({ kind: 'failed', retryable: true })
    expect(['timeout', 'connection']).toContain((outcome as { reason: string }).reason)
    await over
  })

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 \r\n\r\n'],
    ['another protocol', 'ICY 200 OK\r\n\r\n'],
    [
      'an upgrade nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ],
  ])('with %s is a failure that may be tried again', async (_name, answer) => {
    const url = await serveRaw((socket) => socket.end(answer))
    const outcome = await deliverer()(url, {}, { timeoutMs: 5_000 })
    expect(outcome).toMatchObject({ kind: 'failed', retryable: true })
  })

  it('with an announcement before it is taken, not the announcement', async () => {
    const url = await serveRaw((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
    expect(await deliverer()(url)).toEqual({ kind: 'success', result: { status: 200, body: 'ok' } })
  })

  it('with a second answer behind the first does not answer the next delivery', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
    let requests = 0
    const url = await serveRaw((socket) => {
      requests++
      socket.write(requests === 1 ? answer + answer.replace('ok', 'no') : answer)
    })
    const deliver = deliverer()
    expect(await deliver(url)).toMatchObject({ kind: 'success', result: { body: 'ok' } })
    expect(await deliver(url)).toMatchObject({ kind: 'success', result: { body: 'ok' } })
  })

  it('with text that is no UTF-8, in body and headers, is stored as what can be', async () => {
    const url = await serveRaw((socket) => {
      socket.write('HTTP/1.1 302 \xff\xfe\r\nlocation: /\xff\x01\r\ncontent-length: 3\r\n\r\n', 'latin1')
      socket.end(Buffer.from([0xc3, 0x28, 0x00]))
    })
    const outcome = await deliverer()(url)
    const text = JSON.stringify(outcome)
    expect(outcome).toMatchObject({ kind: 'failed' })
    expect(text).not.toMatch(/\\u0000|\\ud[89a-f]/i)
  })
})
