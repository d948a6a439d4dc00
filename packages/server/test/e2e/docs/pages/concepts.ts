import pg from 'pg'
import { expect } from 'vitest'
import type { House } from '../house.js'
import { runThat, type SetUp, wellJob } from '../set-up.js'

/** A worker that has the task file of the page, as a reader would start one. */
async function startWorker(house: House, file: string, port: string): Promise<void> {
  const args = ['up', '--role', 'worker', '--tasks', file]
  const env = { DATABASE_URL: house.databaseUrl, CARILLON_PORT: port }
  await house.start('carillon', args, env).printed(/is ready/)
}

async function onceDue(house: House, name: string, more: object): Promise<string> {
  const schedule = new Date(Date.now() - 1_000).toISOString()
  return (await house.client.jobs.create({ name, schedule, ...more })).job_id
}

export const concepts: Record<string, SetUp> = {
  'docs/concepts/changes.md': {
    setUp: async (house) => {
      await wellJob(house, 'report', { ends_at: '2099-01-01T00:00:00Z' })
    },
    rules: [
      {
        of: 'jobs create report',
        before: async ({ client }) => {
          const { data } = await client.jobs.list({ search: 'report' })
          await client.jobs.delete(data[0]?.job_id ?? '')
        },
      },
    ],
  },
  'docs/concepts/fairness.md': {
    setUp: async ({ client }) => {
      await client.tenants.create({ name: 'checkout' })
    },
  },
  'docs/concepts/targets.md': {
    setUp: async ({ client }) => {
      const target = { type: 'http' as const, url: 'https://api.example.com/hook' }
      await client.jobs.create({ name: 'hook', schedule: '@daily', target })
    },
  },
  'docs/concepts/exactly-once.md': {
    args: ['--role', 'api', '--role', 'scheduler'],
    rules: [
      {
        of: "'pay-interest'",
        before: async ({ query }) => {
          await query(`CREATE TABLE accounts (id int, balance int, open boolean);
            CREATE TABLE bookings (run text, accounts int);
            INSERT INTO accounts VALUES (1, 10, true), (2, 20, true), (3, 30, false)`)
        },
        after: async (house) => {
          await startWorker(house, 'tasks.mjs', '0')
          const job = await onceDue(house, 'pay-interest', { payload: { amount: 5 } })
          const run = await runThat(house, job, 'success')
          expect(run.result).toEqual({ accounts: 2 })
          const database = new pg.Client({ connectionString: house.databaseUrl })
          await database.connect()
          const balances = await database.query('SELECT balance FROM accounts ORDER BY id')
          const bookings = await database.query('SELECT * FROM bookings')
          await database.end()
          expect(balances.rows).toEqual([{ balance: 15 }, { balance: 25 }, { balance: 30 }])
          expect(bookings.rows).toEqual([{ run: run.run_id, accounts: 2 }])
        },
      },
      {
        of: "ctx.once('charge'",
        file: 'effects.mjs',
        prelude: `
          const done = { charges: 0, mails: 0 }
          const payments = { charge: (amount) => ({ id: ++done.charges, receipt: amount }) }
          const mail = { send: () => { done.mails++ } }
          export default { async charge(input, ctx) {
        `,
        // The first attempt fails after its effects: the second must find them done.
        coda: `
            if (ctx.attempt === 1) throw new Error('once more')
            return { ...done, attempt: ctx.attempt }
          } }
        `,
        after: async (house) => {
          await startWorker(house, 'effects.mjs', '0')
          const retry = { max_attempts: 2, backoff: 'fixed', base_ms: 10 }
          const job = await onceDue(house, 'charge', { payload: { amount: 5 }, retry })
          const { result } = await runThat(house, job, 'success')
          expect(result).toEqual({ charges: 1, mails: 1, attempt: 2 })
        },
      },
    ],
  },
}
