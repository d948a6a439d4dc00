import { describe, expect, test } from 'vitest'
import { closePlainStatement, type plainParams } from '../../src/pipeline/record/close-plain.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { closeAll, lease, leaseOne, resultOf } from '../kit/attempts.js'
import { jobAt, targetRow } from '../kit/hosts.js'
import { meddleWith } from '../kit/meddle.js'
import { lockTimeoutsOf, sentBy } from '../kit/plain-fire.js'
import { countOf, ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

type Params = ReturnType<typeof plainParams>
/** A run that the node holds, of a job of its own. */
async function leased() {
  const node = await house().node()
  const job = await node.register()
  return { node, job, run: await leaseOne(house(), node, job) }
}

const closes = (sent: readonly string[]) => sent.filter((name) => /^(close|note)/.test(name))
const close = (node: TestNode, ...results: Parameters<typeof closeAll>[2]) =>
  closeAll(house(), node.closer, results)

/** Sends the short statement by hand. Answers the tokens that it closed. */
async function closePlainly(node: TestNode, run: LeasedRun, change: Partial<Params> = {}): Promise<number[]> {
  const [answer] = await node.database.run(closePlainStatement, {
    holder: run.holder,
    places: [run.place ?? ''],
    tokens: [run.token],
    started_ats: [1],
    finished_ats: [2],
    results: ['{"ok": true}'],
    ...change,
  })
  return answer?.tokens ?? []
}

/** Takes the lease away and gives the run to the node anew, as a rescue does. */
async function leaseAnew(node: TestNode): Promise<LeasedRun> {
  await house().query('UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL')
  const [run] = await lease(node)
  if (run === undefined) throw new Error('The run was not leased again.')
  return run
}

test('the success of a leased run is closed by the short statement alone', async () => {
  const { node, job, run } = await leased()
  const sent = sentBy(node)
  expect(await close(node, await resultOf(house(), node, run))).toEqual(['closed'])
  expect(closes(sent)).toEqual(['close-plain'])
  expect(await queueOf(house(), job)).toEqual([])
  expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true, token: run.token }])
})

test.each([
  ['as usual', '', { result: { ok: true } }],
  ['without a result', '', { result: undefined }],
  ['that never said when it began', '', { startedAt: null }],
  ['that catches up, at its third attempt', 'attempt = 3, catch_up = true', { result: null }],
  ['that was re-driven', 'round = 2', { result: [1, 'a"b'] }],
])('what both ways write of a run %s is the same, column by column', async (_name, change, given) => {
  const node = await house().node()
  const job = await node.register({ overlap_policy: 'ALLOW' })
  await putRuns(house(), job, { count: 2 })
  if (change !== '') await house().query(['UPDATE carillon.queue SET', change].join(' '))
  const runs = await lease(node)
  const [short, long] = await Promise.all(runs.map((run) => resultOf(house(), node, run, given)))
  if (short === undefined || long === undefined) throw new Error('two runs')
  await house().clock.advance(700)
  const sent = sentBy(node)
  expect(await close(node, short, { ...long, run: { ...long.run, place: null } })).toEqual([
    'closed',
    'closed',
  ])
  expect(closes(sent)).toEqual(['close-plain', 'close'])
  const own = ['due', 'token', 'available_at']
  const rows = await house().query('SELECT * FROM carillon.ledger ORDER BY due')
  const [one, other] = rows.map((row) => Object.entries(row).filter(([column]) => !own.includes(column)))
  expect(one).toBeDefined()
  expect(one).toEqual(other)
  expect(rows.map(({ token }) => token).sort()).toEqual([short.run.token, long.run.token].sort())
})

test('a run that is to be cancelled and succeeds all the same is a success', async () => {
  const { node, job, run } = await leased()
  const [row] = await house().query<{ place: string }>(
    'UPDATE carillon.queue SET cancel_requested = true RETURNING ctid::text AS place',
  )
  expect(await closePlainly(node, run, { places: [row?.place ?? ''] })).toEqual([run.token])
  expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true, token: run.token }])
})

