import { describe, expect, test } from 'vitest'
import { lease } from '../kit/attempts.js'
import { Gate } from '../kit/gate.js'
import { accountOf, die, endAll, hands, placesOf } from '../kit/letters.js'
import { OverlappingJob } from '../kit/overlapping-job.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const anHour = 3_600_000

describe('a re-driven run', () => {
  test('is the first attempt of a new round, with its id, tick and attempts as before', async () => {
    const node = await house().node()
    const job = await node.register({ max_retries: 2 })
    const [runId = ''] = await die(house(), node, job)
    const [before] = await ledgerOf(house(), job)
    await house().clock.advance(anHour)
    expect(await hands(node).deadLetters.redrive(1, runId, {})).toMatchObject({
      run_id: runId,
      scheduled_at: utcText(before?.due ?? 0),
      status: 'pending',
      attempt: 1,
      round: 2,
      max_attempts: 9,
      error: 'boom',
    })
    expect(await placesOf(house(), job)).toEqual({ queued: 1, dead: 0, ended: 1 })
    const [run] = await lease(node)
    expect(run).toMatchObject({ due: before?.due, round: 1, attempt: 1, firedAt: await house().now() })
    expect(run?.token).toBeGreaterThan(before?.token ?? 0)
  })

  test('ends with a final row of its own round, and is in one place at every moment', async () => {
    const node = await house().node()
    const job = await node.register()
    const [runId = ''] = await die(house(), node, job)
    await hands(node).deadLetters.redrive(1, runId, {})
    await endAll(house(), node, job, { outcome: 'failed', retryable: false, error: 'again' })
    expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 1, ended: 2 })
    expect(await hands(node).deadLetters.get(1, runId)).toMatchObject({ round: 2, error: 'again' })
    await hands(node).deadLetters.redrive(1, runId, {})
    await endAll(house(), node, job)
    expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 0, ended: 3 })
    expect(
      (await ledgerOf(house(), job)).map(({ round, outcome, final }) => [round, outcome, final]),
    ).toEqual([
      [0, 'dead', true],
      [1, 'dead', true],
      [2, 'success', true],
    ])
    expect(await hands(node).runs.get(1, runId)).toMatchObject({ status: 'success', round: 3 })
  })

  test('counts max_elapsed_seconds from the re-drive, not from its tick', async () => {
    const node = await house().node()
    const job = await node.register({ retry: { max_elapsed_seconds: 60 } })
    const [runId = ''] = await die(house(), node, job)
    await house().clock.advance(anHour)
    await hands(node).deadLetters.redrive(1, runId, {})
    await endAll(house(), node, job, { outcome: 'failed', retryAfterMs: 50_000 })
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2 }])
    await house().clock.advance(50_000)
    await node.beat()
    await endAll(house(), node, job, { outcome: 'failed', retryAfterMs: 50_000 })
    expect(await placesOf(house(), job)).toMatchObject({ queued: 0, dead: 1 })
  })

  test('of a paused job waits until that is resumed', async () => {
    const node = await house().node()
    const job = await node.register()
    const [runId = ''] = await die(house(), node, job)
    await node.registry.pause(1, job.job_id, {})
    expect(await hands(node).deadLetters.redrive(1, runId, {})).toMatchObject({
      status: 'pending',
      reason: 'job_paused',
    })
    expect(await lease(node)).toEqual([])
    await node.registry.resume(1, job.job_id)
    expect((await lease(node)).map(({ round }) => round)).toContain(1)
  })

  test('of a deleted job there is not: the letter stays, and the answer says what to do', async () => {
    const node = await house().node()
    const job = await node.register()
    const [runId = ''] = await die(house(), node, job)
    await node.registry.delete(1, job.job_id)
    await expect(hands(node).deadLetters.redrive(1, runId, {})).rejects.toMatchObject({ code: 'job_deleted' })
    expect(await placesOf(house(), job)).toMatchObject({ queued: 0, dead: 1 })
    expect(await hands(node).deadLetters.get(1, runId)).toMatchObject({ job_state: 'deleted' })
  })

  test('takes no overlap place until it is leased, and waits for the run that has it', async () => {
    const job = await OverlappingJob.register(house(), await house().node(), {
      overlap_policy: 'SKIP',
      max_retries: 0,
    })
    await job.toTick(1)
    await job.close(await job.leaseOne(), { outcome: 'failed' })
    const [first] = await ledgerOf(house(), job)
    await job.toTick(2)
    const second = await job.leaseOne()
    const { data } = await hands(job.node).deadLetters.list(1, { limit: 1, cursor: null })
    await hands(job.node).deadLetters.redrive(1, data[0]?.run_id ?? '', {})
    expect(await job.places()).toEqual([
      [1, null, 'ready'],
      [2, 0, 'held'],
    ])
    expect(await job.lease()).toEqual([])
    await job.close(second)
    const [again] = await job.lease()
    expect(again).toMatchObject({ due: first?.due, round: 1 })
    expect(await job.places()).toEqual([[1, 0, 'held']])
    await job.toTick(3)
    expect(await job.ends()).toContainEqual([3, 'skipped', 'overlap'])
  })

  test('of a tenant with a cap gives its place back when it ends', async () => {
    const node = await house().node()
    const tenant = await Tenant.make(house(), { cap: 1 })
    const job = await tenant.register(node)
    const [runId = ''] = await die(house(), node, job)
    expect(await tenant.slots()).toEqual({ taken: 0, held: 0 })
    await hands(node).deadLetters.redrive(tenant.key, runId, {})
    await lease(node)
    expect(await tenant.slots()).toEqual({ taken: 1, held: 1 })
  })
})

