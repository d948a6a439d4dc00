import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { loadMigrations, migrate } from '../../src/db/migrate.js'
import { Account } from '../../src/pipeline/account/account.js'
import { systemClock } from '../../src/platform/clock.js'
import { administer, databaseUrl } from '../kit/global-postgres.js'
import { jobAt, lease, say, targetRow } from '../kit/hosts.js'
import { putRuns } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

describe('the hosts of a tenant', () => {
  test('are those that its live jobs call, and those with limits, page by page', async () => {
    const node = await house().node()
    for (const host of ['b.test', 'a.test', 'a.test:8080', 'c.test']) await jobAt(node, host)
    await jobAt(node, 'a.test', { priority: 1 })
    const gone = await jobAt(node, 'gone.test')
    await node.registry.delete(1, gone.job_id)
    await node.targets.put(1, 'HTTPS://Limited.test:443/x', { max_concurrent: 2 })
    const first = await node.targets.list(1, { limit: 3, cursor: null })
    const second = await node.targets.list(1, { limit: 3, cursor: first.next_cursor })
    expect([...first.data, ...second.data].map(({ host, jobs }) => [host, jobs])).toEqual([
      ['a.test', 2],
      ['a.test:8080', 1],
      ['b.test', 1],
      ['c.test', 1],
      ['limited.test', 0],
    ])
    expect(second.next_cursor).toBeNull()
    await expect(node.targets.get(1, 'gone.test')).rejects.toMatchObject({ code: 'target_not_found' })
    await expect(node.targets.get(1, 'a.test/b')).rejects.toMatchObject({ code: 'validation_failed' })
    const nul = Buffer.from(JSON.stringify(['\0'])).toString('base64url')
    for (const cursor of ['x', nul])
      await expect(node.targets.list(1, { limit: 3, cursor })).rejects.toMatchObject({
        code: 'invalid_cursor',
      })
  })

  test('show what runs, what waits and since when', async () => {
    const node = await house().node()
    const job = await jobAt(node, 'a.test')
    const since = (await house().now()) - 5_000
    await putRuns(house(), job, { count: 6, availableAt: since })
    await lease(node, 2)
    expect(await node.targets.get(1, 'a.test')).toMatchObject({
      ...{ jobs: 1, in_flight: 2, waiting: 4, waiting_since: utcText(since) },
      breaker: { state: 'closed', since: null },
    })
  })

  test('keep what is not given, and lose what is null; without limits the row goes', async () => {
    const node = await house().node()
    await node.targets.put(1, 'a.test', { rate_per_second: 5, max_concurrent: 2, breaker_open_seconds: 3 })
    const changed = await node.targets.put(1, 'a.test', { max_concurrent: null, burst: 7 })
    expect(changed.limits).toMatchObject({
      ...{
        rate_per_second: 5,
        burst: 7,
        max_concurrent: null,
        breaker_open_seconds: 3,
        drain_per_second: null,
      },
    })
    await node.targets.deleteLimits(1, 'a.test')
    await node.breakers.runOnce()
    expect(await targetRow(house(), 'a.test')).toBeUndefined()
    await expect(node.targets.deleteLimits(1, 'a.test')).rejects.toMatchObject({ code: 'target_not_found' })
  })
})

describe('why a run waits', () => {
  async function why(node: TestNode, job: { key: number; job_id: string }) {
    const account = new Account({ database: node.database, clock: house().clock, lateToleranceMs: 15_000 })
    const [row] = await house().query<{ due: number }>(
      'SELECT min(due) AS due FROM carillon.queue WHERE job = $1 AND holder IS NULL',
      [job.key],
    )
    await house().query('UPDATE carillon.queue SET due = $2 WHERE job = $1 AND due = $3', [
      job.key,
      Math.floor((row?.due ?? 0) / 1_000) * 1_000,
      row?.due,
    ])
    const at = utcText(Math.floor((row?.due ?? 0) / 1_000) * 1_000)
    const [listed] = await node.runs(job)
    return { ...(await account.why(1, job.job_id, at)), listed: listed?.reason }
  }

  test('its breaker is open: which host, since when, the error, and when it is tried next', async () => {
    const node = await house().node()
    const job = await jobAt(node, 'a.test')
    say(node, 'a.test', '-')
    await node.hosts.runOnce()
    await house().clock.advance(1_000)
    say(node, 'a.test', '-----')
    await node.hosts.runOnce()
    const now = await house().now()
    await house().clock.advance(3_000)
    await putRuns(house(), job)
    const { reason, summary, listed } = await why(node, job)
    const at = utcText
    expect({ reason, listed }).toEqual({ reason: 'breaker_open', listed: 'breaker_open' })
    expect(summary).toContain(`a.test since ${at(now)} (connect ECONNREFUSED)`)
    expect(summary).toContain(`let through at ${at(now + 10_000)}`)
  })

  test('its bucket is empty, or its host has as many as it may', async () => {
    const node = await house().node()
    const job = await jobAt(node, 'a.test')
    await node.targets.put(1, 'a.test', { rate_per_second: 0.5, burst: 1 })
    await house().clock.advance(3_000)
    await putRuns(house(), job, { count: 2 })
    await lease(node)
    expect(await why(node, job)).toMatchObject({
      reason: 'target_rate',
      summary: expect.stringContaining('a.test, 0.5 a second') as string,
    })
    await node.targets.put(1, 'a.test', { rate_per_second: null, max_concurrent: 1 })
    expect(await why(node, job)).toMatchObject({
      reason: 'target_concurrency',
      summary: expect.stringContaining('a.test, 1 at once') as string,
    })
  })
})

test('jobs that were there before lanes had hosts move to the lanes that new ones get', async () => {
  const name = `carillon_lanes_${randomBytes(6).toString('hex')}`
  await administer(inject('postgresUrl'), `CREATE DATABASE ${name}`)
  const client = new pg.Client({ connectionString: databaseUrl(inject('postgresUrl'), name) })
  await client.connect()
  try {
    const all = loadMigrations()
    await migrate(
      client,
      systemClock,
      all.slice(
        0,
        all.findIndex((migration) => migration.name === 'targets'),
      ),
    )
    await client.query("INSERT INTO carillon.routes (tenant, kind) VALUES (1, 'http'), (1, 'command')")
    const urls = [
      'https://API.Example.com/x?y=http://z/',
      'http://api.example.com:80?q',
      'https://api.example.com:8443/a',
      'http://[::1]:9000/',
      'https://api.example.com:80/',
    ]
    for (const [at, url] of urls.entries()) {
      await client.query(
        `INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
         VALUES (gen_random_uuid(), 1, 0, $1, $2, false, 1, 0, 'x')`,
        [`job ${at}`, JSON.stringify({ priority: 7, target: { type: 'http', url } })],
      )
    }
    await client.query(
      `INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
       VALUES (gen_random_uuid(), 1, 0, 'command', '{"target": {"type": "command"}}', false, 2, 0, 'x')`,
    )
    await migrate(client, systemClock, all)
    const { rows } = await client.query<{ name: string; kind: string; priority: number }>(
      'SELECT r.name, r.kind, r.priority FROM carillon.jobs j JOIN carillon.routes r USING (route) ORDER BY j.job',
    )
    expect(rows).toEqual([
      ...urls.map((url) => ({ name: new URL(url).host, kind: 'http', priority: 7 })),
      { name: '', kind: 'command', priority: 5 },
    ])
  } finally {
    await client.end()
    await administer(inject('postgresUrl'), `DROP DATABASE ${name} WITH (FORCE)`)
  }
})
