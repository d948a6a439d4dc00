import { describe, expect, test } from 'vitest'
import { AuditLog } from '../../src/pipeline/access/audit-log.js'
import { type ApiCall, changes, notAudited } from '../kit/api-calls.js'
import { openApi } from '../kit/api-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Entry {
  actor: string
  actor_key: string | null
  action: string
  subject: string
  detail: unknown
  request_id: string | null
}

const entries = () =>
  house().query<Entry>(
    `SELECT actor, actor_key, action, subject, detail, request_id FROM carillon.audit_log
     WHERE action <> 'createKey' OR request_id <> 'database' ORDER BY entry`,
  )

async function open(required = true) {
  const node = await house().node()
  const api = await openApi(house(), node, required)
  const [admin, viewer] = required
    ? [await api.key('admin'), await api.key('viewer')]
    : [undefined, undefined]
  const send = ({ method, path, body }: ApiCall, key: string | undefined) =>
    api.ask(method, path, { ...(key !== undefined && { key }), ...(body !== undefined && { body }) })
  return { world: { house: house(), node }, api, admin, viewer, send }
}

test('every operation that changes something is tried here', async () => {
  const { api } = await open()
  const { paths } = await api.document()
  const changing = Object.values(paths).flatMap((methods) =>
    Object.entries(methods).flatMap(([method, { operationId }]) => (method === 'get' ? [] : [operationId])),
  )
  // They ask and change nothing.
  expect(changing.sort()).toEqual([...Object.keys(changes), ...notAudited].sort())
})

describe.each(Object.entries(changes))('%s', (operation, arrange) => {
  test('leaves one entry when it is done, and none when it is refused', async () => {
    const { world, admin, viewer, send } = await open()
    const call = await arrange(world)
    expect((await send(call, viewer)).status).toBe(403)
    if (call.missing !== undefined) {
      expect((await send({ ...call, path: call.missing }, admin)).status).toBe(404)
    }
    if (call.body !== undefined) {
      expect((await send({ ...call, body: { odd: 1 } }, admin)).status).toBeGreaterThanOrEqual(400)
    }
    expect(await entries()).toEqual([])
    const answer = await send(call, admin)
    expect([answer.status, answer.body]).toEqual([expect.toBeOneOf([200, 201, 202, 204]), expect.anything()])
    const [entry, ...more] = await entries()
    expect(more).toEqual([])
    expect(entry).toMatchObject({ action: operation, actor: expect.stringMatching(/^admin-/) as string })
    expect(entry?.subject).not.toBe('')
    expect(entry?.actor_key).not.toBeNull()
    expect(entry?.request_id).toMatch(/^req_/)
    expect(JSON.stringify(entry)).not.toMatch(/hunter2|car_[\w-]{43}|whsec_/)
  })
})

test('where no key is needed, the caller is local', async () => {
  const { world, send } = await open(false)
  const arrange = changes['createJob']
  if (arrange === undefined) throw new Error('createJob is a change.')
  await send(await arrange(world), undefined)
  expect(await entries()).toMatchObject([{ actor: 'local', actor_key: null, action: 'createJob' }])
})

