import { type BulkAnswer, CarillonError, type Run } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { Idempotency } from '../../src/pipeline/idempotency.js'
import { ApiServer, jobInput, turnOf } from '../kit/api-server.js'
import { Gate } from '../kit/gate.js'
import { type Fate, PgProxy, type Seen } from '../kit/pg-proxy.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

async function server(): Promise<ApiServer> {
  return ApiServer.start(house(), await house().node())
}

/** A server whose connections are cut where `fate` says. */
async function cutServer(fate: (seen: Seen) => Fate): Promise<ApiServer> {
  const node = await house().node()
  const proxy = await PgProxy.listen(house().database.url, fate)
  house().onEmpty(() => proxy.close())
  return ApiServer.start(house(), node, { url: proxy.url })
}

async function count(table: 'jobs' | 'queue' | 'idempotency_keys'): Promise<number> {
  const rows = {
    jobs: await house().query('SELECT FROM carillon.jobs'),
    queue: await house().query('SELECT FROM carillon.queue'),
    idempotency_keys: await house().query('SELECT FROM carillon.idempotency_keys'),
  }
  return rows[table].length
}

describe('a call that is repeated', () => {
  test('has the answer of the first, to the letter, and is not done again', async () => {
    const api = await server()
    const input = jobInput({ payload: { text: 'ä"\\ \u{1f514}' } })
    const first = await api.create(input, 'key')
    const second = await api.create(input, 'key')
    expect(first.status).toBe(201)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.text).toBe(first.text)
    expect(second).toMatchObject({ status: 201, headers: { location: first.headers['location'] } })
    expect([first.headers['etag'], second.headers['etag']]).toEqual(['"1"', '"1"'])
    expect(first.headers['location']).toBe(`/api/v1/jobs/${first.body.job_id}`)
    expect(await api.registry.get(1, first.body.job_id)).toEqual(first.body)
    expect(await count('jobs')).toBe(1)
  })

  test.each([
    ['nobody serves it', {}, ['no_worker_for_task']],
    [
      'nobody serves it, and its keys are all the same',
      { idempotency_key_template: '{{job_id}}' },
      ['no_worker_for_task', 'template_without_time'],
    ],
  ])('has the warnings of the first: %s', async (_what, more, codes) => {
    const api = await server()
    const input = jobInput({ target: { type: 'task', task: 'unheard-of' }, ...more })
    const first = await api.create(input, 'key')
    expect(first.body.warnings.map(({ code }) => code)).toEqual(codes)
    expect(await api.registry.get(1, first.body.job_id)).toEqual(first.body)
    expect((await api.create(input, 'key')).text).toBe(first.text)
  })

  test('is answered also when the job could not be created any more: its instant has passed', async () => {
    const api = await server()
    const input = jobInput({ schedule: utcText((await house().now()) + 60_000) })
    const first = await api.create(input, 'key')
    await house().clock.advance(2 * 3_600_000)
    expect((await api.create(input)).body.code).toBe('schedule_in_past')
    expect(await api.create(input, 'key')).toMatchObject({ status: 201, text: first.text })
  })

  test('with another body or path is refused', async () => {
    const api = await server()
    const input = jobInput()
    const { body } = await api.create(input, 'key')
    for (const other of [
      await api.create({ ...input, payload: 2 }, 'key'),
      await api.post('/jobs/bulk', { jobs: [input] }, 'key'),
      await api.post(`/jobs/${body.job_id}/trigger`, {}, 'key'),
    ]) {
      expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
    }
    expect(await count('jobs')).toBe(1)
  })

  test('of another tenant is none of mine', async () => {
    const api = await server()
    await house().query(
      "INSERT INTO carillon.tenants (tenant, name) VALUES (2, 'two') ON CONFLICT DO NOTHING",
    )
    const call = { key: 'shared', request: Buffer.from('same') }
    const [mine, theirs] = [
      await api.registry.createOnce(1, jobInput({ name: 'shared' }), call),
      await api.registry.createOnce(2, jobInput({ name: 'shared' }), call),
    ]
    expect([mine.replayed, theirs.replayed]).toEqual([false, false])
    expect(await count('jobs')).toBe(2)
  })

  test('triggers one run', async () => {
    const api = await server()
    const { body } = await api.create()
    const first = await api.post<Run>(`/jobs/${body.job_id}/trigger`, {}, 'now')
    const second = await api.post<Run>(`/jobs/${body.job_id}/trigger`, {}, 'now')
    expect([first.status, second.status]).toEqual([202, 202])
    expect(second.text).toBe(first.text)
    expect(await count('queue')).toBe(1)
  })

  test('creates many once, and those that name a calendar', async () => {
    const api = await server()
    await house().query(
      `INSERT INTO carillon.calendars (tenant, name, definition) VALUES (1, 'holidays', '{"dates": ["2030-01-01"]}')
       ON CONFLICT DO NOTHING`,
    )
    const jobs = [jobInput(), jobInput({ exclude: ['holidays'] }), jobInput({ schedule: 'never' })]
    const first = await api.post<BulkAnswer>('/jobs/bulk', { jobs }, 'many')
    const second = await api.post<BulkAnswer>('/jobs/bulk', { jobs }, 'many')
    expect(first.body).toMatchObject({ created: 2, failed: 1 })
    expect(second.text).toBe(first.text)
    const input = jobInput({ exclude: ['holidays'] })
    const one = await api.create(input, 'one')
    expect((await api.create(input, 'one')).text).toBe(one.text)
    expect(await count('jobs')).toBe(3)
  })
})

