import { expect, test } from 'vitest'
import { newSecret, secretText, signatureHeaders, traceparent } from './signing.js'

/** Made with the official package `standardwebhooks` 1.1.1. */
test.each([
  [
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', sentAt: 1_614_265_330_999, body: '{"test": 2432232314}' },
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ],
  [
    'C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    { id: 'run_1', sentAt: 1_767_603_630_000, body: '' },
    'v1,MGUSVOp/tGAa9ydRMW5bsJlTcZgYFxTZo7pgxbwp/Mw=',
  ],
  [
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    { id: 'run_1', sentAt: 1_767_603_630_000, body: '{"día":"✓"}' },
    'v1,qPJTcSd0Wt6owMIh6Zbwb0LfReejFhggJZqUikvdWCk=',
  ],
])('a message is signed as the convention has it (%s)', (secret, { id, sentAt, body }, signature) => {
  const headers = signatureHeaders({ id, sentAt, body: Buffer.from(body) }, [Buffer.from(secret, 'base64')])
  expect(headers).toEqual([
    ['webhook-id', id],
    ['webhook-timestamp', String(Math.floor(sentAt / 1000))],
    ['webhook-signature', signature],
  ])
})

test('an empty secret is refused: everybody has that one', () => {
  const message = { id: 'run_1', sentAt: 0, body: Buffer.from('') }
  expect(() => signatureHeaders(message, [newSecret(), Buffer.alloc(0)])).toThrow('empty')
})

test('a new secret is 32 random bytes, shown with its prefix', () => {
  const secrets = [newSecret(), newSecret()] as const
  expect(secrets[0]).toHaveLength(32)
  expect(secrets[0].equals(secrets[1])).toBe(false)
  expect(Buffer.from(secretText(secrets[0]).replace('whsec_', ''), 'base64').equals(secrets[0])).toBe(true)
})

test('traces of two installations differ although their runs have the same number', () => {
  const trace = (jobId: string) => traceparent({ jobId, runId: 'run_1', token: 1 }).slice(3, 35)
  expect(trace('job_a')).not.toBe(trace('job_b'))
})
