import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { Alerting } from '../kit/alerting.js'
import { openApi } from '../kit/api-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function setUp() {
  const node = await house().node()
  const alerting = new Alerting(house())
  const api = await openApi(house(), node)
  const key = await api.key('operator')
  const admin = await api.key('admin')
  const job = await node.register({ schedule: '0 0 1 1 *', tags: ['billing'] })
  const ask = (method: string, path: string, body?: object) =>
    api.ask(method, path, { key, ...(body !== undefined && { body }) })
  const own = (method: string, path: string, body?: object) =>
    api.ask(method, path, { key: admin, ...(body !== undefined && { body }) })
  return { node, alerting, api, job, ask, own }
}

async function fail(alerting: Alerting, job: { key: number }): Promise<void> {
  for (let n = 0; n < 3; n++) await alerting.ended(job, { outcome: 'dead' })
  await alerting.look()
}

const dataOf = ({ body }: { body: Record<string, unknown> }) => body['data'] as Record<string, unknown>[]

describe('alerts over the API', () => {
  test('are listed, shown with who was told, silenced and resolved by hand', async () => {
    const { alerting, job, ask } = await setUp()
    await alerting.channel('webhook', 'hook')
    await fail(alerting, job)
    await alerting.tell()
    const [listed] = dataOf(await ask('GET', '/alerts?state=firing&kind=failed_in_row'))
    expect(listed).toMatchObject({
      job_id: job.job_id,
      job_name: job.name,
      state: 'firing',
      severity: 'warning',
    })
    const id = String(listed?.['alert_id'])
    expect((await ask('GET', `/alerts/${id}`)).body).toMatchObject({
      notifications: [{ channel: 'hook', event: 'firing', tries: 1, error: null, given_up_at: null }],
    })
    const until = new Date((await house().now()) + 3_600_000).toISOString()
    const made = await ask('POST', '/alert-silences', { job_id: job.job_id, until, reason: 'known' })
    expect([made.status, made.body]).toMatchObject([201, { job_name: job.name, reason: 'known' }])
    await alerting.route()
    expect(dataOf(await ask('GET', '/alerts?state=silenced'))).toMatchObject([
      { alert_id: id, silenced_by: made.body['silence_id'] },
    ])
    expect((await ask('DELETE', `/alert-silences/${String(made.body['silence_id'])}`)).status).toBe(204)
    await alerting.route()
    expect(dataOf(await ask('GET', '/alerts?state=silenced'))).toEqual([])
    const resolved = await ask('POST', `/alerts/${id}/resolve`)
    expect(resolved.body).toMatchObject({
      state: 'resolved',
      resolved_by: expect.stringMatching(/^operator-/) as string,
    })
    // By hand channels hear of it at once.
    expect(await alerting.tell()).toMatchObject([{ event: 'resolved' }])
    expect(dataOf(await ask('GET', `/alerts?job_id=${job.job_id}`))).toMatchObject([{ alert_id: id }])
  })

  test('are paged, the latest first', async () => {
    const { node, alerting, ask } = await setUp()
    for (let n = 0; n < 3; n++) await fail(alerting, await node.register({ schedule: '0 0 1 1 *' }))
    const seen: unknown[] = []
    let cursor = ''
    for (let page = 0; page < 3; page++) {
      const answer = await ask('GET', `/alerts?limit=1${cursor}`)
      seen.push(...dataOf(answer).map((alert) => alert['alert_id']))
      cursor = `&cursor=${String(answer.body['next_cursor'])}`
    }
    expect(new Set(seen).size).toBe(3)
    expect([...seen].sort().reverse()).toEqual(seen)
  })

  test('of the fleet are seen by every tenant, and closed by its own people only', async () => {
    const { api, alerting, ask } = await setUp()
    await house().query(
      "INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail) VALUES (NULL, 'no_scheduler', 'x', 's', '{}')",
    )
    const stranger = await api.tenant('stranger')
    const [seen] = dataOf(await api.ask('GET', '/alerts', { key: stranger }))
    expect(seen).toMatchObject({ scope: 'fleet', kind: 'no_scheduler' })
    const path = `/alerts/${String(seen?.['alert_id'])}/resolve`
    expect((await api.ask('POST', path, { key: stranger })).status).toBe(403)
    expect((await ask('POST', path)).body).toMatchObject({ state: 'resolved' })
    expect(await alerting.open()).toEqual([])
  })
})

