import type { JobInput } from '@carillon/contract'
import { expect, test } from 'vitest'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

const input: JobInput = {
  name: 'nightly',
  schedule: '0 2 * * *',
  target: { type: 'task', task: 'task' },
  payload: { zero: -0, deep: [1, { two: null }] },
  tags: ['team:ops', 'nightly'],
  description: 'Runs every night',
  managed_by: 'repo',
}

async function rowsOf(table: 'jobs' | 'job_versions'): Promise<number> {
  const [row] = await house().query<{ rows: number }>(
    table === 'jobs'
      ? 'SELECT count(*)::int AS rows FROM carillon.jobs'
      : 'SELECT count(*)::int AS rows FROM carillon.job_versions',
  )
  return row?.rows ?? 0
}

test('an upsert creates, then leaves what is the same without a write, then changes what differs', async () => {
  const { registry } = await house().node()
  const first = await registry.upsert(1, input, undefined)
  expect(first).toMatchObject({ created: true, job: { version: 1, tags: input.tags, managed_by: 'repo' } })
  const written = 'SELECT xmin::text AS write FROM carillon.jobs'
  const before = await house().query(written)
  const again = await registry.upsert(1, input, undefined)
  expect(again).toEqual({ created: false, job: first.job })
  expect(await house().query(written)).toEqual(before)
  const changed = await registry.upsert(1, { ...input, payload: 2 }, undefined)
  expect(changed).toMatchObject({ created: false, job: { job_id: first.job.job_id, version: 2, payload: 2 } })
  // What is not given has its default: an upsert replaces, a patch merges.
  const { description: _description, ...rest } = input
  expect((await registry.upsert(1, rest, undefined)).job).toMatchObject({ version: 3, description: null })
  expect(await rowsOf('jobs')).toBe(1)
})

test('upserts that race make one job and no error', async () => {
  const nodes = await house().fleet(2)
  const calls = Array.from({ length: 6 }, (_, at) => ({ ...input, payload: at % 3 })).flatMap((wanted) =>
    nodes.map(({ registry }) => registry.upsert(1, wanted, undefined)),
  )
  const answers = await Promise.all(calls)
  expect(new Set(answers.map((answer) => answer.job.job_id)).size).toBe(1)
  expect(answers.filter((answer) => answer.created)).toHaveLength(1)
  expect(await rowsOf('jobs')).toBe(1)
})

test('upserts that race with deletes and cancels of the job always end in a live job', async () => {
  const { registry } = await house().node()
  for (let round = 0; round < 10; round++) {
    const { job } = await registry.upsert(1, { ...input, payload: round }, undefined)
    const end = round % 2 === 0 ? registry.delete(1, job.job_id) : registry.cancel(1, job.job_id)
    await Promise.all([
      registry.upsert(1, { ...input, payload: `${round}` }, undefined),
      end.catch(() => undefined),
    ])
    const { job: last } = await registry.upsert(1, { ...input, payload: `${round}` }, undefined)
    expect(last).toMatchObject({ state: 'active', payload: `${round}` })
  }
})

test('a one-off that has run is left when it is applied again; another definition or a cancel makes a new one', async () => {
  const node = await house().node()
  const at = utcText((await house().now()) + 5_000)
  const once = { ...input, schedule: at, misfire_grace_seconds: 3600 }
  const { job } = await node.registry.upsert(1, once, undefined)
  await house().clock.advance(6_000)
  await node.beat()
  await node.firing.runOnce()
  const again = await node.registry.upsert(1, once, undefined)
  expect(again).toMatchObject({ created: false, job: { job_id: job.job_id, state: 'ended', version: 1 } })
  expect(await node.registry.getByName(1, input.name)).toMatchObject({ job_id: job.job_id })
  const other = await node.registry.upsert(1, input, undefined)
  expect(other).toMatchObject({ created: true, job: { state: 'active' } })
  await node.registry.cancel(1, other.job.job_id)
  expect(await node.registry.upsert(1, input, undefined)).toMatchObject({ created: true })
})

test('an upsert or an edit for another version changes nothing', async () => {
  const { registry } = await house().node()
  const conflict = { code: 'job_version_conflict' }
  await expect(registry.upsert(1, input, 1)).rejects.toMatchObject(conflict)
  await expect(registry.upsert(1, input, 'any')).rejects.toMatchObject(conflict)
  const { job } = await registry.upsert(1, input, undefined)
  await expect(registry.upsert(1, { ...input, payload: 2 }, 2)).rejects.toMatchObject(conflict)
  expect((await registry.upsert(1, { ...input, payload: 2 }, 1)).job.version).toBe(2)
  await expect(registry.edit(1, job.job_id, { payload: 3, version: 1 })).rejects.toMatchObject(conflict)
  expect((await registry.upsert(1, { ...input, payload: 4 }, 'any')).job.version).toBe(3)
})

test('versions are listed newest first with what changed, and one of them can be had again', async () => {
  const { registry } = await house().node()
  const { job_id: id, created_at: createdAt } = await registry.create(1, input)
  await house().clock.advance(1_000)
  await registry.edit(1, id, { payload: 2, tags: ['other'] })
  await house().clock.advance(1_000)
  await registry.edit(1, id, { schedule: '0 3 * * *' })
  const rolled = await registry.rollback(1, id, { version: 1, reason: 'it was right' })
  expect(rolled).toMatchObject({
    version: 4,
    schedule: '0 2 * * *',
    tags: input.tags,
    description: 'Runs every night',
  })
  const first = await registry.versions(1, id, { limit: 3, cursor: null })
  expect(
    first.data.map(({ version, changed, current, reason }) => ({ version, changed, current, reason })),
  ).toEqual([
    { version: 4, changed: ['payload', 'schedule', 'tags'], current: true, reason: 'it was right' },
    { version: 3, changed: ['schedule'], current: false, reason: null },
    { version: 2, changed: ['payload', 'tags'], current: false, reason: null },
  ])
  const rest = await registry.versions(1, id, { limit: 3, cursor: first.next_cursor })
  expect(rest).toMatchObject({
    data: [{ version: 1, changed: [], created_at: createdAt }],
    next_cursor: null,
  })
  expect(await registry.version(1, id, 2)).toEqual(first.data[2])
  for (const version of [5, 99]) {
    const missing = { code: 'job_version_not_found' }
    await expect(registry.version(1, id, version)).rejects.toMatchObject(missing)
    await expect(registry.rollback(1, id, { version })).rejects.toMatchObject(missing)
  }
  expect(await registry.rollback(1, id, { version: 4 })).toEqual(rolled)
  await expect(registry.versions(2, id, { limit: 3, cursor: null })).rejects.toMatchObject({
    code: 'job_not_found',
  })
})

test('a job stored before there were tags has none, and an edit that says nothing new makes no version', async () => {
  const { registry } = await house().node()
  const { job_id: id } = await registry.create(1, { name: 'old', schedule: '0 2 * * *' })
  await house().query(
    "UPDATE carillon.jobs SET definition = definition - 'tags' - 'description' - 'managed_by'",
  )
  expect(await registry.get(1, id)).toMatchObject({ tags: [], description: null, managed_by: null })
  expect(await registry.edit(1, id, { description: null, tags: null })).toMatchObject({ version: 1 })
  expect((await registry.upsert(1, { name: 'old', schedule: '0 2 * * *' }, undefined)).job.version).toBe(1)
  expect(await registry.edit(1, id, { tags: ['new'] })).toMatchObject({ version: 2, tags: ['new'] })
})
