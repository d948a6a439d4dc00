import { createHmac } from 'node:crypto'
import { describe, expect, it, test } from 'vitest'
import { deliverer, now, recorder, serve } from '../../test/kit/local-target.js'
import { isSuccess, rangeOf } from './success-codes.js'

describe('a body of the job’s own', () => {
  it('is sent in place of the envelope, as JSON', async () => {
    const { url, seen } = await recorder()
    const outcome = await deliverer()(url, { body: { text: 'run {{run_id}}', n: '{{payload.n}}' } })
    expect(outcome).toMatchObject({ kind: 'success' })
    expect(seen[0]?.headers['content-type']).toBe('application/json')
    expect(seen[0]?.body.toString()).toBe('{"text":"run run_1","n":1}')
  })

  it('is sent as text when it is a string, under the job’s own content type if it has one', async () => {
    const { url, seen } = await recorder()
    const deliver = deliverer()
    await deliver(url, { body: 'n={{payload.n}}' })
    await deliver(url, {
      body: 'n={{payload.n}}',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    })
    expect(seen.map(({ headers, body }) => [headers['content-type'], body.toString()])).toEqual([
      ['text/plain; charset=utf-8', 'n=1'],
      ['application/x-www-form-urlencoded', 'n=1'],
    ])
  })

  it('that cannot be read, or becomes too large, is final and sends nothing', async () => {
    const { url, seen } = await recorder()
    const deliver = deliverer()
    expect(await deliver(url, { body: '{{nonsense}}' })).toMatchObject({
      reason: 'invalid_target',
      retryable: false,
    })
    const huge = { payload: 'x'.repeat(9 * 1024 * 1024) }
    expect(await deliver(url, { body: '{{payload}}' }, huge)).toMatchObject({
      reason: 'invalid_target',
      retryable: false,
      error: expect.stringContaining('larger than 8 MiB') as string,
    })
    expect(seen).toEqual([])
  })
})

describe('success codes', () => {
  it.each([
    [undefined, [200, 204, 299], [301, 404, 500]],
    [[204], [204], [200, 404]],
    [
      ['2xx', 409],
      [200, 299, 409],
      [300, 408, 410],
    ],
    [
      ['4XX', '500-502'],
      [400, 499, 500, 502],
      [200, 503],
    ],
    [['404'], [404], [200]],
  ])('%j', (codes, good, bad) => {
    expect(good.filter((status) => !isSuccess(codes, status))).toEqual([])
    expect(bad.filter((status) => isSuccess(codes, status))).toEqual([])
  })

  it.each([
    0,
    99,
    100,
    199,
    600,
    20.5,
    '1xx',
    '6xx',
    '2x',
    'ok',
    '',
    '204-200',
    '200-',
    '200-299-300',
    null,
    {},
  ])('%j names no final status', (code) => {
    expect(rangeOf(code)).toBeUndefined()
  })

  it('decide what a delivery is', async () => {
    const { url } = await recorder([409, {}, 'exists'], [200, {}, 'fine'], [302, { location: '/x' }])
    const deliver = deliverer()
    expect(await deliver(url, { success_codes: ['2xx', 409] })).toEqual({
      kind: 'success',
      result: { status: 409, body: 'exists' },
    })
    expect(await deliver(url, { success_codes: [201] })).toEqual({
      kind: 'failed',
      reason: 'http_status',
      retryable: false,
      error: `POST ${url} answered 200, which is not one of the target's success_codes`,
      result: { status: 200, body: 'fine' },
    })
    expect(await deliver(url, { success_codes: ['3xx'], follow_redirects: 5 })).toMatchObject({
      kind: 'success',
      result: { status: 302 },
    })
  })

  it('of a success that never ends still wait for its end', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(404).write('x')
    })
    const outcome = await deliverer()(url, { success_codes: [404] }, { timeoutMs: 300 })
    expect(outcome).toMatchObject({ reason: 'timeout', retryable: true })
  })
})

