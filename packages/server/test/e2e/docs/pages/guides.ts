import { until } from '../../support/carillon.js'
import { withDatesMoved } from '../likeness.js'
import { type SetUp, triggerUntilPrinted, wellJob } from '../set-up.js'
import { sdkGuide } from './sdk-guide.js'
import { webhooks } from './webhooks.js'
import { workersOverHttp } from './workers-over-http.js'

const crontab = `MAILTO=ops@example.com
# name: backup
0 3 * * * /usr/local/bin/backup --all
@hourly /usr/local/bin/rotate
`
const cronJob = `apiVersion: batch/v1
kind: CronJob
metadata: { name: report, namespace: billing }
spec:
  schedule: "0 9 * * 1"
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      template:
        spec:
          containers: [{ name: report, image: report, command: [/bin/report] }]
`

export const guides: Record<string, SetUp> = {
  ...sdkGuide,
  ...webhooks,
  ...workersOverHttp,
  'docs/guides/apply.md': {
    setUp: (house) => {
      house.write('jobs/one.yaml', 'name: one\nschedule: "@daily"\n')
      house.write('more.yaml', '- name: two\n  schedule: "@weekly"\n')
    },
    rules: [{ of: 'carillon apply', typed: 'y\n' }],
  },
  'docs/guides/backfill.md': {
    setUp: async (house) => {
      const { job_id } = await wellJob(house, 'nightly', { overlap_policy: 'ALLOW' })
      house.placeholders.set('JOB', job_id)
      const range = { from: '2026-11-03T00:00:00Z', to: '2026-11-05T00:00:00Z', per_minute: 600 }
      const body = withDatesMoved(JSON.stringify(range), Date.now())
      const headers = { 'content-type': 'application/json' }
      await fetch(`${house.url}/api/v1/jobs/${job_id}/backfills`, { method: 'POST', headers, body })
      await until('two ticks are done', async () => {
        const runs = await house.client.jobs.runs(job_id)
        return runs.filter(({ status }) => status === 'success').length === 2
      })
    },
    rules: [
      {
        of: '"per_minute": 10',
        after: ({ placeholders }, body) => {
          placeholders.set('BACKFILL', (JSON.parse(body) as { backfill_id: string }).backfill_id)
        },
      },
    ],
  },
  'docs/guides/import.md': {
    programs: {
      crontab: `cat <<'END'\n${crontab}END`,
      kubectl: `cat <<'END'\n${cronJob}END`,
    },
    setUp: (house) => {
      const system = '17 * * * * root run-parts /etc/cron.hourly\n'
      house.placeholders.set('/etc/crontab', house.write('crontab', system))
    },
    rules: [{ of: '--prefix web1-', typed: 'y\n' }],
  },
  'docs/guides/jobs-api.md': {
    setUp: async (house) => {
      const { job_id } = await wellJob(house, 'export')
      for (const hour of [3, 4]) await house.client.jobs.edit(job_id, { schedule: `0 ${hour} * * *` })
      house.placeholders.set('{job_id}', job_id)
    },
  },
  'docs/guides/one-tick.md': {
    setUp: async (house) => {
      house.placeholders.set('JOB', (await wellJob(house, 'nightly')).job_id)
    },
  },
  'docs/guides/watching-runs.md': {
    setUp: async (house) => {
      await wellJob(house, 'watched')
    },
    rules: [
      {
        of: 'curl -N',
        meanwhile: async (house, running) => {
          const { data } = await house.client.jobs.list()
          const ended = /event: run\n[^]*"status":"success"/
          await triggerUntilPrinted(house, data[0]?.job_id ?? '', running, ended)
        },
      },
    ],
  },
}
