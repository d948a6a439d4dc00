import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'

const page = new URL('../../../../docs/concepts/exactly-once.md', import.meta.url)

test('the example of docs/concepts/exactly-once.md does what the page says', async () => {
  const [, example] = /```js\n(export default[^]*?)```/.exec(readFileSync(page, 'utf8')) ?? []
  const folder = temporaryFolder()
  const tasks = join(folder.path, 'tasks.mjs')
  writeFileSync(tasks, example ?? '')
  const postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
  const database = new pg.Client({ connectionString: postgres.url })
  await database.connect()
  const carillon = await Carillon.up({ args: ['--tasks', tasks], env: { DATABASE_URL: postgres.url } })
  try {
    await database.query('CREATE TABLE accounts (id int, balance int, open boolean)')
    await database.query('CREATE TABLE bookings (run text, accounts int)')
    await database.query('INSERT INTO accounts VALUES (1, 10, true), (2, 20, true), (3, 30, false)')
    const job = await carillon.client.jobs.create({
      name: 'pay-interest',
      schedule: new Date(Date.now() - 1000).toISOString(),
      payload: { amount: 5 },
    })
    const run = await until('it has run', async () => {
      const [last] = await carillon.client.jobs.runs(job.job_id)
      return last?.status === 'success' && last
    })
    expect(run.result).toEqual({ accounts: 2 })
    const { rows } = await database.query('SELECT balance FROM accounts ORDER BY id')
    expect(rows).toEqual([{ balance: 15 }, { balance: 25 }, { balance: 30 }])
    expect((await database.query('SELECT * FROM bookings')).rows).toEqual([{ run: run.run_id, accounts: 2 }])
  } finally {
    await carillon.terminate()
    await database.end()
    await postgres.leave()
    folder.remove()
  }
})