describe('a payload that is given with a re-drive', () => {
  test.each([[{ fixed: true }], [null], [[1, 'two']], ['text'], [0], [false]])(
    '%j is delivered in place of the job’s, and kept in further rounds',
    async (payload) => {
      const node = await house().node()
      const job = await node.register({ payload: { broken: true }, max_retries: 1 })
      const [runId = ''] = await die(house(), node, job)
      await hands(node).deadLetters.redrive(1, runId, { payload })
      await endAll(house(), node, job, { outcome: 'failed', retryAfterMs: 0 })
      const [retry] = await lease(node)
      expect(retry).toMatchObject({ attempt: 2, payload })
      await house().query('UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL')
      await endAll(house(), node, job, { outcome: 'failed', retryable: false })
      expect(await hands(node).deadLetters.get(1, runId)).toMatchObject({ payload, payload_changed: true })
      await hands(node).deadLetters.redrive(1, runId, {})
      expect(await lease(node)).toMatchObject([{ payload, round: 2 }])
    },
  )

  test('is not given to a run whose re-drive says nothing of it', async () => {
    const node = await house().node()
    const job = await node.register({ payload: { mine: 1 } })
    const [runId = ''] = await die(house(), node, job)
    await hands(node).deadLetters.redrive(1, runId, {})
    const [run] = await lease(node)
    expect(run).toBeDefined()
    expect(run).not.toHaveProperty('payload')
  })
})

describe('after the job was corrected', () => {
  const edit = {
    target: { type: 'task', task: 'other' },
    max_retries: 4,
    overlap_policy: 'ALLOW',
    max_concurrent: 3,
  } as const

  test('a re-drive runs what it ran, unless told otherwise', async () => {
    const node = await house().node({ tasks: ['task', 'other'] })
    const job = await node.register()
    const [runId = ''] = await die(house(), node, job)
    await node.registry.edit(1, job.job_id, edit)
    const [before] = await house().query<{ route: number }>('SELECT route FROM carillon.dead_letters')
    await hands(node).deadLetters.redrive(1, runId, {})
    expect(await queueOf(house(), job)).toMatchObject([
      { version: 1, max_attempts: 9, places: null, route: before?.route },
    ])
  })

  test('version current runs it as the job is now: target, retries, places', async () => {
    const node = await house().node({ tasks: ['other'] })
    const job = await node.register({ target: { type: 'task', task: 'other' } })
    const [runId = ''] = await die(house(), node, job)
    await node.registry.edit(1, job.job_id, edit)
    await hands(node).deadLetters.redrive(1, runId, { version: 'current' })
    const [route] = await house().query<{ route: number }>('SELECT route FROM carillon.jobs')
    expect(await queueOf(house(), job)).toMatchObject([
      { version: 2, max_attempts: 5, places: 3, route: route?.route, round: 1 },
    ])
    // What is as usual stands in no definition.
    await node.registry.edit(1, job.job_id, { overlap_policy: null, max_concurrent: null, max_retries: null })
    await endAll(house(), node, job, { outcome: 'failed', retryable: false })
    await hands(node).deadLetters.redrive(1, runId, { version: 'current' })
    expect(await queueOf(house(), job)).toMatchObject([{ version: 3, max_attempts: 4, places: 1, round: 2 }])
  })
})

