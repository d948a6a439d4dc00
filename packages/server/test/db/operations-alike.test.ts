import type { JobInput, OperationInput } from '@carillon/contract'
import { expect, test } from 'vitest'
import { Operating } from '../../src/pipeline/register/bulk/operating.js'
import { Operations } from '../../src/pipeline/register/bulk/operations.js'
import { holdNextTick, type TestJob } from '../kit/changes.js'
import { putRuns } from '../kit/rows.js'
import { silentLog } from '../kit/test-database.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Case {
  name: string
  input?: Partial<JobInput>
  /** What happens to it while time stands still. */
  first?: (node: TestNode, job: TestJob) => Promise<unknown>
  /** What happens to it after ticks were missed, and some staged. */
  later?: (node: TestNode, job: TestJob) => Promise<unknown>
}

const replacing = { overlap_policy: 'REPLACE' } as const
const queueing = { overlap_policy: 'QUEUE' } as const

/** Jobs in all sorts of situations, some seconds after each was made twice. Unless said otherwise the next tick is staged. */
const cases: Case[] = [
  { name: 'staged' },
  { name: 'staged, one ahead held', later: (node, job) => holdNextTick(house(), node, job) },
  { name: 'waiting for a worker', later: (_node, job) => putRuns(house(), job) },
  {
    name: 'waiting for a retry',
    later: async (_node, job) =>
      putRuns(house(), job, { attempt: 2, availableAt: (await house().now()) + 60_000 }),
  },
  { name: 'running', input: replacing, later: (node, job) => triggerAndHold(node, job) },
  { name: 'running and staged, one waits', input: queueing, later: (node, job) => twice(node, job) },
  {
    name: 'replacing what waits',
    input: replacing,
    later: (node, job) => node.registry.trigger(1, job.job_id),
  },
  {
    name: 'passing over what comes too soon',
    input: { overlap_policy: 'SKIP' },
    later: (node, job) => triggerAndHold(node, job),
  },
  { name: 'paused', first: (node, job) => node.registry.pause(1, job.job_id, { reason: 'r' }) },
  {
    name: 'paused with a parked run',
    later: async (node, job) => {
      await putRuns(house(), job, { count: 2 })
      await node.registry.pause(1, job.job_id)
    },
  },
  {
    name: 'catching up',
    input: { schedule: '* * * * * *', missed_window: 'RUN_ALL', max_missed: 20 },
    first: (node, job) => node.registry.pause(1, job.job_id),
    later: (node, job) => node.registry.resume(1, job.job_id),
  },
  {
    name: 'catching up with an old version',
    input: { schedule: '* * * * * *', missed_window: 'RUN_ALL', max_missed: 20, tags: ['x', 'y'] },
    first: (node, job) => node.registry.pause(1, job.job_id),
    later: async (node, job) => {
      await node.registry.resume(1, job.job_id)
      await node.registry.edit(1, job.job_id, { schedule: '0 9 * * *' })
    },
  },
  {
    name: 'a little late',
    input: { schedule: '*/5 * * * * *', missed_window: 'SKIP' },
    later: (_node, job) => unfire(job),
  },
  { name: 'ending with its staged tick', input: { max_runs: 1 } },
  { name: 'cancelled', later: (node, job) => node.registry.cancel(1, job.job_id, { reason: 'before' }) },
  {
    name: 'a tick left out',
    later: async (node, job) => {
      const ticks = await node.ticks.list(1, job.job_id, { from: undefined, count: 4 })
      await node.ticks.skip(1, job.job_id, { at: ticks.data[3]?.due ?? '' })
    },
  },
  { name: 'damaged', later: (_node, job) => damage(job) },
]

async function triggerAndHold(node: TestNode, job: TestJob): Promise<void> {
  await node.registry.trigger(1, job.job_id)
  await house().query(
    `UPDATE carillon.queue SET holder = $2, token = 7, leased_at = available_at WHERE job = $1 AND origin = 1`,
    [job.key, node.membership.incarnation],
  )
}

async function twice(node: TestNode, job: TestJob): Promise<void> {
  await triggerAndHold(node, job)
  await node.registry.trigger(1, job.job_id)
}

/** As if the last tick had not been fired yet, and were late by less than what counts as missed. */
function unfire(job: TestJob): Promise<unknown> {
  return house().query(
    `WITH gone AS (DELETE FROM carillon.queue WHERE job = $1)
     UPDATE carillon.timers t
     SET due = due - 5000, start_at = start_at - 5000, accounted_through = j.effective_from, runs = 0
     FROM carillon.jobs j WHERE t.job = $1 AND j.job = $1`,
    [job.key],
  )
}

function damage(job: TestJob): Promise<unknown> {
  return house().query(
    `UPDATE carillon.jobs SET definition = jsonb_set(definition, '{schedule}', '"nonsense"') WHERE job = $1`,
    [job.key],
  )
}

