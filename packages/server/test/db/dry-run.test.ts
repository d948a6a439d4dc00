import type { JobDryRun } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { utcText } from '../../src/time/iso-text.js'
import { openApi } from '../kit/api-house.js'
import { ApiServer } from '../kit/api-server.js'
import { Tenant } from '../kit/tenants.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const daily = { name: 'report', schedule: '30 2 * * *', timezone: 'Europe/Madrid' }

/** How many rows each table has that anything could be written to, and where the cursors stand. */
async function everything(): Promise<unknown> {
  const tables = await house().query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'carillon' AND tablename NOT IN ('incarnations', 'partitions', 'counted') ORDER BY 1`,
  )
  const counted: Record<string, unknown> = {}
  for (const { name } of tables) {
    const rows = `SELECT coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') AS content FROM carillon.${name} t`
    counted[name] = (await house().query(rows))[0]
  }
  return counted
}

async function setUp() {
  const node = await house().node()
  const api = await openApi(house(), node, false)
  const ask: typeof api.ask = (...call) => api.ask(...call)
  return {
    node,
    create: (body: object) => ask('POST', '/jobs?dry_run=true', { body }),
    edit: (id: string, body: object) => ask('PATCH', `/jobs/${id}?dry_run=true`, { body }),
    really: (body: object) => ask('POST', '/jobs', { body }),
    ask,
  }
}

describe('a dry run of a creation', () => {
  test('answers the definition with its defaults and the first ticks, and writes nothing at all', async () => {
    const { create } = await setUp()
    const before = await everything()
    const { status, body } = await create({ ...daily, target: { type: 'http', url: 'https://a.test/x' } })
    expect(status).toBe(200)
    const tried = body as unknown as JobDryRun
    expect(tried).toMatchObject({
      version: 1,
      changed: [],
      description: expect.stringMatching(/02:30/) as string,
    })
    expect(tried.definition).toMatchObject({ ...daily, max_retries: 3, missed_window: 'RUN_ONCE' })
    expect(tried.definition).not.toHaveProperty('anchor')
    expect(tried.ticks).toHaveLength(10)
    expect(tried.ticks[0]?.local).toMatch(/T02:30:00/)
    expect(await everything()).toEqual(before)
  })

  test('says what the real one would, field by field', async () => {
    const { create, really } = await setUp()
    expect((await really(daily)).status).toBe(201)
    const past = utcText((await house().now()) - 7_200_000)
    for (const [wrong, code, pointer] of [
      [{}, 'job_name_taken', '/name'],
      [{ name: 'x', schedule: '99 * * * *' }, 'invalid_schedule', '/schedule'],
      [{ name: 'x', timezone: 'Mars/Base' }, 'invalid_timezone', '/timezone'],
      [{ name: 'x', schedule: past }, 'schedule_in_past', '/schedule'],
      [{ name: 'x', exclude: ['nowhere'] }, 'invalid_calendar', '/exclude/0'],
      [{ name: 'x', max_retries: -1 }, 'validation_failed', '/max_retries'],
      [{ name: 'x', max_concurrent: 2 }, 'validation_failed', '/max_concurrent'],
      [{ name: 'x', target: { type: 'http', url: 'ftp://a' } }, 'invalid_target', '/target/url'],
      [
        { name: 'x', idempotency_key_template: '{{nothing}}' },
        'invalid_template',
        '/idempotency_key_template',
      ],
    ] as const) {
      const body = { ...daily, ...wrong }
      const [tried, done] = [await create(body), await really(body)]
      expect(tried.body, code).toMatchObject({ code: done.body['code'] })
      expect(tried.status, code).toBe(done.status)
      expect((tried.body['errors'] as { pointer: string }[])[0]?.pointer, code).toBe(pointer)
    }
  })

  test('warns where no worker would run it', async () => {
    const { create } = await setUp()
    const { warnings } = (await create(daily)).body as unknown as JobDryRun
    expect(warnings).toMatchObject([{ code: 'no_worker_for_task' }])
  })

  test('says that the quota is reached, counts anew what has ended, and takes no place and no turn', async () => {
    const node = await house().node()
    const server = ApiServer.start(house(), node, { quota: { maxJobs: 1, createPerSecond: 1 } })
    const { registry } = server
    for (let turn = 0; turn < 3; turn++) await registry.tryCreate(1, daily)
    expect((await server.create({ schedule: utcText((await house().now()) + 2_000) })).status).toBe(201)
    await expect(registry.tryCreate(1, daily)).rejects.toMatchObject({ code: 'job_quota_exceeded' })
    await house().clock.advance(2_000)
    await node.beat()
    await node.firing.runOnce()
    // The counter still has the job that ended by itself.
    expect(await registry.tryCreate(1, daily)).toMatchObject({ version: 1 })
    expect((await server.create()).status).toBe(201)
    await expect(registry.tryCreate(1, daily)).rejects.toMatchObject({ code: 'job_quota_exceeded' })
  })

  test('looks at the jobs and terms of its own tenant alone', async () => {
    const { node } = await setUp()
    const other = await Tenant.make(house())
    await node.registry.create(1, daily)
    expect(await node.registry.tryCreate(other.key, daily)).toMatchObject({ version: 1 })
    const command = { ...daily, target: { type: 'command' as const, shell: 'true' } }
    await expect(node.registry.tryCreate(other.key, command)).rejects.toMatchObject({
      code: 'invalid_target',
    })
  })

  test('is no creation where the query is misspelt', async () => {
    const { ask } = await setUp()
    for (const query of ['dryrun=true', 'dry_run=yes', 'dry_run='])
      expect((await ask('POST', `/jobs?${query}`, { body: daily })).status, query).toBe(422)
    expect((await ask('GET', '/jobs')).body).toMatchObject({ data: [] })
  })
})

