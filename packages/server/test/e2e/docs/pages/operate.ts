import { expect } from 'vitest'
import { until } from '../../support/carillon.js'
import { Sink } from '../../support/sink.js'
import type { House } from '../house.js'
import { runThat, type SetUp, wellJob } from '../set-up.js'

/** A tick that came while the run before it went on, and that run has ended. */
async function overlappedTick(house: House): Promise<string> {
  const sink = await Sink.listen()
  let release: (status: number) => void = () => undefined
  sink.answer = () => new Promise<number>((resolve) => (release = resolve))
  try {
    const target = { type: 'http' as const, url: sink.url }
    const job = await house.client.jobs.create({ name: 'nightly-report', schedule: '* * * * * *', target })
    const skipped = await until('a tick is skipped', async () =>
      (await house.client.jobs.runs(job.job_id)).find(({ reason }) => reason === 'overlap'),
    )
    await house.client.jobs.pause(job.job_id)
    release(200)
    await runThat(house, job.job_id, 'success')
    return skipped.scheduled_at
  } finally {
    await sink.close()
  }
}

async function deadLetters(house: House): Promise<void> {
  const { client, placeholders } = house
  const target = { type: 'http' as const, url: `${house.url}/nowhere` }
  const job = await client.jobs.create({ name: 'lost', schedule: '@daily', target, overlap_policy: 'ALLOW' })
  for (let made = 0; made < 3; made++) await client.jobs.trigger(job.job_id)
  const [group] = await until('they are dead', async () => {
    const groups = await client.deadLetters.groups()
    return groups[0]?.count === 3 && groups
  })
  placeholders.set('RUN', (await client.deadLetters.list()).data[0]?.run_id ?? '')
  placeholders.set('F', group?.fingerprint ?? '')
}

export const operate: Record<string, SetUp> = {
  'docs/operate/dead-letters.md': {
    setUp: deadLetters,
    rules: [{ of: 'redrive --fingerprint F', typed: 'y\n' }],
  },
  'docs/operate/verify.md': {
    env: { CARILLON_MIN_INTERVAL_SECONDS: '1' },
    setUp: async (house) => {
      house.placeholders.set('2026-10-25T02:30', await overlappedTick(house))
    },
  },
  // Without a server: the embedded Postgres of the reader's folder is its own.
  'docs/operate/seeding.md': { byThePage: true },
  'docs/operate/why-didnt-it-run.md': {
    setUp: async (house) => {
      house.placeholders.set('JOB', (await wellJob(house, 'nightly')).job_id)
    },
  },
  'docs/operate/tenants-and-keys.md': {
    setUp: (house) => {
      house.placeholders.set('postgres://…', house.databaseUrl)
    },
    rules: [
      {
        of: 'keys first root',
        after: (_, output) => {
          expect(output).toMatch(/car_[\w-]{43}/)
        },
      },
      {
        // As on a server where nobody has made them: they are there, so they step aside until it is undone.
        of: 'CREATE ROLE carillon_fleet',
        prelude: `BEGIN;
          ALTER ROLE carillon_fleet RENAME TO carillon_fleet_there;
          ALTER ROLE carillon_api RENAME TO carillon_api_there;
          CREATE ROLE the_login_of_database_url;`,
        coda: 'ROLLBACK',
      },
    ],
  },
}
