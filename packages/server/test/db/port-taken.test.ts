import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { type RunningServer, startServer } from '../../src/main.js'
import { createTestDatabase, silentLog, type TestDatabase } from '../kit/test-database.js'

let database: TestDatabase
let running: RunningServer | null = null

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await running?.stop()
  await database.close()
})

const start = (port: string) =>
  startServer({
    config: loadConfig({ env: { DATABASE_URL: database.url, CARILLON_PORT: port } }),
    log: silentLog,
  })

const refusal = (port: string) =>
  start(port).then(
    () => '',
    (error: Error) => error.message,
  )

const incarnations = async () =>
  (await database.query<{ n: number }>('SELECT count(*)::int AS n FROM carillon.incarnations'))[0]?.n

test('a server whose port is taken joins no cluster, and says whose port it is where it knows', async () => {
  const stranger = createServer().listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  const taken = String((stranger.address() as AddressInfo).port)
  expect(await refusal(taken)).toMatch(/is taken by another process: .*\)$/)
  expect(await incarnations()).toBe(0)
  stranger.close()

  running = await start('0')
  expect((await fetch(`${running.url}/readyz`)).status).toBe(200)
  expect(await refusal(new URL(running.url ?? '').port)).toContain(
    `a Carillon with this very database runs on this machine already (pid ${process.pid})`,
  )
  expect(await incarnations()).toBe(1)
})