/** All that is stored of a job, without what tells it from another. */
async function everythingOf(job: TestJob): Promise<unknown> {
  const [row] = await house().query<{ all: unknown }>(
    `SELECT jsonb_build_object(
       'job', (SELECT (to_jsonb(j) - '{job,id,name,partition}'::text[]) #- '{definition,name}' FROM carillon.jobs j WHERE job = $1),
       'timer', (SELECT to_jsonb(t) - '{job,partition}'::text[] FROM carillon.timers t WHERE job = $1),
       'queue', (SELECT jsonb_agg(to_jsonb(q) - '{job,seq,partition,epoch}'::text[] ORDER BY due, origin, seq)
                 FROM carillon.queue q WHERE job = $1),
       'ledger', (SELECT jsonb_agg(to_jsonb(l) - '{job,seq,partition,epoch}'::text[] ORDER BY due, origin, reason, seq)
                  FROM carillon.ledger l WHERE job = $1),
       'replays', (SELECT jsonb_agg(to_jsonb(r) - '{job,replay,partition}'::text[] ORDER BY from_ms, kind)
                   FROM carillon.replays r WHERE job = $1),
       'versions', (SELECT jsonb_agg((to_jsonb(v) - '{job,partition}'::text[]) #- '{definition,name}' ORDER BY version)
                    FROM carillon.job_versions v WHERE job = $1),
       'segments', (SELECT jsonb_agg(to_jsonb(s) - '{job,partition}'::text[] ORDER BY from_ms)
                    FROM carillon.segments s WHERE job = $1),
       'changes', (SELECT jsonb_agg(to_jsonb(c) - '{job,partition}'::text[] ORDER BY due)
                   FROM carillon.tick_changes c WHERE job = $1)) AS all`,
    [job.key],
  )
  return row?.all
}

interface Twin {
  name: string
  alone: TestJob
  among: TestJob
}

/** Each case twice: one job that is changed alone, one that is changed among the others. */
async function twins(node: TestNode): Promise<Twin[]> {
  const made: (Twin & Case)[] = []
  // From here on the next tick of every ten seconds is 9.9 s ahead.
  await house().clock.advance(10_100 - ((await house().now()) % 10_000))
  for (const one of cases) {
    const input = { schedule: '*/10 * * * * *', ...one.input }
    const [alone, among] = [await node.register(input), await node.register(input)]
    made.push({ ...one, alone, among })
  }
  const each = async (what: 'first' | 'later') => {
    for (const one of made) for (const job of [one.alone, one.among]) await one[what]?.(node, job)
  }
  await each('first')
  await house().clock.advance(8_400)
  await node.beat()
  await node.firing.runOnce()
  const [{ count } = { count: 0 }] = await house().query<{ count: number }>(
    'SELECT count(*)::int FROM carillon.queue WHERE available_at > carillon.now_ms()',
  )
  expect(count).toBeGreaterThan(cases.length)
  await each('later')
  return made
}

type Alone = (node: TestNode, jobId: string) => Promise<unknown>

const actions: [string, Omit<OperationInput, 'filter'>, Alone][] = [
  ['pause', { action: 'pause', reason: 'r' }, ({ registry }, id) => registry.pause(1, id, { reason: 'r' })],
  ['resume', { action: 'resume' }, ({ registry }, id) => registry.resume(1, id)],
  [
    'cancel',
    { action: 'cancel', reason: 'r' },
    ({ registry }, id) => registry.cancel(1, id, { reason: 'r' }),
  ],
  ['delete', { action: 'delete' }, ({ registry }, id) => registry.delete(1, id)],
  ['trigger', { action: 'trigger' }, ({ registry }, id) => registry.trigger(1, id)],
  [
    'tag',
    { action: 'tag', tags: ['x'] },
    (node, id) => retag(node, id, (tags) => [...new Set([...tags, 'x'])]),
  ],
  [
    'untag',
    { action: 'untag', tags: ['x'] },
    (node, id) => retag(node, id, (tags) => tags.filter((tag) => tag !== 'x')),
  ],
]

async function retag(
  { registry }: TestNode,
  id: string,
  change: (tags: string[]) => string[],
): Promise<void> {
  const { tags } = await registry.get(1, id)
  await registry.edit(1, id, { tags: change(tags ?? []) })
}

test.each(actions)(
  '%s: each of many jobs becomes what it would have become alone',
  async (_, asked, alone) => {
    const node = await house().node()
    const made = await twins(node)
    const operations = new Operations(node.database)
    const operating = new Operating({
      database: node.database,
      log: silentLog,
      lateToleranceMs: 15_000,
      onChanged: () => undefined,
    })
    const refused: string[] = []
    for (const twin of made) {
      await alone(node, twin.alone.job_id).catch((error: unknown) => {
        refused.push(`${twin.name}: ${(error as { code?: string }).code ?? 'internal_error'}`)
      })
    }
    const ids = made.map(({ among }) => among.job_id)
    const { operation_id: id } = await operations.start(1, { ...asked, filter: { job_ids: ids } })
    while (await operating.runOnce());
    const { errors, failed, done } = await operations.get(1, id)
    const named = errors.map(({ job_id: jobId, code }) => {
      const twin = made.find(({ among }) => among.job_id === jobId)
      return `${twin?.name ?? ''}: ${code}`
    })
    for (const { name, alone: one, among } of made) {
      expect({ name, ...((await everythingOf(among)) as object) }).toEqual({
        name,
        ...((await everythingOf(one)) as object),
      })
    }
    expect(named.sort()).toEqual(refused.sort())
    expect({ failed, done }).toEqual({ failed: refused.length, done: made.length - refused.length })
  },
)