describe('of an answer that refuses', () => {
  test('what was decided by the state of things is kept', async () => {
    const api = await server()
    await api.create({ name: 'taken' })
    const input = jobInput({ name: 'taken' })
    const first = await api.create(input, 'key')
    expect(first).toMatchObject({ status: 409, body: { code: 'job_name_taken' } })
    const second = await api.create(input, 'key')
    expect(second.text).toBe(first.text)
    expect(second.headers).toMatchObject({
      'idempotent-replayed': 'true',
      'content-type': 'application/problem+json',
    })
    const absent = `/jobs/job_${'0'.repeat(26)}/trigger`
    const missing = await api.post(absent, {}, 'missing')
    expect(missing.status).toBe(404)
    expect((await api.post(absent, {}, 'missing')).headers['idempotent-replayed']).toBe('true')
  })

  test('what was wrong with the request is not kept: the key is free', async () => {
    const api = await server()
    expect((await api.create({ name: 'a', schedule: 'never' }, 'key')).status).toBe(422)
    expect((await api.post('/jobs', { name: 'a' }, 'key')).status).toBe(422)
    expect((await api.post('/jobs/bulk', { jobs: [{}], atomic: true }, 'key')).status).toBe(422)
    expect((await api.create({ name: 'a' }, 'key')).status).toBe(201)
  })

  test('a quota is not kept', async () => {
    const node = await house().node()
    const api = ApiServer.start(house(), node, { quota: { maxJobs: 1, createPerSecond: 0 } })
    const { body } = await api.create()
    const input = jobInput()
    expect((await api.create(input, 'key')).status).toBe(429)
    await api.registry.delete(1, body.job_id)
    expect((await api.create(input, 'key')).status).toBe(201)
  })
})

describe('calls with one key at the same time', () => {
  test('of two processes have one effect, and each is answered with it or told to wait', async () => {
    const node = await house().node()
    const servers = [ApiServer.start(house(), node), ApiServer.start(house(), node)]
    for (let round = 0; round < 10; round++) {
      const input = jobInput()
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, at) => turnOf(servers, at).create(input, `round-${round}`)),
      )
      const created = answers.filter((answer) => answer.status === 201)
      expect(created.length).toBeGreaterThan(0)
      expect(new Set(created.map((answer) => answer.text)).size).toBe(1)
      for (const answer of answers) {
        if (answer.status !== 201) expect(answer.body.code).toBe('idempotency_key_in_use')
      }
    }
    expect(await count('jobs')).toBe(10)
  })

  test.each(['its own', 'another'])(
    'are told so by %s process while the first is being worked on',
    async (whose) => {
      const node = await house().node()
      const first = ApiServer.start(house(), node)
      const second = whose === 'another' ? ApiServer.start(house(), node) : first
      const { body } = await first.create()
      const input = jobInput()
      const gate = await Gate.closeBefore(house(), 'INSERT', 'timers')
      const created = first.create(input, 'create')
      await house().lockWaits(1)
      expect(await second.create(input, 'create')).toMatchObject({
        status: 409,
        body: { code: 'idempotency_key_in_use' },
        headers: { 'retry-after': '1' },
      })
      await gate.open()
      expect((await created).status).toBe(201)
      const queueGate = await Gate.closeBefore(house(), 'INSERT', 'queue')
      const triggered = first.post(`/jobs/${body.job_id}/trigger`, {}, 'trigger')
      await house().lockWaits(1)
      const again = await second.post(`/jobs/${body.job_id}/trigger`, {}, 'trigger')
      expect(again.body.code).toBe('idempotency_key_in_use')
      await queueGate.open()
      expect((await triggered).status).toBe(202)
      expect(await count('queue')).toBe(1)
    },
  )

  test('that another process keeps between our look and our insert are undone here, and have its answer', async () => {
    const node = await house().node()
    const ours = new Idempotency(node.database)
    const theirs = new Idempotency(house().database.database)
    const call = { key: 'raced', request: Buffer.from('same') }
    const answer = { status: 200, body: '"theirs"', location: null }
    let tries = 0
    const done = await ours.once(1, call, async (inside) => {
      tries += 1
      await node.registry.trigger(1, (await node.register()).job_id, inside)
      await theirs.keep(1, call, answer)
      return { status: 200, body: '"ours"', location: null }
    })
    expect(done).toEqual({ answer, replayed: true })
    expect(tries).toBe(1)
    expect(await count('queue')).toBe(0)
  })
})

