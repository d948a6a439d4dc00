import { expect, test } from 'vitest'
import { jobInput } from '../kit/api-server.js'
import { openApi } from '../kit/api-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Entry {
  entry_id: number
  action: string
  subject: string
  detail: unknown
  request_id: string
  actor: string
}

interface Results {
  results: { job_id?: string; name: string; status: string; error?: { code: string } }[]
}

async function open() {
  const api = await openApi(house(), await house().node())
  const key = await api.tenant('together')
  const ask = async <Body>(method: string, path: string, body?: object) =>
    (await api.ask(method, path, { key, ...(body !== undefined && { body }) })).body as Body
  const list = async (query: string) =>
    ask<{ data: Entry[]; next_cursor: string | null }>('GET', `/audit${query}`)
  const register = async (names: string[], more: object = {}) => {
    const jobs = names.map((name) => jobInput({ name }))
    const { results } = await ask<Results>('POST', '/jobs/bulk', { jobs, ...more })
    return results
  }
  return { api, ask, list, register }
}

const rows = () =>
  house().query<{ jobs: number | null }>(
    "SELECT cardinality(jobs) AS jobs FROM carillon.audit_log WHERE action <> 'createKey' ORDER BY entry",
  )

const names = Array.from({ length: 7 }, (_, at) => `job-${at}`)

test.each([[false], [true]])(
  'jobs of one call are one row of the audit, and an entry for each, as if they had one each (atomic: %s)',
  async (atomic) => {
    const { ask, list, register } = await open()
    await ask('POST', '/jobs', jobInput({ name: 'before' }))
    const made = await register(names, { atomic })
    await ask('POST', '/jobs', jobInput({ name: 'after' }))
    expect(await rows()).toEqual([{ jobs: null }, { jobs: 7 }, { jobs: null }])

    const { data } = await list('?limit=9')
    expect(data.map(({ detail }) => detail)).toEqual(
      ['after', ...names.toReversed(), 'before'].map((name) => ({ name })),
    )
    const together = data.slice(1, 8).toReversed()
    expect(together.map(({ subject }) => subject)).toEqual(made.map(({ job_id: id }) => id))
    expect(new Set(together.map(({ request_id: id }) => id)).size).toBe(1)
    expect(together.every(({ action, actor }) => action === 'createJobs' && actor === data[0]?.actor)).toBe(
      true,
    )
    const numbers = data.map(({ entry_id: id }) => id)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => b - a))
  },
)

test('a page may end amid jobs that were registered together, and the next goes on there', async () => {
  const { list, register } = await open()
  await register(names)
  await register(['later-0', 'later-1'])
  const seen: unknown[] = []
  let query = '?limit=3&action=createJobs'
  for (let pages = 0; pages < 3; pages++) {
    const { data, next_cursor: next } = await list(query)
    expect(data).toHaveLength(3)
    seen.push(...data.map(({ detail }) => (detail as { name: string }).name))
    query = `?limit=3&cursor=${next}`
  }
  expect(seen).toEqual(['later-1', 'later-0', ...names.toReversed()])
})

test('what was done to one of them is found by its id, the registration included, and nothing of the others', async () => {
  const { ask, list, register } = await open()
  await register(['earlier-0', 'earlier-1'])
  const made = await register(names)
  await register(['later-0', 'later-1'])
  // Two that another process registered at the same time: their ids lie round those of ours.
  await house().query(
    `INSERT INTO carillon.audit_log (tenant, actor, action, subject, jobs, names, first_job, last_job)
     SELECT tenant, 'other', 'createJobs', 'other', ARRAY[least, most], ARRAY['least', 'most'], least, most
     FROM (SELECT tenant, overlay(first_job::text PLACING '000000000000' FROM 25)::uuid AS least,
                  overlay(last_job::text PLACING 'ffffffffffff' FROM 25)::uuid AS most
           FROM carillon.audit_log WHERE cardinality(jobs) = 7) AS round`,
  )
  for (const at of [0, 3, 6]) {
    const id = made[at]?.job_id ?? ''
    await ask('POST', `/jobs/${id}/pause`, {})
    const { data } = await list(`?subject=${id}`)
    expect(data.map(({ action, subject }) => [action, subject])).toEqual([
      ['pauseJob', id],
      ['createJobs', id],
    ])
    expect(data[1]?.detail).toEqual({ name: names[at] })
    const all = (await list('?limit=100&action=createJobs')).data
    expect(all.find(({ subject }) => subject === id)?.entry_id).toBe(data[1]?.entry_id)
    const older = await list(`?subject=${id}&limit=1`)
    expect((await list(`?subject=${id}&limit=1&cursor=${older.next_cursor}`)).data).toEqual([data[1]])
  }
})