describe('the signature', () => {
  const secrets = [Buffer.alloc(32, 1), Buffer.alloc(24, 2)]
  const sign = (secret: Buffer, body: string | Buffer) =>
    `v1,${createHmac('sha256', secret)
      .update(Buffer.concat([Buffer.from(`run_1.${now / 1000}.`), Buffer.from(body)]))
      .digest('base64')}`

  it('covers the run’s id, the time and the very bytes of the body, once per secret of the tenant', async () => {
    const { url, seen } = await recorder()
    const asked: number[] = []
    const secretsOf = (tenant: number) => {
      asked.push(tenant)
      return Promise.resolve(secrets)
    }
    await deliverer({ secretsOf })(url, {}, { payload: { día: '✓\u2028' } })
    const [sent] = seen
    if (sent === undefined) throw new Error('nothing was sent')
    const { headers, body } = sent
    expect(asked).toEqual([7])
    expect(headers['webhook-id']).toBe('run_1')
    expect(headers['webhook-timestamp']).toBe(String(now / 1000))
    expect(headers['webhook-signature']).toBe(secrets.map((secret) => sign(secret, body)).join(' '))
  })

  it.each(['GET', 'DELETE'] as const)('of a %s covers the empty body', async (method) => {
    const { url, seen } = await recorder()
    await deliverer({ secretsOf: () => Promise.resolve(secrets.slice(0, 1)) })(url, { method })
    expect(seen[0]?.headers['webhook-signature']).toBe(sign(Buffer.alloc(32, 1), ''))
  })

  it('is left out where there is no secret; the id stays', async () => {
    const { url, seen } = await recorder()
    await deliverer()(url)
    await deliverer({ secretsOf: () => Promise.resolve([]) })(url)
    for (const { headers } of seen) {
      expect(headers['webhook-id']).toBe('run_1')
      expect(headers).not.toHaveProperty('webhook-signature')
    }
  })

  it('cannot be forged by the job’s own headers', async () => {
    const { url, seen } = await recorder()
    await deliverer()(url, { headers: { 'Webhook-Signature': 'v1,x', 'WEBHOOK-ID': 'x', Traceparent: 'x' } })
    expect(seen[0]?.headers).not.toHaveProperty('webhook-signature')
    expect(seen[0]?.headers).toMatchObject({ 'webhook-id': 'run_1' })
    expect(seen[0]?.headers['traceparent']).toMatch(/^00-/)
  })

  it.each([
    ['cannot be read', () => Promise.reject(new Error('no connection'))],
    [
      'throw at once',
      () => {
        throw new Error('no connection')
      },
    ],
    ['are empty', () => Promise.resolve([Buffer.alloc(0)])],
  ])('whose secrets %s is not left out: nothing is sent', async (_name, secretsOf) => {
    const { url, seen } = await recorder()
    const outcome = await deliverer({ secretsOf })(url)
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'signing', retryable: true })
    expect(seen).toEqual([])
  })

  it('whose secrets never come ends at the deadline, and nothing is sent after it', async () => {
    const { url, seen } = await recorder()
    let give: (secrets: Buffer[]) => void = () => {}
    const late = new Promise<Buffer[]>((resolve) => {
      give = resolve
    })
    const deliver = deliverer({ secretsOf: (tenant) => (tenant === 7 ? late : Promise.resolve([])) })
    expect(await deliver(url, {}, { timeoutMs: 50 })).toMatchObject({ reason: 'timeout' })
    give(secrets)
    await deliver(url, {}, { runId: 'run_2', tenant: 8 })
    expect(seen.map(({ headers }) => headers['webhook-id'])).toEqual(['run_2'])
  })
})

test('one trace per run, one parent per attempt', async () => {
  const { url, seen } = await recorder()
  const deliver = deliverer()
  await deliver(url)
  await deliver(url, {}, { attempt: 3, token: 78 })
  await deliver(url, {}, { runId: 'run_2' })
  const traces = seen.map(({ headers }) => String(headers['traceparent']).split('-'))
  for (const [version, trace, parent, flags] of traces) {
    expect([version, flags]).toEqual(['00', '01'])
    expect(trace).toMatch(/^(?!0+$)[0-9a-f]{32}$/)
    expect(parent).toMatch(/^(?!0+$)[0-9a-f]{16}$/)
  }
  expect(traces[1]?.[1]).toBe(traces[0]?.[1])
  expect(traces[1]?.[2]).not.toBe(traces[0]?.[2])
  expect(traces[2]?.[1]).not.toBe(traces[0]?.[1])
})
