import { verifyWebhook } from '@carillon/sdk'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { deliverer, recorder } from '../../test/kit/local-target.js'
import { newSecret, secretText } from './signing.js'

const [newest, old] = [newSecret(), newSecret()]
const secretsOf = () => Promise.resolve([newest, old])
const payload = { día: '✓', nested: [1, { x: null }], odd: '\u2028\ud800' }

async function received(method: 'POST' | 'GET' | 'DELETE' = 'POST', body?: unknown) {
  const { url, seen } = await recorder()
  const target = { method, ...(body !== undefined && { body }) }
  await deliverer({ secretsOf, now: () => Date.now() })(url, target, { payload })
  const [request] = seen
  if (request === undefined) throw new Error('nothing came')
  return { body: request.body, headers: request.headers as Record<string, string> }
}

describe('the official package as the receiver', () => {
  it.each([
    ['newest', newest],
    ['one being replaced', old],
  ])('takes a delivery with the %s secret', async (_name, secret) => {
    const { body, headers } = await received()
    expect(new Webhook(secretText(secret)).verify(body, headers)).toMatchObject({
      run_id: 'run_1',
      attempt: 2,
    })
  })

  it.each(['GET', 'DELETE'] as const)('takes a %s, whose body is empty', async (method) => {
    const { body, headers } = await received(method)
    expect(new Webhook(secretText(newest)).verify(body, headers)).toBeUndefined()
  })

  it('takes a body of the job’s own', async () => {
    const { body, headers } = await received('POST', { all: '{{payload}}' })
    expect(new Webhook(secretText(newest)).verify(body, headers)).toHaveProperty('all')
    const text = await received('POST', 'día {{payload.odd}}')
    expect(() =>
      new Webhook(secretText(newest)).verify(text.body, text.headers, { jsonParse: false }),
    ).not.toThrow()
  })

  it('refuses another secret and a changed body', async () => {
    const { body, headers } = await received()
    expect(() => new Webhook(secretText(newSecret())).verify(body, headers)).toThrow('No matching signature')
    expect(() => new Webhook(secretText(newest)).verify(`${body.toString()} `, headers)).toThrow()
  })
})

describe('the official package as the sender', () => {
  it('is verified by the SDK', async () => {
    const { body } = await received()
    const at = new Date()
    const headers = {
      'webhook-id': 'run_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secretText(newest)).sign('run_1', at, body),
    }
    expect(verifyWebhook(secretText(newest), headers, body)).toMatchObject({ run_id: 'run_1' })
    expect(() => verifyWebhook(secretText(old), headers, body)).toThrow('No signature fits')
  })

  it('and the SDK verifies what Carillon sends', async () => {
    const { body, headers } = await received()
    expect(verifyWebhook([secretText(old)], headers, body).idempotency_key).toBe('job_1:1767603600')
  })
})
