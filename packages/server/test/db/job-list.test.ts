import { type Job, type JobFilter, jobOrders, jobStates } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { JobLister } from '../../src/pipeline/register/list/job-list.js'
import { Random } from '../kit/random.js'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { putRuns } from '../kit/rows.js'
import { seedsOf } from '../kit/seeds.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const words = ['invoice', 'report', 'sync_50%', 'backup', 'a'] as const
const hosts = ['api.example.com', 'other.example.com:8443'] as const
const tags = ['team:ops', 'team:web', 'nightly'] as const

/** Jobs of all states, targets and owners, some of which start at one instant. */
async function population(node: TestNode, random: Random, count: number): Promise<Job[]> {
  const jobs: Job[] = []
  for (let at = 0; at < count; at++) {
    const host = random.pick(hosts)
    const job = await node.registry.create(1, {
      name: `${random.pick(words)} ${at}`,
      schedule: random.pick(['0 9 * * *', '0 10 * * *', '@every 3h', '*/7 * * * *']),
      description: random.pick([null, null, `Makes the ${random.pick(words)}`]),
      tags: tags.filter(() => random.next() < 0.3),
      managed_by: random.pick([null, 'repo', 'console']),
      target: random.pick([
        { type: 'task', task: 'mail' },
        { type: 'http', url: `https://${host}/x` },
      ]),
      priority: random.between(0, 9),
    })
    const change = random.next()
    if (change < 0.15) await node.registry.pause(1, job.job_id)
    else if (change < 0.3) await node.registry.cancel(1, job.job_id)
    jobs.push(await node.registry.get(1, job.job_id))
  }
  return jobs
}

function takes(filter: JobFilter, job: Job): boolean {
  const { search, target } = filter
  const found = search?.toLowerCase()
  const kind = job.target.type === 'http' ? 'http' : 'task'
  const place = job.target.type === 'http' ? new URL(job.target.url).host : 'mail'
  return (
    (found === undefined ||
      job.name.toLowerCase().includes(found) ||
      (job.description ?? '').toLowerCase().includes(found) ||
      (found.startsWith('job_') && job.job_id.startsWith(found))) &&
    (filter.tags ?? []).every((tag) => job.tags.includes(tag)) &&
    (filter.state === undefined || job.state === filter.state) &&
    (target === undefined || target === kind || target.toLowerCase() === `${kind}:${place}`) &&
    (filter.managed_by === undefined || job.managed_by === filter.managed_by)
  )
}

function randomFilter(random: Random, jobs: Job[]): JobFilter {
  const some = random.pick(jobs as [Job, ...Job[]])
  const all: JobFilter = {
    search: random.pick([
      'INVOICE',
      'port',
      '50%',
      'p 1',
      '%',
      '_',
      'a',
      '\\',
      some.job_id.slice(0, 22),
      some.job_id,
    ]),
    tags: random.pick<string[]>([['nightly'], ['team:ops', 'team:web']]),
    state: random.pick(jobStates),
    target: random.pick([
      'http',
      'task',
      'command',
      `http:${hosts[0]}`,
      'http:OTHER.example.com:8443',
      'task:mail',
      'task:x',
    ]),
    managed_by: random.pick(['repo', 'nobody']),
  }
  const kept = Object.entries(all).filter(() => random.next() < 0.3)
  return { ...(Object.fromEntries(kept) as JobFilter), order: random.pick(jobOrders) }
}

