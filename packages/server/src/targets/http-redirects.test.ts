import { createHmac } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import { describe, expect, it } from 'vitest'
import { deliverer, recorder, serve } from '../../test/kit/local-target.js'
import { createAddressGuard } from './address-guard.js'
import { type Hop, nextHop } from './redirects.js'

const path = (url: string) => new URL(url).pathname

describe('a redirect', () => {
  it('is followed as often as the job wants, and not once more', async () => {
    const { url, seen } = await recorder(
      [307, { location: '/a' }],
      [308, { location: 'b?c=d' }],
      [200, {}, 'ok'],
    )
    expect(await deliverer()(url, { follow_redirects: 2 })).toEqual({
      kind: 'success',
      result: { status: 200, body: 'ok' },
    })
    expect(seen.map((request) => request.url)).toEqual(['/hook', '/a', '/b?c=d'])
  })

  it.each([1, 5])('that leads in a circle ends after %i', async (most) => {
    const { url, seen } = await recorder([307, { location: '/hook' }])
    expect(await deliverer()(url, { follow_redirects: most })).toMatchObject({
      kind: 'failed',
      reason: 'http_status',
      retryable: false,
      error: expect.stringContaining(
        `answered 307 (to /hook), which was not followed: there were more than ${most} redirects`,
      ) as string,
    })
    expect(seen).toHaveLength(most + 1)
  })

  it.each([
    ['POST', 301, 'GET', ''],
    ['POST', 302, 'GET', ''],
    ['POST', 303, 'GET', ''],
    ['PUT', 303, 'GET', ''],
    ['DELETE', 303, 'GET', ''],
    ['PUT', 302, 'PUT', 'n=1'],
    ['PATCH', 301, 'PATCH', 'n=1'],
    ['POST', 307, 'POST', 'n=1'],
    ['POST', 308, 'POST', 'n=1'],
    ['DELETE', 302, 'DELETE', ''],
    ['GET', 302, 'GET', ''],
  ] as const)('of a %s with %i leads to a %s', async (method, status, then, body) => {
    const { url, seen } = await recorder([status, { location: '/next' }], [200])
    const own = method === 'GET' || method === 'DELETE' ? {} : { body: 'n={{payload.n}}' }
    await deliverer()(url, { method, follow_redirects: 1, ...own, headers: { 'Content-Language': 'en' } })
    expect(seen[1]).toMatchObject({ method: then, url: '/next' })
    expect(seen[1]?.body.toString()).toBe(body)
    if (own.body !== undefined && body === '') {
      expect(seen[1]?.headers).not.toHaveProperty('content-type')
      expect(seen[1]?.headers).not.toHaveProperty('content-language')
    }
  })

  it('is signed anew for what is sent there', async () => {
    const secret = Buffer.alloc(32, 7)
    const { url, seen } = await recorder([303, { location: '/next' }], [200])
    await deliverer({ secretsOf: () => Promise.resolve([secret]) })(url, { follow_redirects: 1 })
    const [, second] = seen
    if (second === undefined) throw new Error('the redirect was not followed')
    const { headers } = second
    const text = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`
    const expected = createHmac('sha256', secret).update(text).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${expected}`)
  })

  it('to the same origin carries the job’s headers; to another one only harmless ones', async () => {
    const other = await recorder([307, { location: '/more' }], [200])
    const { url, seen } = await recorder([307, { location: '/same' }], [307, { location: other.url }])
    const headers = { Authorization: 'Bearer s', Cookie: 'a=b', 'X-Api-Key': 'k', Accept: 'text/x' }
    expect(await deliverer()(url, { follow_redirects: 5, headers })).toMatchObject({ kind: 'success' })
    expect(seen[1]?.headers).toMatchObject({ authorization: 'Bearer s', cookie: 'a=b', 'x-api-key': 'k' })
    expect(other.seen).toHaveLength(2)
    for (const { headers: sent } of other.seen) {
      expect(sent).toMatchObject({
        accept: 'text/x',
        'content-type': 'application/json',
        'carillon-run-id': 'run_1',
      })
      for (const name of ['authorization', 'cookie', 'x-api-key']) expect(sent).not.toHaveProperty(name)
    }
  })

  it('back to the first origin over another one carries no credentials either', async () => {
    const requests: (string | undefined)[] = []
    const home = await serve((request, response) => {
      requests.push(request.headers.authorization)
      if (request.url === '/back') return response.end()
      response.writeHead(307, { location: away.url }).end()
    })
    const away = await recorder([307, { location: home.url.replace('/hook', '/back') }])
    await deliverer()(home.url, { follow_redirects: 5, headers: { Authorization: 'Bearer s' } })
    expect(requests).toEqual(['Bearer s', undefined])
  })

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/latest/meta-data/',
    'http://0251.0376.0251.0376/',
    'http://0xa9fea9fe/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://10.0.0.1/',
    'http://0.0.0.0/',
    'http://[::]/',
    'http://[2002:a9fe:a9fe::1]/',
    'http://[fe80::1]/',
    'http://metadata.example./',
    '//192.168.0.1/x',
    'http://metadata.example/',
  ])('to %s meets the guard', async (location) => {
    const { url } = await recorder([307, { location }])
    const lookup: LookupFunction = (_, _options, callback) =>
      callback(null, [{ address: '169.254.169.254', family: 4 }])
    expect(await deliverer({ lookup })(url, { follow_redirects: 3 })).toMatchObject({
      kind: 'failed',
      reason: 'blocked_address',
      retryable: false,
      error: expect.stringContaining(`(redirected from POST ${url})`) as string,
    })
  })

  it('to loopback is refused where the target itself was permitted by name', async () => {
    const { url } = await recorder([307, { location: 'http://127.0.0.9:9/' }])
    const guard = createAddressGuard({ allowedNetworks: ['127.0.0.1/32'], allowLoopback: false })
    expect(await deliverer({ guard })(url, { follow_redirects: 1 })).toMatchObject({
      reason: 'blocked_address',
    })
  })

  it.each([
    [{}, 'it names no location'],
    [{ location: 'http://' }, 'its location cannot be read'],
    [{ location: 'file:///etc/passwd' }, 'its location has the scheme "file"'],
    [{ location: 'gopher://x/' }, 'its location has the scheme "gopher"'],
    [{ location: 'http://user:pw@example.com/' }, 'a user name or password'],
  ])('with %j is not followed: %s', async (headers, why) => {
    const { url, seen } = await recorder([302, headers])
    expect(await deliverer()(url, { follow_redirects: 3 })).toMatchObject({
      kind: 'failed',
      reason: 'http_status',
      retryable: false,
      error: expect.stringContaining(why) as string,
    })
    expect(seen).toHaveLength(1)
  })

  it('whose own body never ends does not hold up the next request', async () => {
    const next = await recorder([200, {}, 'ok'])
    const { url } = await serve((_, response) => {
      response.writeHead(307, { location: next.url }).write('…')
    })
    expect(await deliverer()(url, { follow_redirects: 1 })).toMatchObject({ kind: 'success' })
  })

  it.each([300, 304, 305, 306])('is not what %i is', async (status) => {
    const { url, seen } = await recorder([status, { location: '/next' }])
    expect(await deliverer()(url, { follow_redirects: 3 })).toMatchObject({ retryable: false })
    expect(seen.map((request) => path(`http://x${request.url}`))).toEqual(['/hook'])
  })

  it('is within the one deadline of the attempt', async () => {
    const { url } = await serve((request, response) => {
      if (request.url === '/hook') response.writeHead(307, { location: '/slow' }).end()
    })
    expect(await deliverer()(url, { follow_redirects: 3 }, { timeoutMs: 300 })).toMatchObject({
      reason: 'timeout',
      error: `POST ${url.replace('/hook', '/slow')} (redirected from POST ${url}): no answer within 0.3 s`,
    })
  })
})

it('a redirect from https to http is not followed, from http to https it is', () => {
  const hop = (url: string): Hop => ({ url: new URL(url), method: 'POST', withBody: true, foreign: false })
  expect(nextHop(hop('https://a.example/'), 307, 'http://a.example/')).toHaveProperty('refusal')
  expect(nextHop(hop('http://a.example/'), 307, 'https://a.example/')).toMatchObject({ foreign: true })
})
