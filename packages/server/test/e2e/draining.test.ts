import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CloseAnswer, LeaseAnswer, Problem } from '@carillon/contract'
import { afterAll, afterEach, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { useDatabases } from './support/databases.js'

const tasks = fileURLToPath(new URL('./support/tasks.mjs', import.meta.url))
const folder = temporaryFolder()
const databaseOf = useDatabases(folder.path)
const started: Carillon[] = []

afterEach(async () => {
  for (const carillon of started.splice(0)) await carillon.killHard()
})
afterAll(() => folder.remove())

async function asked<Body>({ url }: Carillon, path: string, body?: object) {
  const answer = await fetch(`${url}${path}`, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'Content-Type': 'application/json' },
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body }
}

test('a process that drains says so at its port until its runs are done, and answers what it is asked', async () => {
  const [begun, release] = [join(folder.path, 'begun'), join(folder.path, 'release')]
  const env = { DATABASE_URL: await databaseOf('draining'), CARILLON_DRAIN_SECONDS: '120' }
  const carillon = await Carillon.up({ args: ['--tasks', tasks], env })
  started.push(carillon)
  const now = new Date(Date.now()).toISOString()
  const target = { type: 'task' as const, task: 'hold' }
  await carillon.client.jobs.create({
    ...{ name: 'held', schedule: now, target, payload: { started: begun, until: release } },
  })
  const elsewhere = { type: 'task' as const, task: 'elsewhere' }
  const remote = await carillon.client.jobs.create({ name: 'remote', schedule: now, target: elsewhere })
  const asks = { tasks: ['elsewhere'], wait_seconds: 10 }
  const leased = await until('a worker over HTTP has a run', async () => {
    const { body } = await asked<LeaseAnswer>(carillon, '/api/v1/leases', asks)
    return body.data.length === 1 && body
  })
  await until('the run of the process has begun', () => existsSync(begun))
  expect(await (await fetch(`${carillon.url}/metrics`)).text()).toMatch(/^carillon_runs_in_flight 1$/m)

  const exit = carillon.terminate()
  const ready = await until('it is not ready', async () => {
    const answer = await asked<{ checks: object }>(carillon, '/readyz')
    return answer.status === 503 && answer
  })
  expect(ready.body.checks).toEqual({ database: { ok: true }, process: { ok: false, detail: 'draining' } })
  expect((await asked(carillon, '/healthz')).status).toBe(200)
  expect((await carillon.client.status()).reasons.map(({ code }) => code)).toContain('draining')

  // Who reads and writes is served, over connections that do not last.
  const listed = await asked<{ data: unknown[] }>(carillon, '/api/v1/jobs')
  expect([listed.status, listed.headers.get('connection'), listed.body.data.length]).toEqual([
    200,
    'close',
    2,
  ])
  // Who wants runs is sent away.
  const refused = await asked<Problem>(carillon, '/api/v1/leases', { ...asks, worker_id: leased.worker_id })
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'draining',
    '1',
  ])
  // Who has some may still say how they ended.
  const results = leased.data.map(({ run_id, fencing_token }) => ({
    run_id,
    fencing_token,
    outcome: 'success',
  }))
  const closed = await asked<CloseAnswer>(carillon, '/api/v1/leases/close', {
    ...{ worker_id: leased.worker_id, results },
  })
  expect([closed.status, closed.body.data.map(({ status }) => status)]).toEqual([200, ['closed']])
  expect((await carillon.client.jobs.runs(remote.job_id))[0]).toMatchObject({ status: 'success' })

  expect((await asked(carillon, '/readyz')).status).toBe(503)
  writeFileSync(release, '')
  expect(await exit).toBe(0)
  await expect(fetch(`${carillon.url}/healthz`)).rejects.toThrow('fetch failed')
})
