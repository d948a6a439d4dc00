import { limits, type OperationInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { Operating } from '../../src/pipeline/register/bulk/operating.js'
import { Operations } from '../../src/pipeline/register/bulk/operations.js'
import { leaseOne } from '../kit/attempts.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import { silentLog } from '../kit/test-database.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Job {
  job_id: string
  key: number
  name: string
}

function workshop(node: TestNode, chunk?: number) {
  const changed: string[] = []
  return {
    operations: new Operations(node.database),
    operating: new Operating({
      database: node.database,
      log: silentLog,
      lateToleranceMs: 15_000,
      onChanged: (action) => void changed.push(action),
      ...(chunk !== undefined && { chunk }),
    }),
    changed,
  }
}

async function some(node: TestNode, count: number, schedule = '@every 1h'): Promise<Job[]> {
  const jobs: Job[] = []
  for (let n = 0; n < count; n++) jobs.push(await node.register({ name: `batch-${n}`, schedule }))
  return jobs
}

async function states(jobs: Job[]): Promise<string[]> {
  const rows = await house().query<{ state: string }>(
    'SELECT state FROM carillon.jobs WHERE job = ANY ($1) ORDER BY job',
    [jobs.map(({ key }) => key)],
  )
  return rows.map(({ state }) => state)
}

async function toTheEnd(operating: Operating): Promise<number> {
  for (let passes = 1; passes < 100; passes++) if (!(await operating.runOnce())) return passes
  throw new Error('It never ended.')
}

describe('an operation on many jobs', () => {
  test('pauses what matches, chunk by chunk, and resumes it', async () => {
    const node = await house().node()
    const jobs = await some(node, 5)
    const other = await node.register({ name: 'other', schedule: '@every 1h' })
    const { operations, operating, changed } = workshop(node, 2)
    const asked = { action: 'pause', filter: { search: 'BATCH-' }, reason: 'move' } satisfies OperationInput
    const begun = await operations.start(1, asked)
    expect(begun).toMatchObject({ state: 'running', total: 5, done: 0, filter: { search: 'BATCH-' } })
    expect(await operating.runOnce()).toBe(true)
    expect(await operations.get(1, begun.operation_id)).toMatchObject({ done: 2, state: 'running' })
    expect(await states(jobs)).toEqual(['paused', 'paused', 'active', 'active', 'active'])
    await toTheEnd(operating)
    const ended = await operations.get(1, begun.operation_id)
    expect(ended).toMatchObject({ done: 5, failed: 0, state: 'done', errors: [] })
    expect(ended.finished_at).not.toBeNull()
    expect(await states([...jobs, other])).toEqual([...Array<string>(5).fill('paused'), 'active'])
    expect(await node.registry.get(1, jobs[0]?.job_id ?? '')).toMatchObject({
      pause_reason: 'move',
      next_run_at: null,
    })
    await operations.start(1, { action: 'resume', filter: { state: 'paused' } })
    await toTheEnd(operating)
    expect(new Set(await states(jobs))).toEqual(new Set(['active']))
    expect(changed).toEqual([...Array<string>(3).fill('pause'), ...Array<string>(3).fill('resume')])
  })

  test('pauses many as one pause does: staged runs are taken back, waiting ones parked, replays stopped', async () => {
    const node = await house().node()
    const [alone, among] = [
      await node.register({ schedule: '* * * * * *' }),
      await node.register({ schedule: '* * * * * *' }),
    ]
    await node.firing.runOnce()
    await putRuns(house(), alone, { attempt: 2 })
    await putRuns(house(), among, { attempt: 2 })
    await node.registry.pause(1, alone.job_id, {})
    const { operations, operating } = workshop(node)
    await operations.start(1, { action: 'pause', filter: { job_ids: [among.job_id] } })
    await toTheEnd(operating)
    const seen = async (job: Job) =>
      (await queueOf(house(), job)).map(({ slot, attempt, available_at }) => ({
        slot,
        attempt,
        available_at,
      }))
    expect(await seen(among)).toEqual(await seen(alone))
    expect(await seen(among)).toHaveLength(1)
    await node.registry.resume(1, alone.job_id)
    await operations.start(1, { action: 'resume', filter: { job_ids: [among.job_id] } })
    await toTheEnd(operating)
    expect(await seen(among)).toEqual(await seen(alone))
    expect(await states([alone, among])).toEqual(['active', 'active'])
  })

  test('deletes and triggers, each job as if it had been named alone', async () => {
    const node = await house().node()
    const jobs = await some(node, 3)
    const { operations, operating, changed } = workshop(node)
    await operations.start(1, { action: 'trigger', filter: { search: 'batch' } })
    await toTheEnd(operating)
    for (const job of jobs) expect(await queueOf(house(), job)).toHaveLength(1)
    await operations.start(1, { action: 'delete', all: true })
    await toTheEnd(operating)
    expect(new Set(await states(jobs))).toEqual(new Set(['deleted']))
    for (const job of jobs) {
      expect(await queueOf(house(), job)).toEqual([])
      expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'cancelled', reason: 'deleted' }])
    }
    expect(changed).toEqual(['trigger', 'delete'])
  })

  test('keeps what could not be done, and goes on', async () => {
    const node = await house().node()
    const jobs = await some(node, 3)
    await house().query("UPDATE carillon.jobs SET state = 'ended', ended_at = 1 WHERE job = $1", [
      jobs[1]?.key,
    ])
    const { operations, operating } = workshop(node, 2)
    const { operation_id: id } = await operations.start(1, { action: 'pause', all: true })
    await toTheEnd(operating)
    expect(await operations.get(1, id)).toMatchObject({
      state: 'done',
      done: 2,
      failed: 1,
      errors: [{ job_id: jobs[1]?.job_id, code: 'job_ended' }],
    })
  })

  test.each(['pause', 'resume', 'trigger', 'tag', 'untag'] as const)(
    'does not %s a job that was cancelled: it says so, and goes on with the others',
    async (action) => {
      const node = await house().node()
      const jobs = await some(node, 2)
      await node.registry.cancel(1, jobs[0]?.job_id ?? '')
      const tags = action === 'tag' || action === 'untag' ? { tags: ['x'] } : {}
      const { operations, operating } = workshop(node)
      const { operation_id: id } = await operations.start(1, { action, all: true, ...tags })
      await toTheEnd(operating)
      expect(await operations.get(1, id)).toMatchObject({
        state: 'done',
        done: 1,
        failed: 1,
        errors: [{ job_id: jobs[0]?.job_id, code: 'job_cancelled' }],
      })
      expect((await states(jobs))[0]).toBe('cancelled')
    },
  )

  test('has failed where nothing could be done', async () => {
    const node = await house().node()
    const [job] = await some(node, 1)
    await house().query("UPDATE carillon.jobs SET state = 'ended', ended_at = 1 WHERE job = $1", [job?.key])
    const { operations, operating } = workshop(node)
    const { operation_id: id } = await operations.start(1, { action: 'resume', all: true })
    await toTheEnd(operating)
    expect(await operations.get(1, id)).toMatchObject({ state: 'failed', done: 0, failed: 1 })
  })

  test('passes over a job that breaks its chunk, and does the others', async () => {
    const node = await house().node()
    const jobs = await some(node, 4)
    await house().query(
      `CREATE FUNCTION carillon_test.gate() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN IF NEW.name = 'batch-1' THEN RAISE check_violation USING MESSAGE = 'broken'; END IF; RETURN NEW; END $$`,
    )
    await house().query(
      'CREATE TRIGGER gate BEFORE UPDATE ON carillon.jobs FOR EACH ROW EXECUTE FUNCTION carillon_test.gate()',
    )
    const { operations, operating } = workshop(node, 3)
    const { operation_id: id } = await operations.start(1, { action: 'pause', all: true })
    await toTheEnd(operating)
    expect(await states(jobs)).toEqual(['paused', 'active', 'paused', 'paused'])
    expect(await operations.get(1, id)).toMatchObject({
      done: 3,
      failed: 1,
      errors: [{ job_id: jobs[1]?.job_id, code: 'internal_error' }],
    })
  })

  test('keeps the first hundred errors and counts all', async () => {
    const node = await house().node()
    const [job] = await some(node, 1)
    await house().query(
      `INSERT INTO carillon.jobs (id, tenant, partition, name, state, definition, one_off, route, effective_from, zone_data, ended_at)
       SELECT gen_random_uuid(), 1, 0, 'old-' || n, 'ended', definition, one_off, route, effective_from, zone_data, 1
       FROM carillon.jobs, generate_series(1, 120) n WHERE job = $1`,
      [job?.key],
    )
    const { operations, operating } = workshop(node, 70)
    const { operation_id: id } = await operations.start(1, { action: 'pause', filter: { state: 'ended' } })
    await toTheEnd(operating)
    const { failed, errors } = await operations.get(1, id)
    expect({ failed, kept: errors.length }).toEqual({ failed: 120, kept: 100 })
  })

  test('is worked on by one of two at a time, and by another when the first dies amid a chunk: no job is done twice', async () => {
    const [one, two] = await house().fleet(2)
    if (one === undefined || two === undefined) throw new Error('There are two.')
    const jobs = await some(one, 4)
    const { operations, operating: survivor } = workshop(two, 2)
    const { operation_id: id } = await operations.start(1, { action: 'trigger', all: true })
    // The first has claimed it and triggered two, and is killed before it commits.
    const dying = await house().session()
    await dying.query('BEGIN')
    await dying.query('SELECT * FROM carillon.operations FOR UPDATE')
    expect(await survivor.runOnce()).toBe(false)
    expect(await operations.get(1, id)).toMatchObject({ done: 0 })
    await dying.end()
    await Promise.all([toTheEnd(survivor), toTheEnd(workshop(one, 2).operating)])
    await toTheEnd(survivor)
    expect(await operations.get(1, id)).toMatchObject({ done: 4, failed: 0, state: 'done' })
    for (const job of jobs) expect(await queueOf(house(), job)).toHaveLength(1)
  })

  test('ends when it is cancelled, and what it did stays', async () => {
    const node = await house().node()
    const jobs = await some(node, 3)
    const { operations, operating } = workshop(node, 1)
    const { operation_id: id } = await operations.start(1, { action: 'pause', all: true })
    await operating.runOnce()
    expect(await operations.cancel(1, id)).toMatchObject({ state: 'cancelled', done: 1 })
    expect(await operating.runOnce()).toBe(false)
    expect(await states(jobs)).toEqual(['paused', 'active', 'active'])
    await expect(operations.cancel(1, id)).rejects.toMatchObject({ code: 'operation_ended' })
  })

  test('does not touch jobs that were made after it was asked for', async () => {
    const node = await house().node()
    await some(node, 1)
    const { operations, operating } = workshop(node)
    await operations.start(1, { action: 'pause', all: true })
    const later = await node.register({ name: 'later', schedule: '@every 1h' })
    await toTheEnd(operating)
    expect(await states([later])).toEqual(['active'])
  })

  test('waits for no lease or close of the runs of its jobs for ever, and does not deadlock with them', async () => {
    const node = await house().node()
    const jobs = await some(node, 2)
    const session = await house().session()
    const [first, second] = [
      await leaseOne(house(), node, jobs[0] ?? { key: 0 }),
      await leaseOne(house(), node, jobs[1] ?? { key: 0 }),
    ]
    // A close holds the later run and wants the earlier: the operation wants both, in the same order as every close.
    await session.query('BEGIN')
    await session.query('SELECT FROM carillon.queue WHERE job = $1 FOR UPDATE', [second.job])
    const { operations, operating } = workshop(node)
    await operations.start(1, { action: 'pause', all: true })
    const done = toTheEnd(operating)
    await house().lockWaits(1)
    expect(first.due).toBeLessThanOrEqual(second.due)
    await session.query('COMMIT')
    await done
    expect(await states(jobs)).toEqual(['paused', 'paused'])
  })

  test('is of one tenant, as its jobs are', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const [mine] = await some(node, 1)
    const foreign = await other.register(node, { schedule: '@every 1h' })
    const { operations, operating } = workshop(node)
    const { operation_id: id } = await operations.start(1, {
      action: 'pause',
      filter: { job_ids: [mine?.job_id ?? '', foreign.job_id, 'job_none'] },
    })
    await toTheEnd(operating)
    expect(await states([mine ?? foreign, foreign])).toEqual(['paused', 'active'])
    await expect(operations.get(other.key, id)).rejects.toMatchObject({ code: 'operation_not_found' })
    await expect(operations.cancel(other.key, id)).rejects.toMatchObject({ code: 'operation_not_found' })
    expect((await operations.list(other.key, { limit: 5, cursor: null })).data).toEqual([])
  })
})

