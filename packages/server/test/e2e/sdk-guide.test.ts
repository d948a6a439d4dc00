import { join } from 'node:path'
import { createClient } from '@carillon/sdk'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { runSnippet, snippetsOf } from './support/snippets.js'

const snippets = snippetsOf('guides/sdk.md', 'ts')
const folder = temporaryFolder()
let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>
let carillon: Carillon

beforeAll(async () => {
  postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
  carillon = await Carillon.up({ env: { DATABASE_URL: postgres.url } })
  process.env['DATABASE_URL'] = postgres.url
})
afterAll(async () => {
  delete process.env['DATABASE_URL']
  await carillon.terminate()
  await postgres.leave()
  folder.remove()
})

test('the guide has a snippet for each of its sections', () => {
  expect(snippets.map(({ title }) => title)).toEqual([
    'The client',
    'Tasks and workers',
    'Definitions in code',
    'Enqueuing inside your own transaction',
    'Tests with a clock that you turn',
  ])
})

test.each(snippets)('docs/guides/sdk.md, $title: does what it says', async (snippet) => {
  await runSnippet(snippet, carillon.url)
})

test('what the guide defines in code is there, and belongs to its owner', async () => {
  const { data } = await createClient({ url: carillon.url }).jobs.list({
    managed_by: 'billing',
    order: 'name',
  })
  expect(data.map(({ name, version }) => [name, version])).toEqual([
    ['cleanup', 1],
    ['digest:42', 1],
  ])
})

test('what the guide enqueued is registered, and the grants that it names suffice for another role', async () => {
  const client = createClient({ url: carillon.url })
  const registered = await until('the receipt is registered', async () => {
    const { data } = await client.jobs.list()
    return data.find(({ target }) => target.type === 'task' && target.task === 'send-receipt')
  })
  expect(registered).toMatchObject({ state: 'active', payload: { order: 42 } })
  const database = new pg.Client({ connectionString: postgres.url })
  await database.connect()
  try {
    await database.query('CREATE ROLE app')
    for (const { code } of snippetsOf('guides/sdk.md', 'sql')) await database.query(code)
    await database.query('SET SESSION AUTHORIZATION app')
    const call = `SELECT carillon.enqueue_task('send-receipt', '{"order": 42}', delay => '1 minute') AS job_id`
    const { rows } = await database.query<{ job_id: string }>(call)
    expect(rows[0]?.job_id).toMatch(/^job_[0-9a-z]{26}$/)
  } finally {
    await database.end()
  }
})
