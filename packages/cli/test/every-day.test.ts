import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApiKey, AuditEntry, Job, JobList, Operation, Page, Run, Self, Stats, Tick } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  carillon,
  type Ended,
  jsonOf,
  newFolder,
  removeFolder,
  startServer,
  type TestServer,
  until,
} from './support/carillon.js'

/** What people do every day, each against a real server. */
let server: TestServer
let folder: string

beforeAll(async () => {
  folder = newFolder()
  const tasks = join(folder, 'tasks.mjs')
  writeFileSync(tasks, "export default { ok: () => 'fine', bad: () => { throw new Error('no way') } }\n")
  server = await startServer(['--tasks', tasks], {})
})
afterAll(async () => {
  await server.stop()
  removeFolder(folder)
})

const speak = (...args: string[]): Promise<Ended> => carillon(args, { env: { CARILLON_URL: server.url } })

async function ask<Value>(...args: string[]): Promise<Value> {
  const ended = await speak(...args, '--json')
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return jsonOf<Value>(ended)
}

describe('one job', () => {
  it('is put twice, shows its versions, and goes back to the first', async () => {
    await speak('jobs', 'put', 'report', '--schedule', '0 9 * * 1', '--task', 'ok')
    expect((await speak('jobs', 'put', 'report', '--schedule', '0 8 * * 1', '--task', 'ok')).code).toBe(0)
    expect((await speak('jobs', 'versions', 'report')).stdout).toMatch(/2 \(current\).*schedule/)
    const back = await ask<Job>('jobs', 'rollback', 'report', '1', '--yes')
    expect(back).toMatchObject({ version: 3, schedule: '0 9 * * 1' })
  })

  it('has one tick skipped and restored', async () => {
    const { data } = await ask<{ data: Tick[] }>('jobs', 'ticks', 'list', 'report')
    const due = data[1]?.due ?? ''
    expect((await speak('jobs', 'ticks', 'skip', 'report', due, '--reason', 'holiday')).stdout).toMatch(
      /skipped.*holiday/,
    )
    const { data: then } = await ask<{ data: Tick[] }>('jobs', 'ticks', 'list', 'report')
    expect(then.map(({ state }) => state).slice(0, 3)).toEqual(['planned', 'skipped', 'planned'])
    expect((await speak('jobs', 'ticks', 'restore', 'report', due)).stdout).toContain('planned')
  })

  it('has the ticks of a range counted before they are run again', async () => {
    const range = ['--from', '2026-11-01T00:00:00Z', '--to', '2026-11-16T00:00:00Z']
    const { stdout } = await speak('jobs', 'backfill', 'report', ...range, '--dry-run')
    expect(stdout).toMatch(/2 ticks would be run/)
  })

  it('fails, and is found among all runs and in the counts', async () => {
    await speak('jobs', 'create', 'broken', '--schedule', '0 0 1 1 *', '--task', 'bad', '--max-retries', '0')
    await speak('jobs', 'trigger', 'broken')
    const dead = await until(async () => {
      const { data } = await ask<Page<Run>>('runs', 'list', '--status', 'dead')
      return data[0] ?? null
    })
    expect(dead.error).toContain('no way')
    expect((await speak('runs', 'list')).stdout).toMatch(new RegExp(`broken .*${dead.run_id}`))
    expect((await speak('dlq', 'groups')).stdout).toContain('no way')
    expect(await ask<Stats>('stats')).toMatchObject({ dead_letters: 1 })
  })
})

describe('many jobs', () => {
  it('are registered at once, and each that is wrong is told', async () => {
    const file = join(folder, 'jobs.json')
    const jobs = ['a', 'b', 'c'].map((name) => ({ name, schedule: '0 3 * * *', tags: ['nightly'] }))
    writeFileSync(file, JSON.stringify([...jobs, { name: 'd', schedule: '0 25 * * *' }]))
    const { code, stdout } = await speak('jobs', 'bulk', '-f', file, '--yes')
    expect(code).toBe(1)
    expect(stdout).toMatch(/3 created, 0 skipped, 1 failed\n.*4: d: .*'25' is not an hour/)
  })

  it('are counted, paused, tagged and found by a filter', async () => {
    expect((await speak('jobs', 'pause', '--tag', 'nightly', '--dry-run')).stdout).toContain('3 jobs match')
    const paused = await ask<Operation>('jobs', 'pause', '--tag', 'nightly', '--reason', 'moving', '--yes')
    expect(paused).toMatchObject({ action: 'pause', state: 'done', done: 3, failed: 0 })
    await ask<Operation>('jobs', 'tag', '--with', 'moved', '--state', 'paused', '--yes')
    const { data } = await ask<JobList>('jobs', 'list', '--tag', 'moved', '--order', 'name')
    expect(data.map(({ name, pause_reason: reason }) => [name, reason])).toEqual([
      ['a', 'moving'],
      ['b', 'moving'],
      ['c', 'moving'],
    ])
    expect((await speak('operations', 'list')).stdout).toMatch(/tag[^\n]*done[^\n]*3\/3/)
  })
})

describe('who may do what', () => {
  it('is said by keys, and written down', async () => {
    const { stdout: key } = await speak('keys', 'create', 'reader', '--role', 'viewer')
    expect(key).toMatch(/^car_[\w-]{43}\n$/)
    const as = { CARILLON_URL: server.url, CARILLON_API_KEY: key.trim() }
    expect(jsonOf<Self>(await carillon(['keys', 'self', '--json'], { env: as }))).toMatchObject({
      role: 'viewer',
      tenant: 'default',
    })
    expect((await carillon(['keys', 'self'], { env: as })).stdout).toMatch(/Role +viewer/)
    const refused = await carillon(['jobs', 'delete', 'a', '--yes'], { env: as })
    expect(refused.stderr).toContain('forbidden')
    const { data: keys } = await ask<Page<ApiKey>>('keys', 'list')
    await speak('keys', 'revoke', keys[0]?.key_id ?? '', '--yes')
    const { data: audit } = await ask<Page<AuditEntry>>('audit', '--limit', '100')
    expect(audit.map(({ action }) => action)).toEqual(
      expect.arrayContaining([
        'createKey',
        'revokeKey',
        'startOperation',
        'skipTick',
        'rollbackJob',
        'createJobs',
      ]),
    )
  })
})