describe('the short statement closes nothing', () => {
  async function expectUntouched(closing: (node: TestNode, run: LeasedRun) => Promise<number[]>) {
    const { node, job, run } = await leased()
    const before = await queueOf(house(), job)
    expect(await closing(node, run)).toEqual([])
    expect(await queueOf(house(), job)).toEqual(before)
    expect(await countOf(house(), 'ledger')).toBe(0)
  }

  test('under another token', () =>
    expectUntouched((node, run) => closePlainly(node, run, { tokens: [run.token + 1] })))

  test('of another holder', () =>
    expectUntouched((node, run) => closePlainly(node, run, { holder: run.holder + 1 })))

  test('where the run does not lie', () =>
    expectUntouched((node, run) => closePlainly(node, run, { places: ['(9999,1)'] })))

  test('of a tenant with a cap', async () => {
    const node = await house().node()
    const tenant = await Tenant.make(house(), { cap: 5 })
    const run = await leaseOne(house(), node, await tenant.register(node))
    expect(await closePlainly(node, run)).toEqual([])
    expect(await tenant.slots()).toEqual({ taken: 1, held: 1 })
  })

  test('that another of its own runs holds the place of: that one is closed only if it is named', async () => {
    const { node, job, run } = await leased()
    const other = await leaseOne(house(), node, await node.register())
    expect(await closePlainly(node, run, { places: [other.place ?? ''] })).toEqual([])
    expect(await countOf(house(), 'queue')).toBe(2)
    const both = { places: [run.place ?? '', other.place ?? ''], started_ats: [1, 1], finished_ats: [2, 2] }
    const tokens = { tokens: [other.token, run.token], results: ['"other"', '"run"'] }
    expect((await closePlainly(node, run, { ...both, ...tokens })).sort()).toEqual(
      [run.token, other.token].sort(),
    )
    expect(await ledgerOf(house(), job)).toMatchObject([{ token: run.token, result: 'run' }])
  })
})

test('a result of a run that was leased anew is stale, and the new lease goes on', async () => {
  const { node, job, run } = await leased()
  const renewed = await leaseAnew(node)
  // Where the new lease lies, by chance.
  const result = await resultOf(house(), node, { ...run, place: renewed.place })
  expect(await close(node, result)).toEqual(['stale'])
  expect(await queueOf(house(), job)).toMatchObject([{ token: renewed.token }])
  expect(await close(node, await resultOf(house(), node, renewed))).toEqual(['closed'])
})

test('a result that is in a batch twice is noted once', async () => {
  const { node, job, run } = await leased()
  const result = await resultOf(house(), node, run)
  expect(await close(node, result, result)).toEqual(['closed', 'closed'])
  expect(await ledgerOf(house(), job)).toHaveLength(1)
})

test('a run whose row has moved since is closed by the long statement', async () => {
  const { node, job, run } = await leased()
  await house().query('UPDATE carillon.queue SET cancel_requested = true')
  const sent = sentBy(node)
  expect(await close(node, await resultOf(house(), node, run))).toEqual(['closed'])
  expect(closes(sent)).toEqual(['close-plain', 'close'])
  expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
})

test('the places of a tenant with a cap are given back, beside runs of tenants without', async () => {
  const node = await house().node()
  const tenant = await Tenant.make(house(), { cap: 5 })
  await putRuns(house(), await tenant.register(node), { count: 2 })
  await putRuns(house(), await node.register(), { count: 2 })
  const runs = await lease(node)
  expect(await tenant.slots()).toEqual({ taken: 2, held: 2 })
  const results = await Promise.all(runs.map((run) => resultOf(house(), node, run)))
  const sent = sentBy(node)
  expect(await close(node, ...results)).toEqual(Array(4).fill('closed'))
  expect(closes(sent)).toEqual(['close-plain', 'close'])
  expect(await tenant.slots()).toEqual({ taken: 0, held: 0 })
})

