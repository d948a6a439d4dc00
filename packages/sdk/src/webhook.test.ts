import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  verifySignature,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookHeaders,
} from './webhook.js'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const sentAt = 1_767_603_630
const now = () => sentAt * 1000
const envelope = {
  job_id: 'job_1',
  job_name: 'día ✓',
  run_id: 'run_1',
  scheduled_at: '2026-01-05T09:00:00.000Z',
  attempt: 2,
  fencing_token: 77,
  catch_up: false,
  idempotency_key: 'job_1:1767603600',
  payload: { n: 1 },
}
const body = JSON.stringify(envelope)

function sign(text: string | Uint8Array, key = secret, id = 'run_1', timestamp = String(sentAt)): string {
  const hmac = createHmac('sha256', Buffer.from(key.slice(6), 'base64'))
  return `v1,${hmac.update(`${id}.${timestamp}.`).update(text).digest('base64')}`
}

const headers = (signature: string, changes: Record<string, string> = {}) => ({
  'webhook-id': 'run_1',
  'webhook-timestamp': String(sentAt),
  'webhook-signature': signature,
  ...changes,
})

function refusal(work: () => unknown): { code: WebhookErrorCode; status: number; message: string } {
  try {
    work()
  } catch (error) {
    if (error instanceof WebhookError) return error
    throw error
  }
  throw new Error('it was taken')
}

describe('a delivery with a good signature', () => {
  it('gives its envelope', () => {
    const verified = verifyWebhook<{ n: number }>(secret, headers(sign(body)), body, { now })
    expect(verified).toEqual(envelope)
    expect(verified.payload.n).toBe(1)
  })

  it.each([
    ['of fetch', new Headers(headers(sign(body)))],
    ['of Node', { ...headers(sign(body)), 'set-cookie': ['a'] }],
    [
      'in any case',
      { 'Webhook-Id': 'run_1', 'WEBHOOK-TIMESTAMP': String(sentAt), 'webhook-Signature': sign(body) },
    ],
    ['as lists', { ...headers(sign(body)), 'webhook-signature': [sign(body)] }],
  ] as [string, WebhookHeaders][])('is read from headers %s', (_name, given) => {
    expect(verifyWebhook(secret, given, Buffer.from(body), { now })).toEqual(envelope)
  })

  it.each([
    ['the secret as text', secret],
    ['without its prefix', secret.slice(6)],
    ['with blanks around it', ` ${secret}\n`],
    ['as bytes', Buffer.from(secret.slice(6), 'base64')],
    ['one of several', [other, secret]],
  ])('is verified with %s', (_name, secrets) => {
    expect(verifyWebhook(secrets, headers(sign(body)), body, { now })).toEqual(envelope)
  })

  it('may have several signatures, of which one fits', () => {
    const signatures = `v1a,x ${sign(body, other)} ${sign(body)} v2,y`
    expect(verifyWebhook(secret, headers(signatures), body, { now })).toEqual(envelope)
  })

  it('may be of the time tolerated, and no older or newer', () => {
    const at = (seconds: number, toleranceSeconds?: number) => () =>
      verifyWebhook(secret, headers(sign(body)), body, {
        now: () => now() + seconds * 1000,
        ...(toleranceSeconds !== undefined && { toleranceSeconds }),
      })
    for (const seconds of [300, 0, -300]) expect(at(seconds)()).toEqual(envelope)
    expect(refusal(at(301))).toMatchObject({ code: 'timestamp_too_old', status: 401 })
    expect(refusal(at(-301))).toMatchObject({ code: 'timestamp_too_new', status: 401 })
    expect(refusal(at(11, 10)).message).toContain('sent 11 s ago; 10 s are tolerated')
    expect(at(3_000, 3_000)()).toEqual(envelope)
  })

  it('may have any body, or none, for verifySignature', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00])
    const expected = { id: 'run_1', sentAt: new Date(sentAt * 1000) }
    expect(verifySignature(secret, headers(sign(bytes)), bytes, { now })).toEqual(expected)
    expect(verifySignature(secret, headers(sign('')), '', { now })).toEqual(expected)
  })
})

describe('a delivery is refused', () => {
  const verify = (
    given: WebhookHeaders,
    text: string | Uint8Array = body,
    secrets: string | string[] = secret,
  ) => refusal(() => verifyWebhook(secrets, given, text, { now }))

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without the header %s', (name) => {
    const { [name]: _dropped, ...rest } = headers(sign(body)) as Record<string, string>
    expect(verify(rest)).toMatchObject({ code: 'missing_header', status: 401 })
    expect(verify(rest).message).toContain(name)
    expect(verify({ ...rest, [name]: '' })).toMatchObject({ code: 'missing_header' })
    expect(verify({ ...rest, [name]: [] })).toMatchObject({ code: 'missing_header' })
  })

  it('with a header that came twice', () => {
    const twice = { ...headers(sign(body)), 'webhook-id': ['run_1', 'run_2'] }
    expect(verify(twice)).toMatchObject({ code: 'invalid_header' })
  })

  it.each(['', 'abc', '-1', '1e9', '1767603630.5', '17676036300000000000'])(
    'with the timestamp %j',
    (timestamp) => {
      const given = headers(sign(body, secret, 'run_1', timestamp), { 'webhook-timestamp': timestamp })
      expect(['invalid_header', 'missing_header']).toContain(verify(given).code)
    },
  )

  it.each([
    ['of another secret', headers(sign(body, other))],
    ['of another id', headers(sign(body), { 'webhook-id': 'run_2' })],
    ['of another time', headers(sign(body), { 'webhook-timestamp': String(sentAt + 1) })],
    ['of another body', headers(sign(`${body} `))],
    ['of another version', headers(sign(body).replace('v1,', 'v2,'))],
    ['without a version', headers(sign(body).replace('v1,', ''))],
    ['cut short', headers(sign(body).slice(0, -6))],
    ['that is empty', headers('v1,')],
  ])('with a signature %s', (_name, given) => {
    expect(verify(given)).toMatchObject({ code: 'signature_mismatch', status: 401 })
  })

  it('when its body was parsed and written anew', () => {
    const spaced = JSON.stringify(envelope, null, 2)
    expect(verify(headers(sign(body)), spaced).message).toContain('Pass the body as it came')
    expect(verify(headers(sign(body)), envelope as unknown as string)).toMatchObject({
      code: 'invalid_body',
      message: expect.stringContaining('express.raw') as string,
    })
  })

  it.each([
    '',
    'null',
    '[]',
    '{}',
    'not json',
    body.replace('"attempt":2', '"attempt":"2"'),
    body.replace('payload', 'x'),
  ])('with the signed body %j, which is no envelope', (text) => {
    expect(verify(headers(sign(text)), text)).toMatchObject({ code: 'invalid_body', status: 400 })
  })

  it('when the envelope is of another run than the id', () => {
    const given = headers(sign(body, secret, 'run_2'), { 'webhook-id': 'run_2' })
    expect(verify(given)).toMatchObject({ code: 'invalid_body' })
  })

  it.each(['', 'whsec_', 'whsec_***', [[]], [[secret, '']], null])(
    'with %j for a secret, as our own fault',
    (bad) => {
      const found = verify(headers(sign(body)), body, bad as unknown as string)
      expect(found).toMatchObject({ code: 'invalid_secret', status: 500 })
    },
  )
})
