import pg from 'pg'
import { expect } from 'vitest'
import { until } from '../../support/carillon.js'
import type { House } from '../house.js'
import type { SetUp } from '../set-up.js'

/** The grants that the guide names suffice for a role that has nothing else. */
async function enqueueAsApp({ databaseUrl }: House): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  try {
    await database.query('SET SESSION AUTHORIZATION app')
    const { rows } = await database.query<{ job_id: string }>(
      `SELECT carillon.enqueue_task('send-receipt', '{"order": 42}', delay => '1 minute') AS job_id`,
    )
    expect(rows[0]?.job_id).toMatch(/^job_[0-9a-z]{26}$/)
  } finally {
    await database.end()
  }
}

export const sdkGuide: Record<string, SetUp> = {
  'docs/guides/sdk.md': {
    rules: [
      {
        of: 'carillon.jobs.iterate()',
        after: (_, output) => {
          expect(output).toContain('job_name_taken')
        },
      },
      {
        of: "signals: ['SIGTERM']",
        after: (_, output) => {
          expect(output).toContain('success { width: 200 }')
        },
      },
      {
        of: 'carillon.sync(',
        after: async ({ client }) => {
          const { data } = await client.jobs.list({ managed_by: 'billing', order: 'name' })
          expect(data.map(({ name, version }) => [name, version])).toEqual([
            ['cleanup', 1],
            ['digest:42', 1],
          ])
        },
      },
      {
        of: 'await enqueue(',
        env: ({ databaseUrl }) => ({ DATABASE_URL: databaseUrl }),
        after: async ({ client }) => {
          const registered = await until('the receipt is registered', async () => {
            const { data } = await client.jobs.list()
            return data.find(({ target }) => target.type === 'task' && target.task === 'send-receipt')
          })
          expect(registered).toMatchObject({ state: 'active', payload: { order: 42 } })
        },
      },
      {
        of: 'GRANT USAGE',
        before: ({ query }) => query('CREATE ROLE app'),
        after: enqueueAsApp,
      },
    ],
  },
}