test('a cap that comes while runs are being closed counts those that are left', async () => {
  const node = await house().node()
  const tenant = await Tenant.make(house())
  await putRuns(house(), await tenant.register(node), { count: 2 })
  const [ending, going] = await lease(node)
  if (ending === undefined || going === undefined) throw new Error('two runs')
  const capper = await house().session()
  await capper.query('BEGIN')
  await capper.query('SELECT carillon.cap_tenant($1, 5)', [tenant.key])
  const closing = close(node, await resultOf(house(), node, ending))
  await house().lockWaits(1)
  await capper.query('COMMIT')
  expect(await closing).toEqual(['closed'])
  expect(await tenant.slots()).toEqual({ taken: 1, held: 1 })
})

test('a run at a host goes the long way, which gives the place at the host back', async () => {
  const node = await house().node()
  await node.targets.put(1, 'counted.test', { max_concurrent: 5 })
  const run = await leaseOne(house(), node, await jobAt(node, 'counted.test'))
  expect(await targetRow(house(), 'counted.test')).toMatchObject({ in_use: 1 })
  const sent = sentBy(node)
  expect(await close(node, await resultOf(house(), node, run))).toEqual(['closed'])
  expect(closes(sent)).toEqual(['close'])
  expect(await targetRow(house(), 'counted.test')).toMatchObject({ in_use: 0 })
})

test.each([
  ['a failure', { outcome: 'failed' as const }],
  ['a failure without a word about it', { outcome: 'failed' as const, reason: null, error: null }],
  ['a run that was cancelled', { outcome: 'cancelled' as const, reason: 'cancelled', error: 'cancelled' }],
  ['a success with a reason', { reason: 'skipped' }],
  ['a success with a word about it', { error: 'What the target said could not be stored' }],
  ['a run without its definition', { definition: null }],
  ['a run that nobody was heard of', { unheard: true }],
])('%s goes the long way', async (_name, given) => {
  const { node, run } = await leased()
  const sent = sentBy(node)
  await close(node, await resultOf(house(), node, run, given))
  expect(closes(sent)).toEqual(['close'])
})

test('a run whose place nobody knows goes the long way', async () => {
  const { node, run } = await leased()
  const sent = sentBy(node)
  const result = await resultOf(house(), node, { ...run, place: null })
  expect(await close(node, result)).toEqual(['closed'])
  expect(closes(sent)).toEqual(['close'])
})

test('a close whose answer was lost is sent again, says already, and adds no row', async () => {
  const { node, job, run } = await leased()
  let lost = false
  meddleWith(node.database, 'close-plain', async (send) => {
    const rows = await send()
    if (lost) return rows
    lost = true
    throw Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })
  })
  const sent = sentBy(node)
  const closing = node.closer.close(await resultOf(house(), node, run))
  expect(await house().during(closing)).toBe('already')
  expect(closes(sent)).toEqual(['close-plain', 'close-plain', 'close', 'note-stale'])
  expect(await ledgerOf(house(), job)).toHaveLength(1)
})

describe('a run that somebody holds', () => {
  async function held() {
    const { node, job, run } = await leased()
    const holder = await house().session()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM carillon.queue FOR UPDATE')
    return { node, job, run, holder }
  }

  test('is waited for no longer than a moment', async () => {
    const { node, run, holder } = await held()
    await expect(closePlainly(node, run)).rejects.toMatchObject({ code: '55P03' })
    await holder.query('ROLLBACK')
    expect(await countOf(house(), 'queue')).toBe(1)
    // The bound is the statement's own, and not that of the connection afterwards.
    expect(await closePlainly(node, run)).toEqual([run.token])
    expect(await lockTimeoutsOf(node)).toEqual(['0'])
  })

  test('is closed by the long statement when it is free, and so are those beside it', async () => {
    const { node, job, run, holder } = await held()
    const beside = await leaseOne(house(), node, await node.register())
    const results = [await resultOf(house(), node, run), await resultOf(house(), node, beside)]
    let long = false
    meddleWith(node.database, 'close', (send) => {
      long = true
      return send()
    })
    const closing = close(node, ...results)
    await expect.poll(() => long).toBe(true)
    await house().lockWaits(1)
    await holder.query('ROLLBACK')
    expect(await closing).toEqual(['closed', 'closed'])
    expect(await ledgerOf(house(), job)).toHaveLength(1)
    expect(await countOf(house(), 'queue')).toBe(0)
  })
})
