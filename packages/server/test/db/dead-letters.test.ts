import { describe, expect, test } from 'vitest'
import { die, endAll, hands, placesOf } from '../kit/letters.js'
import { ledgerOf, putRuns } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const page = { limit: 100, cursor: null }

async function idsOf(node: TestNode, query: { job_id?: string; fingerprint?: string } = {}) {
  const { data } = await hands(node).deadLetters.list(1, { ...page, ...query })
  return data.map(({ run_id: runId }) => runId)
}

describe('a dead letter', () => {
  test('has all that is needed to understand it: error, attempts, payload, target, version', async () => {
    const node = await house().node()
    const job = await node.register({ max_retries: 1, payload: { account: 7 } })
    await putRuns(house(), job)
    await house().query('UPDATE carillon.queue SET max_attempts = 2')
    await endAll(house(), node, job, { outcome: 'failed', error: 'first', retryAfterMs: 0 })
    const [runId = ''] = await endAll(house(), node, job, {
      outcome: 'failed',
      reason: 'http_status',
      error: 'answered 500',
      result: { status: 500 },
    })
    const letter = await hands(node).deadLetters.get(1, runId)
    expect(letter).toMatchObject({
      run_id: runId,
      job_id: job.job_id,
      job: job.name,
      reason: 'http_status',
      error: 'answered 500',
      attempts: 2,
      max_attempts: 2,
      round: 1,
      version: 1,
      payload: { account: 7 },
      payload_changed: false,
      target: { type: 'task', task: 'task' },
      result: { status: 500 },
      definition: { name: job.name, payload: { account: 7 } },
      job_state: 'active',
    })
    expect(letter.history).toMatchObject([
      { attempt: 1, round: 1, outcome: 'failed', final: false, error: 'first' },
      { attempt: 2, round: 1, outcome: 'dead', final: true, error: 'answered 500' },
    ])
    expect(
      letter.history.every(({ fencing_token: token, worker }) => token !== null && worker !== null),
    ).toBe(true)
  })

  test('tells the definition that was run, also after the job has been edited', async () => {
    const node = await house().node()
    const job = await node.register({ payload: { was: 1 } })
    const [runId = ''] = await die(house(), node, job)
    await node.registry.edit(1, job.job_id, { payload: { is: 2 }, target: { type: 'task', task: 'other' } })
    expect(await hands(node).deadLetters.get(1, runId)).toMatchObject({
      version: 1,
      payload: { was: 1 },
      target: { type: 'task', task: 'task' },
    })
  })

  test.each(['run_nonsense', '', 'run_000000000000000000000000000000'])(
    'with the id %j there is not',
    async (runId) => {
      const node = await house().node()
      await expect(hands(node).deadLetters.get(1, runId)).rejects.toMatchObject({
        code: 'dead_letter_not_found',
      })
    },
  )
})

describe('the list', () => {
  test('has the latest first, page by page, without a gap or a double among those of one instant', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job, { count: 7 })
    await endAll(house(), node, job, { outcome: 'failed', retryable: false })
    const [latest] = await die(house(), node, job)
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const found: { data: { run_id: string }[]; next_cursor: string | null } = await hands(
        node,
      ).deadLetters.list(1, { limit: 3, cursor })
      expect(found.data.length).toBeLessThanOrEqual(3)
      seen.push(...found.data.map(({ run_id: runId }) => runId))
      cursor = found.next_cursor
    } while (cursor !== null)
    expect(seen).toHaveLength(8)
    expect(new Set(seen).size).toBe(8)
    expect(seen[0]).toBe(latest)
  })

  test('is narrowed to a job, to an error, or to both', async () => {
    const node = await house().node()
    const [one, other] = [await node.register(), await node.register()]
    const [a = '', b = ''] = await die(house(), node, one, [{ error: 'disk full' }, { error: 'no route' }])
    const [c = ''] = await die(house(), node, other, [{ error: 'disk full' }])
    const { fingerprint } = await hands(node).deadLetters.get(1, a)
    expect(await idsOf(node)).toEqual([c, b, a])
    expect(await idsOf(node, { job_id: one.job_id })).toEqual([b, a])
    expect(await idsOf(node, { fingerprint })).toEqual([c, a])
    expect(await idsOf(node, { fingerprint, job_id: other.job_id })).toEqual([c])
  })

  test.each(['!', 'WzFd', 'WzEsMiwzLDk5OTk5LDBd'])('refuses the cursor %s', async (cursor) => {
    const node = await house().node()
    await expect(hands(node).deadLetters.list(1, { limit: 3, cursor })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
  })
})

