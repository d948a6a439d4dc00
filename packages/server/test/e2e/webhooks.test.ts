import { join } from 'node:path'
import { verifyWebhook } from '@carillon/sdk'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { Carillon, type CarillonOptions, temporaryFolder, until } from './support/carillon.js'
import { useDatabases } from './support/databases.js'
import { type Delivery, Sink } from './support/sink.js'

/** Real servers deliver; the official package of Standard Webhooks, which knows nothing of Carillon, receives. */
describe('webhooks on the wire', () => {
  const folder = temporaryFolder()
  const started: Carillon[] = []
  // Registered first, so that it is done last.
  afterAll(() => folder.remove())
  const databaseOf = useDatabases(folder.path)
  const sinks: Sink[] = []

  async function up(name: string, args: string[] = [], env: Record<string, string> = {}): Promise<Carillon> {
    return start({ args, env: { DATABASE_URL: await databaseOf(name), ...env } })
  }

  async function start({ env, ...options }: CarillonOptions): Promise<Carillon> {
    const settings = { CARILLON_MIN_INTERVAL_SECONDS: '1', CARILLON_LOG_LEVEL: 'trace', ...env }
    const carillon = await Carillon.up({ ...options, env: settings })
    started.push(carillon)
    return carillon
  }

  async function listen(): Promise<Sink> {
    const sink = await Sink.listen()
    sinks.push(sink)
    return sink
  }

  afterEach(async () => {
    await Promise.all(started.splice(0).map((carillon) => carillon.terminate()))
    await Promise.all(sinks.splice(0).map((sink) => sink.close()))
  })

  test('are signed from the first one on, without any set-up; what was changed or is old is refused', async () => {
    const sink = await listen()
    const { client } = await up('first')
    const { secret } = await client.signingSecrets.current()
    const payload = { día: '✓', odd: '\u2028' }
    const target = { type: 'http' as const, url: sink.url }
    const job = await client.jobs.create({ name: 'signed', schedule: instant(0), target, payload })
    const { raw, headers } = await until('it is delivered', () => sink.deliveries[0])

    const receiver = new Webhook(secret)
    expect(receiver.verify(raw, plain(headers))).toMatchObject({ job_id: job.job_id, payload })
    expect(verifyWebhook(secret, headers, raw)).toMatchObject({ job_id: job.job_id, payload })

    const tampered = raw.toString().replace('"attempt":1', '"attempt":2')
    expect(tampered).not.toBe(raw.toString())
    expect(() => receiver.verify(tampered, plain(headers))).toThrow('No matching signature')
    const other = { ...plain(headers), 'webhook-id': 'run_other' }
    expect(() => receiver.verify(raw, other)).toThrow('No matching signature')
    // Replayed an hour later it is too old, and whoever makes it young breaks its signature.
    const sentAt = Number(headers['webhook-timestamp'])
    const old = { ...plain(headers), 'webhook-timestamp': String(sentAt - 3_600) }
    expect(() => receiver.verify(raw, old)).toThrow('too old')
    const young = { ...plain(headers), 'webhook-timestamp': String(sentAt + 1) }
    expect(() => receiver.verify(raw, young)).toThrow('No matching signature')
  })

  test('carry all headers of the convention; attempts of a run share id, key and trace, and are signed anew', async () => {
    const sink = await listen()
    sink.answer = () =>
      sink.deliveries.length === 1 ? { status: 503, headers: { 'retry-after': '2' } } : 200
    const { client } = await up('headers')
    const at = instant(1_000)
    const job = await client.jobs.create({
      name: 'every header',
      schedule: at,
      target: { type: 'http', url: sink.url },
      max_retries: 1,
    })
    const [first, second] = await until(
      'both attempts came',
      () => sink.deliveries.length === 2 && sink.deliveries,
    )
    if (first === undefined || second === undefined) throw new Error('unreachable')
    const run = await until('the run is closed', async () => {
      const [latest] = await client.jobs.runs(job.job_id)
      return latest?.status === 'success' && latest
    })
    const { secret } = await client.signingSecrets.current()
    for (const [number, delivery] of [first, second].entries()) {
      expect(delivery.headers).toMatchObject({
        'webhook-id': run.run_id,
        'idempotency-key': `${job.job_id}:${Math.floor(Date.parse(at) / 1000)}`,
        'carillon-job-id': job.job_id,
        'carillon-run-id': run.run_id,
        'carillon-attempt': String(number + 1),
        'carillon-scheduled-at': at,
        'carillon-catch-up': 'false',
      })
      expect(delivery.headers['traceparent']).toMatch(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/)
      new Webhook(secret).verify(delivery.raw, plain(delivery.headers))
      const seconds = delivery.receivedAt / 1000
      expect(Math.abs(seconds - Number(delivery.headers['webhook-timestamp']))).toBeLessThan(30)
    }
    expect(timestampOf(second)).toBeGreaterThan(timestampOf(first))
    expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature'])
    expect(Number(second.headers['carillon-fencing-token'])).toBeGreaterThan(
      Number(first.headers['carillon-fencing-token']),
    )
    expect(run.fencing_token).toBe(Number(second.headers['carillon-fencing-token']))
    const [trace, parent] = traceOf(first)
    expect(traceOf(second)[0]).toBe(trace)
    expect(traceOf(second)[1]).not.toBe(parent)
  })

  test('of ticks that were missed are marked, and every run is another message', async () => {
    const sink = await listen()
    const { client } = await up('caught-up')
    const job = await client.jobs.create({
      name: 'missed',
      schedule: '@every 1s',
      target: { type: 'http', url: sink.url },
      missed_window: 'RUN_ALL',
    })
    await client.jobs.pause(job.job_id)
    const pausedAt = Date.now()
    await until('ticks have passed', () => Date.now() > pausedAt + 3_000)
    await client.jobs.resume(job.job_id)
    const marked = (mark: string) =>
      sink.deliveries.filter(({ headers }) => headers['carillon-catch-up'] === mark)
    await until('missed ticks are caught up', () => marked('true').length >= 2)
    const resumedAt = Date.now()
    await until('fresh ticks go on', () => marked('false').some(({ receivedAt }) => receivedAt > resumedAt))
    for (const { body, headers } of sink.deliveries)
      expect(String(body['catch_up'])).toBe(headers['carillon-catch-up'])
    const ids = sink.deliveries.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('during a rotation are taken by receivers with the old secret and by those with the new one', async () => {
    const sink = await listen()
    // The worker is another process than the one that is asked to rotate.
    const api = await up('rotation', ['--role', 'api'])
    await up('rotation', ['--role', 'scheduler', '--role', 'worker'], {
      CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8',
    })
    const { signingSecrets, jobs } = api.client
    const old = await signingSecrets.current()
    await jobs.create({ name: 'often', schedule: '@every 1s', target: { type: 'http', url: sink.url } })
    const before = await until('a first one came', () => sink.deliveries[0])
    expect(signaturesOf(before)).toBe(1)

    const made = await signingSecrets.rotate({ overlap_seconds: 3_600 })
    const during = await until('one is signed twice', () =>
      sink.deliveries.find((one) => signaturesOf(one) === 2),
    )
    for (const { secret } of [old, made])
      expect(new Webhook(secret).verify(during.raw, plain(during.headers))).toHaveProperty('run_id')

    await signingSecrets.retire(old.id)
    const retiredAt = Date.now()
    const after = await until('one is signed by the new secret only', () =>
      sink.deliveries.find((one) => one.receivedAt > retiredAt && signaturesOf(one) === 1),
    )
    expect(new Webhook(made.secret).verify(after.raw, plain(after.headers))).toHaveProperty('run_id')
    expect(() => new Webhook(old.secret).verify(after.raw, plain(after.headers))).toThrow('No matching')
    // Neither the answers to lists nor the logs, however talkative, have a secret in them.
    const listed = JSON.stringify(await signingSecrets.list())
    for (const text of [listed, ...started.map(({ stderr }) => stderr)]) {
      for (const { secret } of [old, made]) {
        expect(text).not.toContain(secret.slice(6))
        expect(text).not.toContain(Buffer.from(secret.slice(6), 'base64').toString('hex'))
      }
    }
  })

  test('have one secret, also when two servers start at once on an empty data folder', async () => {
    const dataDir = join(folder.path, 'at-once')
    const servers = await Promise.all([start({ dataDir }), start({ dataDir })])
    const shown = await Promise.all(servers.map(({ client }) => client.signingSecrets.current()))
    expect(shown[0]).toEqual(shown[1])
    expect((await servers[0].client.signingSecrets.list()).data).toHaveLength(1)
  })
})

function instant(fromNowMs: number): string {
  // Never on the full second: milliseconds are written only where there are some.
  const at = Date.now() + fromNowMs
  return new Date(at % 1_000 === 0 ? at + 1 : at).toISOString()
}

function plain(headers: Delivery['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

function timestampOf({ headers }: Delivery): number {
  return Number(headers['webhook-timestamp'])
}

function traceOf({ headers }: Delivery): [trace: string, parent: string] {
  const [, trace = '', parent = ''] = String(headers['traceparent']).split('-')
  return [trace, parent]
}

function signaturesOf({ headers }: Delivery): number {
  return String(headers['webhook-signature']).split(' ').length
}