describe('rules', () => {
  test('stand in place of the defaults, which are listed with them, and are checked', async () => {
    const { job, ask, api } = await setUp()
    const defaults = dataOf(await ask('GET', '/alert-rules'))
    expect(defaults).toContainEqual(
      expect.objectContaining({ rule_id: null, kind: 'failed_in_row', params: { times: 3 }, enabled: true }),
    )
    const rule = { kind: 'failed_in_row', job_id: job.job_id, params: { times: 5 }, severity: 'critical' }
    const made = await ask('POST', '/alert-rules', rule)
    expect([made.status, made.body]).toMatchObject([201, { job_name: job.name, params: { times: 5 } }])
    expect((await ask('POST', '/alert-rules', rule)).body['code']).toBe('alert_rule_taken')
    const path = `/alert-rules/${String(made.body['rule_id'])}`
    expect((await ask('PATCH', path, { enabled: false })).body).toMatchObject({
      enabled: false,
      severity: 'critical',
      params: { times: 5 },
    })
    expect((await ask('PATCH', path, { params: { times: 0 } })).status).toBe(422)
    const wrong: object[] = [
      { kind: 'nonsense' },
      { kind: 'failed_in_row', params: { tiems: 3 } },
      { kind: 'no_scheduler', job_id: job.job_id },
      { kind: 'failed_in_row', job_id: job.job_id, tag: 'x' },
      { kind: 'failed_in_row', tag: 'x', channels: ['chn_00000000000000000000000000'] },
    ]
    for (const body of wrong)
      expect([body, (await ask('POST', '/alert-rules', body)).status]).toEqual([body, 422])
    const stranger = await api.tenant('stranger')
    const refused = await api.ask('POST', '/alert-rules', { key: stranger, body: { kind: 'no_scheduler' } })
    expect(refused.status).toBe(422)
    expect((await ask('DELETE', path)).status).toBe(204)
  })
})