describe('of several who want one letter at once', () => {
  test.each([
    ['re-drive it', 'redrive', 'redrive'],
    ['re-drive and discard it', 'redrive', 'discard'],
    ['discard and re-drive it', 'discard', 'redrive'],
    ['discard it', 'discard', 'discard'],
  ] as const)('two %s: the first has it, the second finds it gone', async (_name, first, second) => {
    const node = await house().node()
    const job = await node.register()
    const [runId = ''] = await die(house(), node, job)
    const act = (what: 'redrive' | 'discard') =>
      what === 'redrive'
        ? hands(node).deadLetters.redrive(1, runId, {})
        : hands(node).deadLetters.discard(1, runId)
    const gate = await Gate.closeBefore(house(), 'DELETE', 'dead_letters')
    const winner = act(first)
    await house().lockWaits(1)
    const loser = expect(act(second)).rejects.toMatchObject({ code: 'dead_letter_not_found' })
    await house().lockWaits(2)
    await gate.open()
    await winner
    await loser
    expect(await placesOf(house(), job)).toEqual({ queued: first === 'redrive' ? 1 : 0, dead: 0, ended: 1 })
  })

  test('ten re-drives at once make one run', async () => {
    const node = await house().node()
    const job = await node.register()
    const [runId = ''] = await die(house(), node, job)
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, () => hands(node).deadLetters.redrive(1, runId, {})),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await placesOf(house(), job)).toEqual({ queued: 1, dead: 0, ended: 1 })
  })

  test('a delete of the job that waits for a re-drive cancels what it brought back', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const [runId = ''] = await die(house(), node, job)
    const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
    const redriven = hands(node).deadLetters.redrive(1, runId, {})
    await house().lockWaits(1)
    const gone = node.registry.delete(1, job.job_id)
    await house().lockWaits(2)
    await gate.open()
    await Promise.all([redriven, gone])
    expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 0, ended: 2 })
    expect((await ledgerOf(house(), job)).at(-1)).toMatchObject({
      outcome: 'cancelled',
      reason: 'deleted',
      round: 1,
    })
  })

  test('a re-drive that waits for a delete of the job leaves the letter', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const [runId = ''] = await die(house(), node, job)
    const deleting = await house().session()
    await deleting.query('BEGIN')
    await deleting.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [job.key])
    await deleting.query(`UPDATE carillon.jobs SET state = 'deleted', ended_at = 1 WHERE job = $1`, [job.key])
    const refused = expect(hands(node).deadLetters.redrive(1, runId, {})).rejects.toMatchObject({
      code: 'job_deleted',
    })
    await house().lockWaits(1)
    await deleting.query('COMMIT')
    await refused
    expect(await placesOf(house(), job)).toMatchObject({ queued: 0, dead: 1 })
  })
})

test('retry of a run that is no dead letter says what it is instead', async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job)
  const [done = ''] = await endAll(house(), node, job)
  await expect(hands(node).runs.retry(1, done, {})).rejects.toMatchObject({
    code: 'run_not_dead',
    message: expect.stringContaining('success') as string,
  })
  const [dead = ''] = await die(house(), node, job)
  expect(await hands(node).runs.retry(1, dead, {})).toMatchObject({ run_id: dead, round: 2 })
})

test('why and verify say the truth of a tick that died, was re-driven and succeeded', async () => {
  const node = await house().node({ leaseAheadMs: 0 })
  const job = await OverlappingJob.register(house(), node, { max_retries: 0 })
  await job.toTick(1)
  const run = await job.leaseOne()
  await job.close(run, { outcome: 'failed', error: 'answered 500', reason: 'http_status' })
  await house().clock.advance(1)
  const account = accountOf(house())
  const at = utcText(run.due)
  const why = () => account.why(1, job.job_id, at)
  const verify = () => account.verify(1, { from: utcText(run.due - 1), jobId: job.job_id, budgetMs: null })
  const letter = (await hands(node).deadLetters.list(1, { limit: 1, cursor: null })).data[0]
  const clean = { expected: 1, unaccounted: 0, doubled: 0, findings: [] }

  expect(await why()).toMatchObject({
    verdict: 'ran',
    summary: expect.stringMatching(/dead.*answered 500/) as string,
    todo: expect.stringContaining(`carillon dead-letters show ${letter?.run_id}`) as string,
  })
  expect((await why()).todo).not.toContain('--current')
  expect(await verify()).toMatchObject({ ...clean, ran: 1, failed: 1 })

  await node.registry.edit(1, job.job_id, { max_retries: 1 })
  expect((await why()).todo).toContain(
    `(it ran version 1, and 2 is current): carillon dead-letters redrive ${letter?.run_id} --current`,
  )
  await hands(node).deadLetters.redrive(1, letter?.run_id ?? '', {})
  expect(await why()).toMatchObject({
    verdict: 'in_flight',
    summary: expect.stringContaining('round 2') as string,
  })
  expect(await verify()).toMatchObject({ ...clean, in_flight: 1, failed: 0 })

  await job.close(await job.leaseOne())
  const answer = await why()
  expect(answer).toMatchObject({ verdict: 'ran', summary: expect.stringContaining('succeeded') as string })
  expect(answer.attempts.map(({ round, outcome }) => [round, outcome])).toEqual([
    [1, 'dead'],
    [2, 'success'],
  ])
  expect(await verify()).toMatchObject({ ...clean, ran: 1, failed: 0 })
})

test('of a dead letter that was discarded why says so', async () => {
  const node = await house().node({ leaseAheadMs: 0 })
  const job = await OverlappingJob.register(house(), node, { max_retries: 0 })
  await job.toTick(1)
  const run = await job.leaseOne()
  await job.close(run, { outcome: 'failed' })
  const [letter] = (await hands(node).deadLetters.list(1, { limit: 1, cursor: null })).data
  await hands(node).deadLetters.discard(1, letter?.run_id ?? '')
  expect(await accountOf(house()).why(1, job.job_id, utcText(run.due))).toMatchObject({
    verdict: 'ran',
    todo: expect.stringContaining('discarded') as string,
  })
})
