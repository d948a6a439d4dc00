import { expect } from 'vitest'
import type { House } from '../house.js'
import { runThat, type SetUp } from '../set-up.js'

let resized = ''

/** A tick that is due: a trigger would have a key of its own. */
async function resize({ client }: House, name: string): Promise<string> {
  const schedule = new Date(Date.now() - 1_000).toISOString()
  const target = { type: 'task' as const, task: 'resize' }
  return (await client.jobs.create({ name, schedule, target, payload: { width: 200 } })).job_id
}

async function add(house: House, name: string, payload: unknown): Promise<string> {
  const target = { type: 'task' as const, task: 'add' }
  const retry = { max_attempts: 1 }
  const job = await house.client.jobs.create({ name, schedule: '@daily', target, payload, retry })
  await house.client.jobs.trigger(job.job_id)
  return job.job_id
}

export const workersOverHttp: Record<string, SetUp> = {
  'docs/guides/workers-over-http.md': {
    args: ['--role', 'api', '--role', 'scheduler'],
    setUp: async (house) => {
      resized = await resize(house, 'thumbnails')
    },
    rules: [
      {
        of: '"worker": "my laptop"',
        after: ({ placeholders }, output) => {
          const answer = JSON.parse(output) as {
            worker_id: string
            data: { run_id: string; fencing_token: number }[]
          }
          placeholders.set('node_2x5n1c0fj8q', answer.worker_id)
          placeholders.set('run_04rk…', answer.data[0]?.run_id ?? '')
          placeholders.set('1099511627812', String(answer.data[0]?.fencing_token))
        },
      },
      {
        of: '/leases/close -H',
        after: async (house, output) => {
          expect(JSON.parse(output)).toMatchObject({ data: [{ status: 'closed' }] })
          const run = await runThat(house, resized, 'success')
          expect(run.result).toEqual({ files: 3 })
        },
      },
      {
        of: 'TASKS = {"add"',
        meanwhile: async (house) => {
          const good = await add(house, 'numbers', [1, 2, 39])
          expect((await runThat(house, good, 'success')).result).toBe(42)
          const bad = await add(house, 'no numbers', 'no numbers')
          expect((await runThat(house, bad, 'dead')).error).toContain('TypeError')
        },
      },
      {
        of: "id: 'resize'",
        // The service behind the handler is the reader's own.
        prelude: `
          const outside = globalThis.fetch
          globalThis.fetch = (url, init) =>
            url === 'https://images.internal/resize' ? Promise.resolve(new Response()) : outside(url, init)
        `,
        exit: 0,
        meanwhile: async (house) => {
          const run = await runThat(house, await resize(house, 'more thumbnails'), 'success')
          expect(run.result).toEqual({ width: 200 })
        },
      },
    ],
  },
}
