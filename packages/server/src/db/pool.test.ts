import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import pino from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import { GuestPool } from './guest-pool.js'
import { Database } from './pool.js'
import { parseStatement } from './statement.js'

const open: Server[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve))
})

function message(kind: string, ...parts: (string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as never)))
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const ready = message('Z', 'I')
const shuttingDown = message('E', 'SFATAL\0', 'C57P01\0', 'Mterminating connection\0', [0])

const welcome = Buffer.concat([message('R', [0, 0, 0, 0]), ready])

/** A Postgres that lets everybody in, and is shut down in the very moment in which it has answered the first statement. */
function shutDownAfterTheFirst(): Promise<string> {
  return listening((socket) => {
    socket.once('data', () => {
      socket.write(welcome)
      socket.once('data', () => socket.end(Buffer.concat([message('C', 'SELECT 0\0'), ready, shuttingDown])))
    })
  })
}

/** One that is shut down in the very moment in which it has let somebody in. */
function shutDownAtOnce(): Promise<string> {
  return listening((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([welcome, shuttingDown])))
  })
}

/** One that lets everybody in and answers nothing before it is told to; it tells of every message. */
async function answeringWhenTold() {
  const messages: { kind: string; socket: Socket }[] = []
  let told: () => void = () => undefined
  const url = await listening((socket) => {
    socket.once('data', () => {
      socket.write(welcome)
      socket.on('data', (data) => {
        messages.push({ kind: String.fromCharCode(data[0] ?? 0), socket })
        told()
      })
    })
  })
  const next = async (): Promise<{ kind: string; socket: Socket }> => {
    for (;;) {
      const first = messages.shift()
      if (first !== undefined) return first
      await new Promise<void>((resolve) => (told = resolve))
    }
  }
  return { url, next }
}

const answerToText = Buffer.concat([message('C', 'SELECT 1\0'), ready])
const answerToPrepared = Buffer.concat([message('1'), message('2'), message('n'), answerToText])

async function listening(serve: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    serve(socket)
  })
  open.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `postgres://anybody@127.0.0.1:${(server.address() as AddressInfo).port}/any`
}

const one = parseStatement('test/one.sql', 'SELECT 1')
function oneConnectionTo(url: string): Database {
  const log = pino({ level: 'silent' })
  return new Database({ url, poolSize: 1, statementTimeoutMs: 60_000, applicationName: 'test', log })
}

test('a connection that breaks as soon as it has its role fails its statement, and not the process', async () => {
  const database = oneConnectionTo(await shutDownAfterTheFirst())
  // Thrown where nobody could catch it, it would fail the whole run of these tests.
  await expect(database.run(one, {})).rejects.toThrow(/./)
  await database.close()
})

test('a connection that breaks between its handshake and its guest fails the transaction, and not the process', async () => {
  const guests = new GuestPool({
    url: await shutDownAtOnce(),
    poolSize: 1,
    statementTimeoutMs: 1_000,
    pauseMs: 1_000,
    applicationName: 'test',
    log: pino({ level: 'silent' }),
  })
  await expect(guests.begin(new AbortController().signal, 1_000)).rejects.toThrow(/./)
  await guests.close()
})

test('a connection that is ready only after its caller gave up waiting serves the next one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const server = await answeringWhenTold()
  const database = oneConnectionTo(server.url)
  const first = expect(database.run(one, {})).rejects.toThrow(/./)
  const second = expect(database.run(one, {})).rejects.toThrow(/timeout exceeded/)
  const broken = await server.next()
  await vi.advanceTimersByTimeAsync(3_000)
  broken.socket.destroy()
  await first
  // The connection that is made for the second call is still taking its role when that has waited long enough.
  const late = await server.next()
  await vi.advanceTimersByTimeAsync(2_500)
  await second

  late.socket.write(answerToText)
  const third = database.run(one, {})
  const statement = await server.next()
  expect(statement).toEqual({ kind: 'P', socket: late.socket })
  statement.socket.write(answerToPrepared)
  expect(await third).toEqual([])
  await database.close()
})

test('a connection whose role is not granted in time is given up, and the next call makes another', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const server = await answeringWhenTold()
  const database = oneConnectionTo(server.url)
  const first = expect(database.run(one, {})).rejects.toThrow(/timeout/)
  const hung = await server.next()
  await vi.advanceTimersByTimeAsync(5_000)
  await first

  const second = database.run(one, {})
  const fresh = await server.next()
  expect(fresh.socket).not.toBe(hung.socket)
  fresh.socket.write(answerToText)
  const statement = await server.next()
  statement.socket.write(answerToPrepared)
  expect(await second).toEqual([])
  await database.close()
})