test('of a call so large that its places are taken before, those that were created are noted, and nobody else', async () => {
  const { list, register } = await open()
  await register(['first-0', 'first-1'])
  await house().query("UPDATE carillon.tenants SET max_jobs = 122 WHERE name = 'together'")
  try {
    const made = await register(Array.from({ length: 150 }, (_, at) => `job-${at}`))
    const created = made.filter(({ status }) => status === 'created')
    expect(created.map(({ name }) => name)).toEqual(Array.from({ length: 120 }, (_, at) => `job-${at}`))
    expect(await rows()).toEqual([{ jobs: 2 }, { jobs: 120 }])
    const [last] = (await list('?limit=1')).data
    expect(last).toMatchObject({
      action: 'createJobs',
      subject: created[119]?.job_id,
      detail: { name: 'job-119' },
    })
    const [own] = (await list(`?subject=${created[60]?.job_id}`)).data
    expect(own).toMatchObject({
      detail: { name: 'job-60' },
      request_id: last?.request_id,
      actor: last?.actor,
    })
  } finally {
    await house().query("UPDATE carillon.tenants SET max_jobs = NULL WHERE name = 'together'")
  }
})

test('of a call that its quota ends, those that were created are noted', async () => {
  const { list, register } = await open()
  await register(['first-0', 'first-1'])
  await house().query("UPDATE carillon.tenants SET max_jobs = 6 WHERE name = 'together'")
  try {
    const made = await register(names)
    expect(made.map(({ status }) => status)).toEqual([
      ...names.slice(0, 4).map(() => 'created'),
      ...names.slice(4).map(() => 'failed'),
    ])
    expect((await list('?limit=4')).data.map(({ detail }) => detail)).toEqual(
      names
        .slice(0, 4)
        .toReversed()
        .map((name) => ({ name })),
    )
    for (const atomic of [false, true]) {
      const [refused] = await register(['one-too-many', 'two-too-many'], { atomic })
      expect(refused?.error?.code).toBe('job_quota_exceeded')
    }
    expect(await rows()).toEqual([{ jobs: 2 }, { jobs: 4 }])
  } finally {
    await house().query("UPDATE carillon.tenants SET max_jobs = NULL WHERE name = 'together'")
  }
})

test('calls of one actor at the same time share a row, and each entry has its own request', async () => {
  const { ask, list } = await open()
  await ask('POST', '/jobs', jobInput({ name: 'before' }))
  await Promise.all(names.map((name) => ask('POST', '/jobs', jobInput({ name }))))
  expect((await rows()).reduce((all, { jobs }) => all + (jobs ?? 1), 0)).toBe(8)
  expect((await rows()).length).toBeLessThan(5)
  const { data } = await list('?limit=7')
  expect(data.map(({ detail }) => (detail as { name: string }).name).sort()).toEqual(names)
  expect(new Set(data.map(({ request_id: id }) => id)).size).toBe(7)
  for (const { subject, request_id: request, detail } of data) {
    expect((await list(`?subject=${subject}`)).data).toMatchObject([{ request_id: request, detail }])
  }
})

test.each([
  ['', false],
  [', also where their jobs are checked again by terms that have changed', true],
])(
  'calls of several actors at the same time are noted by the names of those who made them%s',
  async (_also, changed) => {
    const { api, ask, list } = await open()
    await ask('POST', '/jobs', jobInput({ name: 'before' }))
    if (changed)
      await house().query("UPDATE carillon.tenants SET min_interval_seconds = 60 WHERE name = 'together'")
    const keys = [await api.key('admin', 'together'), await api.key('operator', 'together')]
    // Looked up before, so that neither comes later than the other.
    for (const key of keys) await api.ask('GET', '/jobs', { key })
    const calls = names.map((name, at) => ({ name, key: keys[at % 2] ?? '' }))
    await Promise.all(
      calls.map(({ name, key }) => api.ask('POST', '/jobs', { key, body: jobInput({ name }) })),
    )
    const { data } = await list('?limit=7')
    const actors = calls.map(
      ({ name }) => data.find(({ detail }) => (detail as { name: string }).name === name)?.actor,
    )
    expect(actors.map((actor) => actor?.replace(/-.*/, ''))).toEqual(
      calls.map((_, at) => (at % 2 === 0 ? 'admin' : 'operator')),
    )
  },
)