describe('a dry run of an edit', () => {
  test('answers what would differ and the ticks from then on, and writes nothing at all', async () => {
    const { node, edit } = await setUp()
    const job = await node.register({ ...daily, max_retries: 7 })
    const before = await everything()
    const { status, body } = await edit(job.job_id, { schedule: '0 4 * * *', payload: { a: 1 } })
    expect(status).toBe(200)
    expect(body).toMatchObject({ version: 2, changed: ['payload', 'schedule'] })
    const tried = body as unknown as JobDryRun
    expect(tried.definition).toMatchObject({ schedule: '0 4 * * *', max_retries: 7, payload: { a: 1 } })
    expect(tried.ticks[0]?.local).toMatch(/T04:00:00/)
    expect(await everything()).toEqual(before)
    // And the timer is free: a real edit follows.
    expect(await node.registry.edit(1, job.job_id, { schedule: '0 4 * * *' })).toMatchObject({ version: 2 })
  })

  test('keeps the beat of an interval that was registered long ago', async () => {
    const { node } = await setUp()
    const job = await node.register({ schedule: '@every 10m' })
    await house().clock.advance(60_000)
    const tried = await node.registry.tryEdit(1, job.job_id, { max_retries: 1 })
    expect(tried.ticks[0]?.at).toBe(job.next_run_at)
  })

  test('says what the real one would', async () => {
    const { node, edit, ask } = await setUp()
    const job = await node.register(daily)
    await node.register({ ...daily, name: 'other' })
    for (const [patch, code] of [
      [{ name: 'other' }, 'job_name_taken'],
      [{ schedule: '0 9 31 2 *' }, 'schedule_never_fires'],
      [{ version: 9, max_retries: 1 }, 'job_version_conflict'],
      [{ no_such: 1 }, 'unknown_field'],
    ] as const) {
      expect((await edit(job.job_id, patch)).body, code).toMatchObject({ code })
      expect((await ask('PATCH', `/jobs/${job.job_id}`, { body: patch })).body).toMatchObject({ code })
    }
    expect((await edit('job_00000000000000000000000000', {})).body).toMatchObject({ code: 'job_not_found' })
    await node.registry.cancel(1, job.job_id)
    expect((await edit(job.job_id, { max_retries: 1 })).body).toMatchObject({ code: 'job_cancelled' })
  })

  test('that would change nothing says so', async () => {
    const { node, edit } = await setUp()
    const job = await node.register(daily)
    expect((await edit(job.job_id, { name: 'report', max_retries: null })).body).toMatchObject({
      version: 1,
      changed: [],
    })
  })

  test('needs the role that the real one needs', async () => {
    const node = await house().node()
    const api = await openApi(house(), node)
    const job = await node.register(daily)
    const viewer = { key: await api.key('viewer'), body: { max_retries: 1 } }
    expect((await api.ask('PATCH', `/jobs/${job.job_id}?dry_run=true`, viewer)).status).toBe(403)
    expect((await api.ask('POST', '/jobs?dry_run=true', { ...viewer, body: daily })).status).toBe(403)
  })
})