async function everyPage(lister: JobLister, filter: JobFilter, limit: number): Promise<Job[]> {
  const found: Job[] = []
  let cursor: string | null = null
  do {
    const page = await lister.list(1, { ...filter, limit, cursor })
    expect(page.data.length).toBeLessThanOrEqual(limit)
    found.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return found
}

test.each(seedsOf(1, 2))(
  'pages have what the filter takes, once each and in order (seed %i)',
  async (seed) => {
    const random = new Random(seed)
    const node = await house().node()
    const jobs = await population(node, random, 60)
    const { database } = node
    // Small bounds, so that all ways to find a page are gone.
    const small = new JobLister({ database, look: 4, longLook: 9, startsPerPartition: 1 })
    const usual = new JobLister({ database })
    for (let trial = 0; trial < 60; trial++) {
      const filter = randomFilter(random, jobs)
      const story = `seed ${seed}: ${JSON.stringify(filter)}`
      const expected = jobs.filter((job) => takes(filter, job)).map(({ job_id: id }) => id)
      const found = await everyPage(random.next() < 0.7 ? small : usual, filter, random.between(1, 9))
      expect(found.map(({ job_id: id }) => id).sort(), story).toEqual(expected.sort())
      const keys = found.map((job) => keyOf(filter, job))
      for (const [at, key] of keys.entries()) {
        if (at > 0) expect((keys[at - 1] ?? '') <= key, `${story}: ${keys[at - 1]} before ${key}`).toBe(true)
      }
    }
  },
)

/** Ids grow with time. The words that names begin with sort alike in every collation. */
function keyOf({ order }: JobFilter, job: Job): string {
  const newest = [...job.job_id].map((letter) => String.fromCharCode(255 - letter.charCodeAt(0))).join('')
  if (order === 'name')
    return job.name
      .toLowerCase()
      .replace(/[^a-z]/g, '')
      .slice(0, 4)
  if (order === 'next_run') return job.next_run_at ?? `9999${newest}`
  return newest
}

test('a cursor that somebody changed to a partition that there is not is refused', async () => {
  const node = await house().node()
  const { registry } = node
  for (const name of ['a', 'b']) await node.register({ name })
  const query = { order: 'next_run', limit: 1 } as const
  const { next_cursor: cursor } = await registry.list(1, { ...query, cursor: null })
  const parts = JSON.parse(Buffer.from(cursor ?? '', 'base64url').toString()) as unknown[]
  const changed = Buffer.from(JSON.stringify(parts.with(3, 99_999))).toString('base64url')
  await expect(registry.list(1, { ...query, cursor: changed })).rejects.toMatchObject({
    code: 'invalid_cursor',
  })
  expect((await registry.list(1, { ...query, cursor })).data).toHaveLength(1)
})

test('a cursor holds for its own filter, order and tenant only', async () => {
  const { registry } = await house().node()
  for (const name of ['a', 'b', 'c']) await registry.create(1, { name, schedule: '@every 5m' })
  const query = { limit: 1, cursor: null }
  const { next_cursor: cursor } = await registry.list(1, { ...query, state: 'active' })
  for (const filter of [{}, { state: 'paused' }, { state: 'active', order: 'name' }] as const) {
    await expect(registry.list(1, { limit: 1, cursor, ...filter })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
  }
  await expect(registry.list(2, { limit: 1, cursor, state: 'active' })).rejects.toMatchObject({
    code: 'invalid_cursor',
  })
  for (const text of ['', 'x', Buffer.from('[1]').toString('base64url')]) {
    await expect(registry.list(1, { limit: 1, cursor: text })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
  }
  expect((await registry.list(1, { limit: 1, cursor, state: 'active' })).data).toMatchObject([{ name: 'b' }])
})

test('a page that nothing is found on still leads on, where no index helps', async () => {
  const node = await house().node()
  for (let at = 0; at < 12; at++)
    await node.registry.create(1, { name: `${at === 0 ? 'xy' : 'job'}${at}`, schedule: '@every 5m' })
  const lister = new JobLister({ database: node.database, look: 2, longLook: 5 })
  const first = await lister.list(1, { search: 'xy', limit: 2, cursor: null })
  expect(first.data).toEqual([])
  expect(first.next_cursor).not.toBeNull()
  expect(await everyPage(lister, { search: 'xy' }, 2)).toMatchObject([{ name: 'xy0' }])
})

test('another tenant sees nothing', async () => {
  const { registry } = await house().node()
  await registry.create(1, { name: 'mine', schedule: '@every 5m', tags: ['x'], managed_by: 'me' })
  for (const order of jobOrders) {
    for (const filter of [
      {},
      { search: 'mine' },
      { tags: ['x'] },
      { managed_by: 'me' },
      { target: 'task:mine' },
    ]) {
      expect(await registry.list(2, { order, ...filter, limit: 5, cursor: null })).toEqual({
        data: [],
        next_cursor: null,
      })
    }
  }
  await expect(registry.getByName(2, 'mine')).rejects.toMatchObject({ code: 'job_not_found' })
})

describe('the last run', () => {
  const last = async (node: TestNode, id: string) => {
    const job = await node.registry.get(1, id)
    const { data } = await node.registry.list(1, { limit: 1, cursor: null })
    expect(data).toEqual([job])
    return { at: job.last_run_at, status: job.last_run_status }
  }

  test('is that of the newest tick, from the moment it is due to its end', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    expect(await last(node, job.job_id)).toEqual({ at: null, status: null })
    await putRuns(house(), job)
    const [row] = await house().query<{ due: number }>('SELECT due FROM carillon.queue')
    const at = new Date(row?.due ?? 0).toISOString().replace('.000Z', 'Z')
    expect(await last(node, job.job_id)).toEqual({ at, status: 'pending' })
    const [run] = await lease(node)
    expect(await last(node, job.job_id)).toEqual({ at, status: 'running' })
    if (run === undefined) throw new Error('Nothing was leased.')
    await closeAll(house(), node.closer, [await resultOf(house(), node, run, { outcome: 'success' })])
    expect(await last(node, job.job_id)).toEqual({ at, status: 'success' })
  })

  test('of ticks that were passed over together is the last of them', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s', missed_window: 'SKIP' })
    const first = Date.parse(job.next_run_at ?? '')
    await node.registry.pause(1, job.job_id)
    await house().clock.advance(35_000)
    await node.registry.resume(1, job.job_id)
    const { at, status } = await last(node, job.job_id)
    expect({ at: Date.parse(at ?? ''), status }).toEqual({ at: first + 20_000, status: 'skipped' })
  })
})