test('a change that fails at its very end is not noted: both or neither', async () => {
  const { world, admin, send } = await open()
  const call = await changes['pauseJob']?.(world)
  await house().query(`CREATE FUNCTION carillon_test.fail() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
  await house().query(`CREATE TRIGGER fail BEFORE UPDATE ON carillon.jobs FOR EACH ROW
    EXECUTE FUNCTION carillon_test.fail()`)
  try {
    expect((await send(call as ApiCall, admin)).status).toBe(500)
  } finally {
    await house().query('DROP FUNCTION carillon_test.fail() CASCADE')
  }
  expect(await entries()).toEqual([])
})

test('secrets of a definition are left out, and what changed is told from and to', async () => {
  const { world, admin, send } = await open()
  const target = {
    type: 'http',
    url: 'https://user:pass@api.example.com/hook?token=hunter2',
    headers: { Authorization: 'Bearer hunter2' },
    body: { key: 'hunter2' },
  }
  const { job_id: id } = await world.node.register({ schedule: '0 0 1 1 *' })
  await send(
    {
      method: 'PATCH',
      path: `/jobs/${id}`,
      body: {
        target: { ...target, url: target.url.replace('user:pass@', '') },
        max_retries: 9,
        payload: { a: 'hunter2' },
      },
    },
    admin,
  )
  const [entry] = await entries()
  expect(entry?.detail).toMatchObject({
    version: 2,
    changed: {
      max_retries: { from: 3, to: 9 },
      payload: { from: null, to: '…' },
      target: { to: { url: 'https://api.example.com/hook', headers: { Authorization: '…' } } },
    },
  })
  expect(JSON.stringify(entry)).not.toContain('hunter2')
})

test('who had a signing secret shown is noted', async () => {
  const { api, admin, send } = await open()
  const { body } = await send({ method: 'GET', path: '/signing-secrets/current' }, admin)
  expect(await entries()).toMatchObject([
    { action: 'revealSigningSecret', subject: body['id'], detail: null },
  ])
  const { body: listed } = await api.ask('GET', '/signing-secrets', { key: admin ?? '' })
  expect(listed).toMatchObject({ data: [{ id: body['id'] }] })
  expect(await entries()).toHaveLength(1)
})

describe('GET /audit', () => {
  test('narrows by actor, action, subject and time, and goes on where a page ended', async () => {
    const { world, api, admin, send } = await open()
    for (const operation of ['createJob', 'pauseJob', 'putCalendar', 'setBrake']) {
      await send((await changes[operation]?.(world)) as ApiCall, admin)
    }
    const list = async (query: string) => {
      const { body } = await api.ask('GET', `/audit${query}`, { key: admin ?? '' })
      return body as {
        data: { action: string; subject: string; actor_key_id: string; at: string }[]
        next_cursor: string | null
      }
    }
    const ours = (found: Awaited<ReturnType<typeof list>>) =>
      found.data.map(({ action }) => action).filter((action) => action !== 'createKey')
    expect(ours(await list(''))).toEqual(['setBrake', 'putCalendar', 'pauseJob', 'createJob'])
    expect(ours(await list('?action=pauseJob'))).toEqual(['pauseJob'])
    expect(ours(await list('?subject=holidays'))).toEqual(['putCalendar'])
    expect(ours(await list('?actor=nobody'))).toEqual([])
    const [latest] = (await list('?limit=1')).data
    expect(ours(await list(`?actor=${latest?.actor_key_id}`))).toHaveLength(4)
    expect(ours(await list(`?before=${latest?.at}&action=setBrake`))).toEqual([])
    expect(ours(await list(`?after=${latest?.at}&action=setBrake`))).toEqual(['setBrake'])
    const first = await list('?limit=2')
    expect(ours(await list(`?limit=2&cursor=${first.next_cursor}`))).toEqual(['pauseJob', 'createJob'])
    expect((await api.ask('GET', '/audit?cursor=x', { key: admin ?? '' })).status).toBe(422)
    expect((await api.ask('GET', '/audit?after=yesterday', { key: admin ?? '' })).status).toBe(422)
  })

  test('goes through a bounded part of the log for one page, and tells where to go on', async () => {
    const node = await house().node()
    const noted = (action: string, count: number) =>
      house().query(
        `INSERT INTO carillon.audit_log (tenant, actor, action, subject)
         SELECT 1, 'somebody', $1, 'thing' FROM generate_series(1, $2::int)`,
        [action, count],
      )
    await noted('seldom', 1)
    await noted('often', 30)
    const log = new AuditLog(node.database, { walked: 20 })
    const first = await log.list(1, { limit: 5, cursor: null, action: 'seldom' })
    expect(first).toEqual({ data: [], next_cursor: expect.any(String) as string })
    const second = await log.list(1, { limit: 5, cursor: first.next_cursor, action: 'seldom' })
    expect(second).toMatchObject({ data: [{ action: 'seldom' }], next_cursor: null })
    const often = await log.list(1, { limit: 5, cursor: null, action: 'often' })
    expect(often.data).toHaveLength(5)
    const later = new Date((await house().now()) + 7_200_000).toISOString()
    expect(await log.list(1, { limit: 5, cursor: null, after: later })).toEqual({
      data: [],
      next_cursor: null,
    })
  })

  test('shows a tenant its own entries only', async () => {
    const { world, api, admin, send } = await open()
    await send((await changes['createJob']?.(world)) as ApiCall, admin)
    const other = await api.tenant('audit-other')
    const { body } = await api.ask('GET', '/audit', { key: other })
    expect((body['data'] as { action: string }[]).map(({ action }) => action)).toEqual(['createKey'])
  })
})
