import { StopSwitch } from './stop-switch.js'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, isIP, type LookupFunction } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { createAddressGuard } from './address-guard.js'
import { createHttpTarget } from './http.js'
import type { Attempt } from './target.js'

const attempt: Attempt = {
  tenant: 1,
  jobId: 'job_1',
  jobName: 'j',
  runId: 'run_1',
  scheduledAt: 0,
  attempt: 1,
  token: 1,
  catchUp: false,
  idempotencyKey: 'k',
  payload: null,
  timeoutMs: 20_000,
}
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Listens and answers with its own address; undefined where the machine has no such address. */
async function serveAt(address: string, port = 0): Promise<number | undefined> {
  const server = createServer((_, response) => response.setHeader('connection', 'close').end(address))
  server.listen(port, address)
  const listening = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (!listening) return undefined
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Network {
  allowedNetworks?: string[]
  allowLoopback?: boolean
  lookup?: LookupFunction
}

function deliverer({ allowedNetworks = [], allowLoopback = false, lookup }: Network) {
  const guard = createAddressGuard({ allowedNetworks, allowLoopback })
  const target = createHttpTarget({ guard, now: () => 0, ...(lookup && { lookup }) })
  cleanups.push(() => target.close())
  return (url: string) => target.deliver({ type: 'http', url }, attempt, new StopSwitch())
}

/** Answers each lookup with the next list of addresses. */
function resolver(...answers: string[][]): LookupFunction {
  let calls = 0
  return (_, options, callback) => {
    const answer = answers[Math.min(calls++, answers.length - 1)] ?? []
    const found: LookupAddress[] = answer.map((address) => ({ address, family: isIP(address) }))
    expect(options.all).toBe(true)
    callback(null, found)
  }
}

const spellings = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '127.0.0.1.',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  'localhost',
  'LOCALHOST',
]

test.each(spellings)('%s is refused while loopback is not allowed', async (host) => {
  const port = await serveAt('127.0.0.1')
  const outcome = await deliverer({})(`http://${host}:${port}/`)
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'blocked_address', retryable: false })
  expect(outcome).toHaveProperty('error', expect.stringContaining('CARILLON_ALLOWED_NETWORKS'))
})

test.each(spellings)('%s is reached when loopback is allowed', async (host) => {
  const port = await serveAt('127.0.0.1')
  const outcome = await deliverer({ allowLoopback: true })(`http://${host}:${port}/`)
  expect(outcome).toEqual({ kind: 'success', result: { status: 200, body: '127.0.0.1' } })
})

test('[::1] is refused, and reached when loopback is allowed', async ({ skip }) => {
  const port = await serveAt('::1')
  const url = `http://[::1]:${port ?? 9}/`
  expect(await deliverer({})(url)).toMatchObject({ reason: 'blocked_address', retryable: false })
  if (port === undefined) skip('this machine has no IPv6 loopback')
  expect(await deliverer({ allowLoopback: true })(url)).toMatchObject({ kind: 'success' })
})

test('a refusal names the host, its address and the setting', async () => {
  const outcome = await deliverer({ lookup: resolver(['10.1.2.3']) })('http://internal.example/x')
  expect(outcome).toEqual({
    kind: 'failed',
    reason: 'blocked_address',
    retryable: false,
    error:
      'POST http://internal.example/x: internal.example has the address 10.1.2.3, which is a private address: ' +
      'Carillon does not connect there. If jobs may reach it, add its network to CARILLON_ALLOWED_NETWORKS ' +
      '(CIDR, comma-separated) on the server.',
  })
})

test('https is guarded like http', async () => {
  const deliver = deliverer({ lookup: resolver(['10.1.2.3']) })
  expect(await deliver('https://internal.example/')).toMatchObject({ reason: 'blocked_address' })
  expect(await deliver('https://169.254.169.254/')).toMatchObject({ reason: 'blocked_address' })
})

test('of a name with refused and permitted addresses only a permitted one is dialled', async ({ skip }) => {
  const port = await serveAt('127.0.0.1')
  if ((await serveAt('127.0.0.2', port)) === undefined) skip('this machine has only one loopback address')
  const lookup = resolver(['127.0.0.1', '10.0.0.1', '127.0.0.2'])
  const outcome = await deliverer({ allowedNetworks: ['127.0.0.2/32'], lookup })(
    `http://mixed.example:${port}/`,
  )
  expect(outcome).toEqual({ kind: 'success', result: { status: 200, body: '127.0.0.2' } })
})

test('a name that changes to a refused address is refused at the next dial', async () => {
  const port = await serveAt('127.0.0.1')
  const lookup = resolver(['127.0.0.1'], ['127.0.0.9'])
  const deliver = deliverer({ allowedNetworks: ['127.0.0.1'], lookup })
  expect(await deliver(`http://rebinding.example:${port}/`)).toMatchObject({ kind: 'success' })
  expect(await deliver(`http://rebinding.example:${port}/`)).toMatchObject({ reason: 'blocked_address' })
})