describe('a filter', () => {
  test('is previewed as it is carried out', async () => {
    const node = await house().node()
    const [a, b] = await some(node, 2)
    await node.register({ name: '100%_sure', schedule: '@every 1h', target: { type: 'task', task: 'other' } })
    await node.registry.pause(1, a?.job_id ?? '', {})
    const { operations } = workshop(node)
    const named = async (filter: NonNullable<OperationInput['filter']>) => {
      const { matched, sample } = await operations.preview(1, { action: 'pause', filter })
      expect(sample).toHaveLength(matched)
      return sample.map(({ name }) => name)
    }
    expect(await named({ search: 'BATCH' })).toEqual(['batch-0', 'batch-1'])
    expect(await named({ search: '0%_' })).toEqual(['100%_sure'])
    expect(await named({ search: '%' })).toEqual(['100%_sure'])
    expect(await named({ state: 'paused' })).toEqual(['batch-0'])
    expect(await named({ target: 'task' })).toHaveLength(3)
    expect(await named({ target: 'task:other' })).toEqual(['100%_sure'])
    expect(await named({ target: 'http' })).toEqual([])
    expect(await named({ job_ids: [b?.job_id ?? ''], state: 'active' })).toEqual(['batch-1'])
    expect(await named({ job_ids: ['job_none'] })).toEqual([])
  })

  test('that says nothing needs all, and a word for a pause is refused elsewhere', async () => {
    const node = await house().node()
    const { operations } = workshop(node)
    for (const filter of [undefined, {}, { tags: [] }]) {
      const input = { action: 'delete' as const, ...(filter && { filter }) }
      await expect(operations.preview(1, input)).rejects.toMatchObject({ errors: [{ pointer: '/filter' }] })
      await expect(operations.start(1, input)).rejects.toMatchObject({ errors: [{ pointer: '/filter' }] })
    }
    await expect(operations.start(1, { action: 'delete', all: true, until: 'x' })).rejects.toMatchObject({
      errors: [{ pointer: '/until' }],
    })
  })

  test('gives no job more tags than one may have, and says which had no room', async () => {
    const node = await house().node()
    const { operations, operating } = workshop(node)
    const full = await node.register({ tags: Array.from({ length: limits.tags }, (_, at) => `t${at}`) })
    const roomy = await node.register({ tags: ['t0'] })
    const { operation_id: id } = await operations.start(1, { action: 'tag', all: true, tags: ['more'] })
    await toTheEnd(operating)
    expect(await operations.get(1, id)).toMatchObject({
      failed: 1,
      errors: [{ job_id: full.job_id, code: 'validation_failed' }],
    })
    expect((await node.registry.get(1, full.job_id)).tags).toHaveLength(limits.tags)
    expect((await node.registry.get(1, roomy.job_id)).tags).toEqual(['t0', 'more'])
  })

  test('reads the name of a host in any case', async () => {
    const node = await house().node()
    const { operations } = workshop(node)
    await node.register({ target: { type: 'http', url: 'https://Api.Example.test/x' } })
    const filter = { target: 'http:API.example.TEST' }
    expect(await operations.preview(1, { action: 'pause', filter })).toMatchObject({ matched: 1 })
  })

  test('pages through operations, the latest first', async () => {
    const node = await house().node()
    const { operations } = workshop(node)
    const ids: string[] = []
    for (let n = 0; n < 3; n++)
      ids.unshift((await operations.start(1, { action: 'pause', all: true })).operation_id)
    const first = await operations.list(1, { limit: 2, cursor: null })
    const rest = await operations.list(1, { limit: 2, cursor: first.next_cursor })
    expect([...first.data, ...rest.data].map(({ operation_id }) => operation_id)).toEqual(ids)
    expect(rest.next_cursor).toBeNull()
  })
})