describe('channels', () => {
  test('never show their secrets again, nor does the audit; what is not named stays', async () => {
    const { own, ask } = await setUp()
    const secret = 'hunter2'
    const body = {
      name: 'chat',
      type: 'webhook',
      url: `https://hooks.example.com/${secret}`,
      headers: { authorization: secret },
    }
    const made = await own('POST', '/alert-channels', body)
    expect([made.status, made.body]).toMatchObject([
      201,
      { url: 'https://hooks.example.com/…', header_names: ['authorization'], last_delivery: null },
    ])
    const path = `/alert-channels/${String(made.body['channel_id'])}`
    await own('PATCH', path, { min_severity: 'critical' })
    const [row] = await house().query<{ settings: object }>('SELECT settings FROM carillon.alert_channels')
    expect(row?.settings).toEqual({ url: body.url, headers: body.headers })
    const seen = [await own('GET', '/alert-channels'), await own('GET', '/audit'), made]
    expect(JSON.stringify(seen)).not.toContain(secret)
    expect((await ask('POST', '/alert-channels', body)).status).toBe(403)
    expect((await own('POST', '/alert-channels', body)).body['code']).toBe('alert_channel_name_taken')
  })

  test('are refused where they could never be sent to', async () => {
    const { own } = await setUp()
    const wrong: [object, string][] = [
      [{ name: 'a', type: 'webhook' }, '/url'],
      [{ name: 'a', type: 'webhook', url: 'http://169.254.169.254/latest' }, '/url'],
      [{ name: 'a', type: 'slack', url: 'ftp://example.com/x' }, '/url'],
      [{ name: 'a', type: 'webhook', url: 'https://example.com/x', smtp_host: 'm' }, '/smtp_host'],
      [{ name: 'a', type: 'email', smtp_host: 'm.example.com', from: 'a@b.c' }, '/to'],
      [
        { name: 'a', type: 'email', smtp_host: 'm.example.com', from: 'a@b.c', to: ['x\r\nBcc: y@z'] },
        '/to/0',
      ],
    ]
    for (const [body, pointer] of wrong) {
      const answer = await own('POST', '/alert-channels', body)
      const errors = answer.body['errors'] as { pointer: string }[]
      expect([body, answer.status, errors.map((error) => error.pointer)]).toEqual([body, 422, [pointer]])
    }
  })

  test('do not show what was stored for one place to another: it is given again, or nothing changes', async () => {
    const { own } = await setUp()
    const hook = await own('POST', '/alert-channels', {
      ...{ name: 'hook', type: 'webhook', url: 'https://example.com/x', headers: { authorization: 's' } },
    })
    const mail = await own('POST', '/alert-channels', {
      ...{ name: 'mail', type: 'email', smtp_host: 'm.example.com', from: 'a@b.c', to: ['d@e.f'] },
      ...{ smtp_user: 'ann', smtp_password: 's' },
    })
    const change = (of: typeof hook, patch: object) =>
      own('PATCH', `/alert-channels/${String(of.body['channel_id'])}`, patch)
    const refused = async (of: typeof hook, patch: object) => {
      const { status, body } = await change(of, patch)
      return [status, (body['errors'] as { pointer: string }[]).map(({ pointer }) => pointer)]
    }
    expect(await refused(hook, { url: 'https://evil.example/x' })).toEqual([422, ['/headers']])
    for (const patch of [{ smtp_host: 'evil.example' }, { smtp_port: 26 }, { smtp_tls: 'none' }])
      expect(await refused(mail, patch)).toEqual([422, ['/smtp_password']])
    const moved = { url: 'https://other.example/x', headers: {} }
    expect((await change(hook, moved)).body).toMatchObject({ header_names: [] })
    expect((await change(hook, { url: 'https://third.example/x' })).status).toBe(200)
    expect((await change(mail, { smtp_host: 'n.example.com', smtp_password: 't' })).status).toBe(200)
    expect((await change(mail, { smtp_host: 'n.example.com', from: 'x@y.z' })).status).toBe(200)
  })

  test('that are deleted leave no rule without anybody to tell, and nothing that says they fail', async () => {
    const { alerting, job, own } = await setUp()
    const made = await own('POST', '/alert-channels', {
      name: 'a',
      type: 'slack',
      url: 'https://example.com/x',
    })
    const id = String(made.body['channel_id'])
    await own('POST', '/alert-rules', { kind: 'failed_in_row', channels: [id] })
    await fail(alerting, job)
    await alerting.channel('webhook', 'other')
    expect(await alerting.tell()).toHaveLength(1)
    await house().query(
      `INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail)
       SELECT 1, 'channel_failing', 'channel_failing:' || channel, 's', '{}' FROM carillon.alert_channels WHERE name = 'a'`,
    )
    expect((await own('DELETE', `/alert-channels/${id}`)).status).toBe(204)
    expect(await alerting.open('channel_failing')).toEqual([])
    expect(await house().query('SELECT channels FROM carillon.alert_rules')).toEqual([{ channels: null }])
    expect(await alerting.tell()).toMatchObject([{ kind: 'failed_in_row', event: 'firing' }])
  })

  test('that fail are well again when a test says so', async () => {
    const { alerting, own } = await setUp()
    const target = createServer((_request, response) => response.end())
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
    const { port } = target.address() as AddressInfo
    const made = await own('POST', '/alert-channels', {
      name: 'a',
      type: 'slack',
      url: `http://127.0.0.1:${port}/`,
    })
    await house().query(
      `INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail)
       SELECT 1, 'channel_failing', 'channel_failing:' || channel, 's', '{}' FROM carillon.alert_channels`,
    )
    await house().query('UPDATE carillon.alert_channels SET failures = 7')
    const path = `/alert-channels/${String(made.body['channel_id'])}/test`
    expect((await own('POST', path)).body).toMatchObject({ ok: true })
    expect(await alerting.open('channel_failing')).toEqual([])
    expect(await house().query('SELECT failures FROM carillon.alert_channels')).toEqual([{ failures: 0 }])
    target.closeAllConnections()
    target.close()
  })

  test('are changed also where open alerts cannot be decided about anew, or only at the second try', async () => {
    const { alerting, job, own } = await setUp()
    await fail(alerting, job)
    await house().query(
      `CREATE FUNCTION carillon_test.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    )
    await house().query(
      'CREATE TRIGGER refuse BEFORE UPDATE ON carillon.alerts FOR EACH ROW EXECUTE FUNCTION carillon_test.refuse()',
    )
    const body = { name: 'a', type: 'slack', url: 'https://example.com/x' }
    expect((await own('POST', '/alert-channels', body)).status).toBe(201)
    await house().query('CREATE SEQUENCE carillon_test.times')
    await house().query('GRANT ALL ON SEQUENCE carillon_test.times TO PUBLIC')
    await house().query(
      `CREATE OR REPLACE FUNCTION carillon_test.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
       BEGIN
         IF nextval('carillon_test.times') = 1 THEN RAISE 'no' USING ERRCODE = '40P01'; END IF;
         RETURN NEW;
       END $$`,
    )
    expect((await own('POST', '/alert-channels', { ...body, name: 'b' })).status).toBe(201)
    expect(await alerting.tell()).toHaveLength(2)
    await house().query('DROP FUNCTION carillon_test.refuse() CASCADE')
    await house().query('DROP SEQUENCE carillon_test.times')
  })

  test('that are new are told of what goes on already', async () => {
    const { alerting, job, own } = await setUp()
    await fail(alerting, job)
    expect(await alerting.tell()).toEqual([])
    await own('POST', '/alert-channels', { name: 'late', type: 'webhook', url: 'https://example.com/x' })
    expect(await alerting.tell()).toMatchObject([{ event: 'firing' }])
  })

  test('can be tested, and say what came of it', async () => {
    const { own } = await setUp()
    const made = await own('POST', '/alert-channels', {
      name: 'nobody',
      type: 'webhook',
      url: 'http://127.0.0.1:9/secret',
    })
    const tested = await own('POST', `/alert-channels/${String(made.body['channel_id'])}/test`)
    expect(tested.body).toMatchObject({ ok: false, error: expect.stringContaining('127.0.0.1:9') as string })
    expect(dataOf(await own('GET', '/alert-channels'))).toMatchObject([{ last_delivery: { ok: false } }])
  })
})

test('what a job expects is kept with it, shown, changed and taken away', async () => {
  const { ask } = await setUp()
  const body = {
    name: 'expecting',
    schedule: '@daily',
    target: { type: 'task', task: 'task' },
    expect: { start_within_seconds: 30 },
  }
  const made = await ask('POST', '/jobs', body)
  expect(made.body['expect']).toEqual({ start_within_seconds: 30 })
  const path = `/jobs/${String(made.body['job_id'])}`
  const changed = await ask('PATCH', path, { expect: { finish_within_seconds: 60 } })
  expect(changed.body['expect']).toEqual({ finish_within_seconds: 60 })
  expect((await ask('PATCH', path, { expect: null })).body['expect']).toBeNull()
  expect((await ask('POST', '/jobs', { ...body, name: 'other', expect: {} })).status).toBe(422)
  expect((await ask('GET', path)).body['expect']).toBeNull()
})