test('a name that cannot be looked up, or has no address, is a retryable failure', async () => {
  const failing: LookupFunction = (hostname, _, callback) =>
    callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), [])
  expect(await deliverer({ lookup: failing })('http://gone.example/')).toEqual({
    kind: 'failed',
    reason: 'connection',
    retryable: true,
    error: 'POST http://gone.example/: getaddrinfo ENOTFOUND gone.example',
  })
  expect(await deliverer({ lookup: resolver([]) })('http://empty.example/')).toMatchObject({
    reason: 'connection',
    retryable: true,
  })
})

test('several addresses that refuse the connection are all named', async () => {
  const deliver = deliverer({ allowLoopback: true, lookup: resolver(['127.0.0.1', '127.0.0.1']) })
  const closedPort = await closedLoopbackPort()
  const outcome = await deliver(`http://two.example:${closedPort}/`)
  expect(outcome).toMatchObject({ reason: 'connection', retryable: true })
  expect(outcome).toHaveProperty(
    'error',
    expect.stringContaining(`connect ECONNREFUSED 127.0.0.1:${closedPort}`),
  )
})

async function closedLoopbackPort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

test('proxy settings of the environment do not apply', async () => {
  const closedPort = await closedLoopbackPort()
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) {
    vi.stubEnv(name, `http://127.0.0.1:${closedPort}`)
  }
  const port = await serveAt('127.0.0.1')
  const outcome = await deliverer({ allowLoopback: true })(`http://127.0.0.1:${port}/`)
  expect(outcome).toMatchObject({ kind: 'success' })
})

test.each([
  '0.0.0.0',
  '0',
  '0x0',
  '00.0.0.0',
  '[::]',
  '[::0.0.0.0]',
  '[::ffff:0.0.0.0]',
  '[::ffff:0:7f00:1]',
])('%s, which a system takes for itself, is refused, also when loopback is allowed', async (host) => {
  const port = await serveAt('127.0.0.1')
  const outcome = await deliverer({ allowLoopback: true })(`http://${host}:${port}/`)
  expect(outcome).toMatchObject({ reason: 'blocked_address', retryable: false })
})

test.each([
  '0251.0376.0251.0376',
  '0xa9.0xfe.0xa9.0xfe',
  '0xa9fea9fe',
  '2852039166',
  '169.16689662',
  '[::ffff:a9fe:a9fe]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:a9fe:a9fe::1]',
  '[fd00:ec2::254]',
])('the metadata address written as %s is refused, also when loopback is allowed', async (host) => {
  expect(await deliverer({ allowLoopback: true })(`http://${host}/latest/meta-data/`)).toMatchObject({
    reason: 'blocked_address',
    retryable: false,
  })
})

test.each(['[fe80::1%25eth0]', '[::1%25lo]', '[::1%lo]'])(
  'a URL with the zone id of %s is none',
  async (host) => {
    expect(await deliverer({ allowLoopback: true })(`http://${host}/`)).toMatchObject({
      reason: 'invalid_target',
      retryable: false,
    })
  },
)

test.each(['localhost.', 'sub.localhost', 'LOCALHOST.'])(
  '%s is what the resolver says of it',
  async (host) => {
    const deliver = deliverer({ lookup: resolver(['127.0.0.1']) })
    expect(await deliver(`http://${host}/`)).toMatchObject({ reason: 'blocked_address' })
  },
)

test('a name that a resolver gives with a zone id meets the guard', async () => {
  const deliver = deliverer({ lookup: resolver(['fe80::1%eth0']) })
  expect(await deliver('http://zoned.example/')).toMatchObject({ reason: 'blocked_address' })
})

test('a kept connection goes on to the address that was permitted; a new one asks again, and meets the guard', async () => {
  const sockets = new Set<unknown>()
  const server = createServer((request, response) => {
    sockets.add(request.socket)
    response.end('kept')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  // Permitted at first; from the second lookup on the name has another address.
  const deliver = deliverer({
    allowedNetworks: ['127.0.0.1'],
    lookup: resolver(['127.0.0.1'], ['127.0.0.9']),
  })
  const url = `http://rebinding.example:${port}/`
  expect(await deliver(url)).toMatchObject({ kind: 'success' })
  // The client offers a connection for reuse only after a turn of the event loop.
  await setImmediate()
  expect(await deliver(url)).toMatchObject({ kind: 'success' })
  expect(sockets.size).toBe(1)
  const closed = once([...sockets][0] as NodeJS.EventEmitter, 'close')
  server.closeAllConnections()
  await closed
  // The client may learn of the close only by trying: an attempt that is lost so is tried again by its run.
  const outcomes = [await deliver(url), await deliver(url)]
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(['failed', 'failed'])
  expect(outcomes.at(-1)).toMatchObject({ reason: 'blocked_address' })
  expect(sockets.size).toBe(1)
})