describe('a connection that is cut', () => {
  /** Cuts the first statement that has this in its text. */
  const once = (text: RegExp, fate: Fate) => {
    let cut = false
    return (seen: Seen): Fate => {
      if (cut || !text.test(seen.text)) return 'pass'
      cut = true
      return fate
    }
  }
  const answered = { answered: () => undefined }

  test('after the effect of a folded call doubles nothing: the repetition has the answer', async () => {
    const api = await cutServer(once(/INSERT INTO carillon\.jobs/, answered))
    await house().query('INSERT INTO carillon.tenant_jobs (tenant, jobs) VALUES (1, 0)')
    const input = jobInput()
    expect(await api.create(input, 'key')).toMatchObject({
      status: 503,
      body: { code: 'database_unavailable' },
    })
    expect(await count('jobs')).toBe(1)
    const again = await api.create(input, 'key')
    expect(again).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } })
    expect(await api.registry.get(1, again.body.job_id)).toEqual(again.body)
    expect(await count('jobs')).toBe(1)
  })

  test('before its effect leaves nothing: the repetition is done', async () => {
    const api = await cutServer(once(/INSERT INTO carillon\.jobs/, 'never-arrives'))
    const input = jobInput()
    expect((await api.create(input, 'key')).status).toBe(503)
    expect([await count('jobs'), await count('idempotency_keys')]).toEqual([0, 0])
    const again = await api.create(input, 'key')
    expect(again.status).toBe(201)
    expect(again.headers['idempotent-replayed']).toBeUndefined()
  })

  test.each([
    ['after the commit', answered, 1],
    ['before the commit', 'never-arrives' as const, 0],
  ])('%s of a transaction doubles nothing', async (_when, fate, runs) => {
    let armed = false
    const cut = once(/^COMMIT/, fate)
    const api = await cutServer((seen) => (armed ? cut(seen) : 'pass'))
    const { body } = await api.create()
    armed = true
    expect((await api.post(`/jobs/${body.job_id}/trigger`, {}, 'key')).status).toBe(503)
    expect(await count('queue')).toBe(runs)
    expect((await api.post(`/jobs/${body.job_id}/trigger`, {}, 'key')).status).toBe(202)
    expect(await count('queue')).toBe(1)
  })
})

test('work that is refused because of what the first call did meanwhile has the answer of the first', async () => {
  const node = await house().node()
  const once = new Idempotency(node.database)
  const call = { key: 'key', request: Buffer.from('request') }
  const first = { status: 201, body: '{}', location: null }
  const answer = await once.once(1, call, async () => {
    await new Idempotency(node.database).keep(1, call, first)
    throw new CarillonError('job_name_taken')
  })
  expect(answer).toEqual({ answer: first, replayed: true })
  const other = { ...call, key: 'other' }
  const refused = once.once(1, other, () => Promise.reject(new CarillonError('job_name_taken')))
  await expect(refused).rejects.toMatchObject({ code: 'job_name_taken' })
})

test('a key is known for a day, and forgotten by the upkeep after it', async () => {
  const node = await house().node()
  const api = ApiServer.start(house(), node)
  await api.create({}, 'key')
  await house().clock.advance(86_400_000 - 1)
  await node.beat()
  await node.upkeep.runOnce()
  expect(await count('idempotency_keys')).toBe(1)
  await house().clock.advance(1)
  await node.upkeep.runOnce()
  expect(await count('idempotency_keys')).toBe(0)
})

test.each(['', 'x'.repeat(256)])('a key with %# characters too few or too many is refused', async (key) => {
  const api = await server()
  const answer = await api.create({}, key)
  expect(answer).toMatchObject({
    status: 422,
    body: { code: 'validation_failed', errors: [{ pointer: 'header:idempotency-key' }] },
  })
})
