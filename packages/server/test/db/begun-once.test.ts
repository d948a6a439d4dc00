import type { Backfill, Operation } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { ApiServer } from '../kit/api-server.js'
import { Gate } from '../kit/gate.js'
import { type Fate, PgProxy, type Seen } from '../kit/pg-proxy.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-03T00:00:00Z' }

/** What runs on by itself once it was asked for. Each names the table that says how often it was begun. */
const beginnings = [
  {
    what: 'a backfill',
    table: 'replays',
    call: (jobId: string) => ({ path: `/jobs/${jobId}/backfills`, body: range }),
    other: { from: '2026-01-01T00:00:00Z', to: '2026-01-04T00:00:00Z' },
  },
  {
    what: 'an operation',
    table: 'operations',
    call: () => ({ path: '/operations', body: { action: 'pause', all: true } }),
    other: { action: 'resume', all: true },
  },
] as const

async function begun(table: 'replays' | 'operations'): Promise<number> {
  const rows = {
    replays: await house().query('SELECT FROM carillon.replays'),
    operations: await house().query('SELECT FROM carillon.operations'),
  }
  return rows[table].length
}

async function jobAt(api: ApiServer): Promise<string> {
  return (await api.create({ schedule: '0 9 * * *' })).body.job_id
}

describe.each(beginnings)('$what', ({ table, call, other }) => {
  test('is begun once under one key, and its answer is repeated to the letter by another process', async () => {
    const node = await house().node()
    const [one, two] = [ApiServer.start(house(), node), ApiServer.start(house(), node)]
    const { path, body } = call(await jobAt(one))
    const first = await one.post<Backfill | Operation>(path, body, 'key')
    expect(first.status).toBe(202)
    const second = await two.post<Backfill | Operation>(path, body, 'key')
    expect(second).toMatchObject({ status: 202, text: first.text })
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(await begun(table)).toBe(1)
    expect((await one.post(path, body, 'another key')).status).toBe(202)
    expect((await one.post(path, body)).status).toBe(202)
    expect(await begun(table)).toBe(3)
  })

  test('is refused under a key that stood for another request', async () => {
    const node = await house().node()
    const api = ApiServer.start(house(), node)
    const { path, body } = call(await jobAt(api))
    await api.post(path, body, 'key')
    expect(await api.post(path, other, 'key')).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
    expect(await begun(table)).toBe(1)
  })

  test('is refused while another process begins it, and answered by it afterwards', async () => {
    const node = await house().node()
    const [one, two] = [ApiServer.start(house(), node), ApiServer.start(house(), node)]
    const { path, body } = call(await jobAt(one))
    const gate = await Gate.closeBefore(house(), 'INSERT', table)
    const first = one.post(path, body, 'key')
    await house().lockWaits(1)
    expect(await two.post(path, body, 'key')).toMatchObject({
      status: 409,
      body: { code: 'idempotency_key_in_use' },
    })
    await gate.open()
    expect((await two.post(path, body, 'key')).text).toBe((await first).text)
    expect(await begun(table)).toBe(1)
  })

  test.each([
    ['after the commit', { answered: () => undefined }, 1],
    ['before the commit', 'never-arrives' as const, 0],
  ])('whose answer was lost %s is begun once, whoever is asked again', async (_when, fate: Fate, left) => {
    const node = await house().node()
    let [armed, cut] = [false, false]
    const proxy = await PgProxy.listen(house().database.url, (seen: Seen): Fate => {
      if (!armed || cut || !/^COMMIT/.test(seen.text)) return 'pass'
      cut = true
      return fate
    })
    house().onEmpty(() => proxy.close())
    const [one, two] = [ApiServer.start(house(), node, { url: proxy.url }), ApiServer.start(house(), node)]
    const { path, body } = call(await jobAt(one))
    armed = true
    expect((await one.post(path, body, 'key')).status).toBe(503)
    expect(await begun(table)).toBe(left)
    const again = await two.post(path, body, 'key')
    expect(again.status).toBe(202)
    expect(again.headers['idempotent-replayed']).toBe(left === 1 ? 'true' : undefined)
    expect(await begun(table)).toBe(1)
  })

  test('is counted once under a key, too, and begun under another', async () => {
    const node = await house().node()
    const api = ApiServer.start(house(), node)
    const { path, body } = call(await jobAt(api))
    const counted = await api.post(path, { ...body, dry_run: true }, 'count')
    expect(counted.status).toBe(200)
    expect(await api.post(path, { ...body, dry_run: true }, 'count')).toMatchObject({ text: counted.text })
    expect(await begun(table)).toBe(0)
    expect(await api.post(path, body, 'count')).toMatchObject({ status: 422 })
  })
})