describe('groups', () => {
  test('are made of errors that differ only in ids, numbers and addresses; the largest is first', async () => {
    const node = await house().node()
    const [one, other] = [await node.register(), await node.register()]
    const unknown = (text: string) => ({ reason: 'task_error', error: text })
    await die(house(), node, one, [unknown('no such table'), unknown('user 17 is unknown\n  at line 3')])
    const [last] = await die(house(), node, other, [unknown('user 18 is unknown\n  at line 9')])
    const { data } = await hands(node).deadLetters.groups(1, {})
    expect(data).toMatchObject([
      {
        count: 2,
        jobs: 2,
        pattern: 'task_error: user <n> is unknown',
        reason: 'task_error',
        example: { run_id: last, error: 'user 18 is unknown\n  at line 9' },
      },
      { count: 1, jobs: 1, pattern: 'task_error: no such table' },
    ])
    expect(Date.parse(data[0]?.last_dead_at ?? '')).toBeGreaterThan(Date.parse(data[0]?.first_dead_at ?? ''))
    const ofOne = await hands(node).deadLetters.groups(1, { job_id: one.job_id })
    expect(ofOne.data.map(({ count }) => count)).toEqual([1, 1])
  })

  test.each([
    ['answered 500', 'answered 503', false],
    ['exited with code 1', 'exited with code 2', false],
    ['POST https://a.example/x?i=1: timed out', 'POST https://b.example/y: timed out', true],
    [
      'order 0b4c2a9e-77f1-4d55-9d5c-1f2e3d4c5b6a is gone',
      'order 9f8e7d6c-5b4a-4321-8765-0a1b2c3d4e5f is gone',
      true,
    ],
    ['took 31.5 s', 'took 7.25 s', true],
    ['boom', 'Boom', false],
    ['boom\nat a.js:1', 'boom\nat b.js:2', true],
  ])('%j and %j are alike: %j and %j', async (a, b, alike) => {
    const [row] = await house().query<{ same: boolean }>(
      `SELECT carillon.error_fingerprint('x', $1) = carillon.error_fingerprint('x', $2) AS same`,
      [a, b],
    )
    expect(row?.same).toBe(alike)
  })

  test('do not put different reasons into one, nor fail at an error of great length or of none', async () => {
    const rows = await house().query<{ fingerprint: string }>(
      `SELECT DISTINCT carillon.error_fingerprint(reason, error) AS fingerprint
       FROM (VALUES ('a', 'x'), ('b', 'x'), ('a', NULL), ('a', repeat('1a-', 300000))) v (reason, error)`,
    )
    expect(rows).toHaveLength(4)
    for (const { fingerprint } of rows) expect(fingerprint).toMatch(/^[0-9a-f]{16}$/)
  })
})

describe('discarding', () => {
  test('takes the letter and leaves the ledger', async () => {
    const node = await house().node()
    const job = await node.register()
    const [runId = '', kept = ''] = await die(house(), node, job, [{}, {}])
    const before = await ledgerOf(house(), job)
    await hands(node).deadLetters.discard(1, runId)
    expect(await idsOf(node)).toEqual([kept])
    expect(await ledgerOf(house(), job)).toEqual(before)
    await expect(hands(node).deadLetters.discard(1, runId)).rejects.toMatchObject({
      code: 'dead_letter_not_found',
    })
    expect(await hands(node).runs.get(1, runId)).toMatchObject({ status: 'dead', round: 1 })
  })

  test('of many takes those that match', async () => {
    const node = await house().node()
    const [one, other] = [await node.register(), await node.register()]
    const [a = '', b = ''] = await die(house(), node, one, [{ error: 'disk full' }, { error: 'no route' }])
    const [c = ''] = await die(house(), node, other, [{ error: 'disk full' }])
    const letters = hands(node).deadLetters
    const { fingerprint, dead_at: deadAt } = await letters.get(1, a)
    expect(await letters.discardMany(1, { before: deadAt })).toBe(0)
    expect(await letters.discardMany(1, { fingerprint, after: deadAt, job_id: one.job_id })).toBe(1)
    expect(await idsOf(node)).toEqual([c, b])
    expect(await letters.discardMany(1, { fingerprint })).toBe(1)
    expect(await idsOf(node)).toEqual([b])
  })

  test.each([
    [{ after: '2026-01-02T00:00:00Z', before: '2026-01-01T00:00:00Z' }, 'query:before'],
    [{ after: '2026-01-01T00:00:00' }, 'query:after'],
    [{ before: 'yesterday' }, 'query:before'],
  ])('%j is refused, and says where', async (filter, pointer) => {
    const node = await house().node()
    await expect(hands(node).deadLetters.discardMany(1, filter)).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer }],
    })
  })
})

test('the dead letters of a tenant are nobody else’s: not to see, not to re-drive, not to discard', async () => {
  const node = await house().node()
  const tenant = await Tenant.make(house())
  const job = await tenant.register(node)
  const [runId = ''] = await die(house(), node, job, [{ error: 'disk full' }])
  const letters = hands(node).deadLetters
  const missing = { code: 'dead_letter_not_found' }
  expect(await idsOf(node)).toEqual([])
  expect((await letters.groups(1, {})).data).toEqual([])
  await expect(letters.get(1, runId)).rejects.toMatchObject(missing)
  await expect(letters.redrive(1, runId, {})).rejects.toMatchObject(missing)
  await expect(letters.discard(1, runId)).rejects.toMatchObject(missing)
  await expect(letters.list(1, { ...page, job_id: job.job_id })).rejects.toMatchObject({
    code: 'job_not_found',
  })
  await expect(hands(node).runs.get(1, runId)).rejects.toMatchObject({ code: 'run_not_found' })
  await expect(hands(node).runs.retry(1, runId, {})).rejects.toMatchObject({ code: 'run_not_found' })
  expect(await letters.discardMany(1, { after: '2000-01-01T00:00:00Z' })).toBe(0)
  expect(await placesOf(house(), job)).toMatchObject({ dead: 1 })
  expect(await letters.get(tenant.key, runId)).toMatchObject({ error: 'disk full' })
})
