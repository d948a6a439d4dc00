import type { Client, Job, JobInput } from '@carillon/sdk'
import { until } from '../support/carillon.js'
import { Receiver } from './receiver.js'

/** A fleet as an engineer on call finds it: most goes well, something is ill, and somebody was here before. */
export interface World {
  jobs: Record<'ok' | 'slow' | 'dying' | 'parked' | 'nightly' | 'paused', Job>
  hosts: { well: Receiver; failing: Receiver; down: Receiver }
  close(): Promise<void>
}

export async function makeWorld(client: Client): Promise<World> {
  const hosts = {
    well: await Receiver.listen(),
    failing: await Receiver.listen(),
    down: await Receiver.listen(),
  }
  hosts.well.answer = (path) =>
    path === '/slow' ? { status: 200, afterMs: 2_600 } : { status: 200, body: '{"sent":128}' }
  let order = 4_000
  hosts.failing.answer = () => ({ status: 422, body: `invoice ${order++} has no customer` })
  hosts.down.answer = () => ({ status: 503, body: 'upstream connect error' })
  // The one host shows dead letters, the other an open breaker.
  await client.targets.limit(hosts.failing.host, { breaker_enabled: false, max_concurrent: 20 })
  await client.targets.limit(hosts.well.host, { rate_per_second: 50, max_concurrent: 40 })
  const create = (input: JobInput) => client.jobs.create(input)
  const http = (receiver: Receiver, path: string) => ({ type: 'http' as const, url: receiver.url(path) })
  const jobs = {
    ok: await create({
      ...{ name: 'metrics:flush', schedule: '@every 1s', tags: ['metrics', 'team-core'] },
      ...{ target: http(hosts.well, '/flush'), payload: { window: '1s' } },
    }),
    slow: await create({
      ...{ name: 'report:rollup', schedule: '@every 1s', tags: ['reports'], timeout_seconds: 30 },
      ...{
        description: 'Rolls up the numbers of the day. Takes longer than its period.',
        target: http(hosts.well, '/slow'),
      },
    }),
    dying: await create({
      ...{ name: 'billing:charge', schedule: '@every 2s', tags: ['billing', 'team-money'], max_retries: 0 },
      ...{
        description: 'Charges open invoices',
        target: http(hosts.failing, '/charge'),
        payload: { batch: 50 },
      },
    }),
    parked: await create({
      ...{ name: 'crm:sync', schedule: '@every 2s', tags: ['crm'], max_retries: 5 },
      ...{ retry_backoff: 'fixed', overlap_policy: 'ALLOW', target: http(hosts.down, '/sync') },
    }),
    nightly: await create({
      ...{ name: 'warehouse:export', schedule: '30 2 * * *', timezone: 'Europe/Madrid', tags: ['warehouse'] },
      ...{
        target: http(hosts.well, '/export'),
        payload: { format: 'parquet' },
        exclude: ['2026-12-24/2027-01-02'],
      },
    }),
    paused: await create({
      ...{
        name: 'mail:digest',
        schedule: '0 9 * * 1-5',
        timezone: 'Europe/Madrid',
        tags: ['mail', 'team-growth'],
      },
      ...{ target: http(hosts.well, '/digest') },
    }),
  }
  await client.jobs.pause(jobs.paused.job_id, {
    reason: 'Provider migration, ask #mail before resuming',
    until: '2027-06-01T08:00',
  })
  const edited = await client.jobs.edit(jobs.nightly.job_id, {
    timeout_seconds: 900,
    payload: { format: 'parquet', compress: 'zstd' },
  })
  jobs.nightly = await client.jobs.edit(edited.job_id, { schedule: '30 2 * * 1-6' })
  const crowd = Array.from({ length: 120 }, (_, index) => ({
    ...{
      name: `tenant-${String(index).padStart(3, '0')}:statement`,
      schedule: '0 9 * * *',
      tags: ['statements', 'scheduled'],
    },
    target: http(hosts.well, '/statement'),
  }))
  const hours = Array.from({ length: 40 }, (_, index) => ({
    ...{
      name: `poll:${['stripe', 'adyen', 'paypal', 'klarna'][index % 4] ?? ''}-${index}`,
      tags: ['poll', 'scheduled'],
    },
    ...{ schedule: `${index % 60} */${(index % 5) + 1} * * *`, target: http(hosts.well, '/poll') },
  }))
  await client.jobs.bulk({ jobs: [...crowd, ...hours] })
  return {
    jobs,
    hosts,
    close: async () => void (await Promise.all(Object.values(hosts).map((host) => host.close()))),
  }
}

/** Until everything that the views should show is there. */
export async function ripen(client: Client, { jobs, hosts }: World, ticks = 12): Promise<void> {
  const enough = async () => {
    const runs = await client.jobs.runs(jobs.slow.job_id, { limit: 100 })
    return runs.length >= ticks && runs.some(({ reason }) => reason === 'overlap')
  }
  await until('ticks were passed over', enough, 150_000)
  await until('letters died', async () => (await client.deadLetters.groups()).some(({ count }) => count >= 3))
  await until(
    'the breaker opened',
    async () => (await client.targets.get(hosts.down.host)).breaker.state === 'open',
  )
  await until('it was counted', async () => (await client.stats()).last_hour.fired > 10)
}
