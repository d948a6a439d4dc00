import { expect } from 'vitest'
import { runThat, type SetUp, triggerUntilPrinted } from '../set-up.js'

const cron = '17 * * * * root run-parts /etc/cron.hourly\n'
const jobs = 'jobs:\n  - name: from-a-file\n    schedule: "@daily"\n'

export const readme: Record<string, SetUp> = {
  'README.md': {
    byThePage: true,
    rules: [
      {
        of: 'npm start -- --tasks tasks.mjs',
        stays: true,
        meanwhile: async (_, running) => {
          await running.printed(/Tasks +send-weekly-report\n[^]*\n\n/)
        },
      },
      {
        of: 'runs list hello',
        before: async (here) => {
          const { data } = await here.client.jobs.list({ search: 'hello' })
          await runThat(here, data[0]?.job_id ?? '', 'success')
        },
        after: (_, output) => {
          expect(output).toContain('✓ success')
        },
      },
      { of: "jobs create never --schedule '0 0 30 2 *'", exit: 1 },
      {
        of: 'import crontab /etc/crontab',
        before: (here) => {
          here.placeholders.set('/etc/crontab', here.write('crontab', cron))
        },
        typed: 'y\n',
      },
      {
        of: 'apply -f jobs.yaml',
        before: async (here) => {
          here.write('jobs.yaml', jobs)
          await here.client.jobs.create({ name: 'nightly', schedule: '0 2 * * *' })
        },
        typed: 'y\n',
      },
      {
        of: 'npx carillon tail',
        meanwhile: async (here, running) => {
          const { data } = await here.client.jobs.list({ search: 'send-weekly-report' })
          await triggerUntilPrinted(
            here,
            data[0]?.job_id ?? '',
            running,
            /✓ success +send-weekly-report +run_/,
          )
        },
      },
      {
        of: 'runs cancel run_…',
        before: async ({ client, placeholders }) => {
          const { data } = await client.jobs.list({ search: 'nightly' })
          placeholders.set('run_…', (await client.jobs.trigger(data[0]?.job_id ?? '')).run_id)
        },
      },
    ],
  },
}
