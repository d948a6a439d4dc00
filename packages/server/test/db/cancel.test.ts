import { describe, expect, test } from 'vitest'
import { runIdOf } from '../../src/platform/ids.js'
import { lease, leaseOne } from '../kit/attempts.js'
import { Gate } from '../kit/gate.js'
import { accountOf, die, endAll, hands, onlyRun, placesOf } from '../kit/letters.js'
import { OverlappingJob } from '../kit/overlapping-job.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import { failed, type NodeOptions, succeeded, type TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

const cancel = (node: TestNode, runId: string) => hands(node).runs.cancel(1, runId)

/** A delivery that goes on until the test ends it, or until it is told to stop. */
function slowly() {
  const open: { finish: (delivered: typeof succeeded) => void; signal: AbortSignal }[] = []
  const deliver: NonNullable<NodeOptions['deliver']> = (_run, _definition, { signal }) =>
    new Promise((finish) => {
      open.push({ finish, signal })
      signal.addEventListener('abort', () => finish({ ...failed, reason: 'worker_stopped' }))
    })
  return { open, deliver }
}

describe('a run that nobody holds', () => {
  test('ends at once as cancelled, and is leased no more', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job)
    const runId = await onlyRun(house(), job)
    expect(await cancel(node, runId)).toMatchObject({
      run_id: runId,
      status: 'cancelled',
      reason: 'cancel_requested',
      started_at: null,
    })
    expect(await lease(node)).toEqual([])
    expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 0, ended: 1 })
  })

  test('and waits for its retry ends, with what had failed before on record', async () => {
    const node = await house().node()
    const job = await node.register({ max_retries: 3 })
    await putRuns(house(), job)
    const [runId = ''] = await endAll(house(), node, job, { outcome: 'failed', retryAfterMs: 60_000 })
    const run = await cancel(node, runId)
    expect(run).toMatchObject({ status: 'cancelled', attempt: 2, error: 'boom' })
    expect(run.attempts.map(({ attempt, outcome, final }) => [attempt, outcome, final])).toEqual([
      [1, 'failed', false],
      [2, 'cancelled', true],
    ])
    await house().clock.advance(120_000)
    await node.beat()
    expect(await lease(node)).toEqual([])
    expect(await placesOf(house(), job)).toMatchObject({ dead: 0 })
  })

  test('gives its overlap place to the run that waits for it', async () => {
    const job = await OverlappingJob.register(house(), await house().node(), { overlap_policy: 'QUEUE' })
    await job.toTick(1)
    await job.toTick(2)
    expect(await job.places()).toEqual([
      [1, 0, 'ready'],
      [2, -1, 'ready'],
    ])
    const [first] = await queueOf(house(), job)
    await cancel(job.node, runIdOf({ ...(first ?? failedToFind()), origin: 0, seq: 0 }))
    expect(await job.leasedTicks()).toEqual([2])
  })

  test('and was re-driven ends in its new round: no letter of it is left', async () => {
    const node = await house().node()
    const job = await node.register()
    const [runId = ''] = await die(house(), node, job)
    await hands(node).deadLetters.redrive(1, runId, {})
    expect(await cancel(node, runId)).toMatchObject({ status: 'cancelled', round: 2 })
    expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 0, ended: 2 })
  })

  test('and is staged ends; the cursor does not come back to its tick, whatever is done to the job', async () => {
    const node = await house().node()
    const job = await OverlappingJob.register(house(), node, {})
    await job.toTick(1, -1_500)
    await cancel(node, await onlyRun(house(), job))
    await node.registry.pause(1, job.job_id, {})
    await node.registry.resume(1, job.job_id)
    await node.registry.edit(1, job.job_id, { payload: 1 })
    await job.toTick(2)
    expect(await job.ends()).toEqual([[1, 'cancelled', 'cancel_requested']])
    expect(await job.leasedTicks()).toEqual([2])
  })

  test('and is staged behind an earlier one cannot be cancelled before that', async () => {
    const node = await house().node({ minIntervalMs: 1_000 })
    const job = await node.register({ schedule: '* * * * * *', overlap_policy: 'ALLOW' })
    const now = await house().now()
    await putRuns(house(), job, { count: 2, availableAt: now + 500 })
    const [first, second] = await queueOf(house(), job)
    const id = (row: typeof first) => runIdOf({ ...(row ?? failedToFind()), origin: 0, seq: 0 })
    await expect(cancel(node, id(second))).rejects.toMatchObject({ code: 'run_ahead' })
    expect(await queueOf(house(), job)).toHaveLength(2)
    await cancel(node, id(first))
    await cancel(node, id(second))
    expect(await queueOf(house(), job)).toEqual([])
  })
})

describe('a run that a worker holds', () => {
  test('ahead of its time is not started: the worker ends it', async () => {
    const node = await house().node({ leaseAheadMs: 5_000 })
    const job = await node.register()
    await putRuns(house(), job, { availableAt: (await house().now()) + 4_000 })
    await node.worker.leaseOnce()
    expect(await cancel(node, await onlyRun(house(), job))).toMatchObject({
      status: 'pending',
      reason: 'cancel_requested',
    })
    const look = node.worker.lookOnce()
    await house().finished(node)
    await look
    await house().clock.advance(10_000)
    expect(node.delivered).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancel_requested', started_at: null },
    ])
  })

  test('and that is under way is told to stop, and ends as cancelled', async () => {
    const { open, deliver } = slowly()
    const node = await house().node({ deliver })
    const job = await node.register({ max_retries: 5 })
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    const runId = await onlyRun(house(), job)
    expect(await cancel(node, runId)).toMatchObject({ status: 'running', reason: 'cancel_requested' })
    await node.worker.lookOnce()
    expect(open[0]?.signal.reason).toMatchObject({ message: 'the run was cancelled' })
    await house().finished(node)
    expect(await hands(node).runs.get(1, runId)).toMatchObject({
      status: 'cancelled',
      reason: 'cancel_requested',
      started_at: expect.any(String) as string,
    })
    expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 0, ended: 1 })
  })

  test.each([
    ['success', succeeded, 'success'],
    ['failed for good', { ...failed, retryable: false }, 'failed'],
    ['failed, with attempts left', failed, 'failed'],
  ])(
    'and that %s all the same keeps its result, without a retry or a dead letter',
    async (_name, came, outcome) => {
      let finish: (delivered: typeof succeeded) => void = () => undefined
      const node = await house().node({ deliver: () => new Promise((resolve) => (finish = resolve)) })
      const job = await node.register({ max_retries: 5 })
      await putRuns(house(), job)
      await node.worker.leaseOnce()
      await cancel(node, await onlyRun(house(), job))
      await node.worker.lookOnce()
      finish(came)
      await house().finished(node)
      expect(await ledgerOf(house(), job)).toMatchObject([{ outcome, final: true }])
      expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 0, ended: 1 })
    },
  )

  test('that is dead ends when its runs are taken back, and is not run again', async () => {
    const [node, lost] = (await house().fleet(2, { leaseAheadMs: 0 })) as [TestNode, TestNode]
    const job = await node.register({ max_retries: 5 })
    await leaseOne(house(), lost, job)
    await cancel(node, await onlyRun(house(), job))
    await lost.crash()
    await until('the dead process is found', async () => {
      await house().clock.advance(1_000)
      await node.beat()
      await node.rescue.runOnce()
      return (await queueOf(house(), job)).length === 0
    })
    expect((await ledgerOf(house(), job)).at(-1)).toMatchObject({ final: true, reason: 'worker_lost' })
    expect(await placesOf(house(), job)).toEqual({ queued: 0, dead: 0, ended: 1 })
    expect(await lease(node)).toEqual([])
  })

  test('of a tenant with a cap gives its place back', async () => {
    const { deliver } = slowly()
    const node = await house().node({ deliver })
    const tenant = await Tenant.make(house(), { cap: 2 })
    const job = await tenant.register(node)
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    expect(await tenant.slots()).toEqual({ taken: 1, held: 1 })
    await hands(node).runs.cancel(tenant.key, await onlyRun(house(), job))
    await node.worker.lookOnce()
    await house().finished(node)
    expect(await tenant.slots()).toEqual({ taken: 0, held: 0 })
  })

  test('goes on when only its job is paused or deleted: its result is kept', async () => {
    let finish: () => void = () => undefined
    const node = await house().node({
      deliver: () => new Promise((resolve) => (finish = () => resolve(succeeded))),
    })
    const job = await node.register()
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    await node.registry.pause(1, job.job_id, {})
    await node.worker.lookOnce()
    await node.registry.delete(1, job.job_id)
    await node.worker.lookOnce()
    finish()
    await house().finished(node)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', result: { ok: true } }])
  })

  test('and is cancelled after its job was deleted is told to stop after all', async () => {
    const { open, deliver } = slowly()
    const node = await house().node({ deliver })
    const job = await node.register()
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    await node.registry.delete(1, job.job_id)
    await node.worker.lookOnce()
    expect(open[0]?.signal.aborted).toBe(false)
    await cancel(node, await onlyRun(house(), job))
    await node.worker.lookOnce()
    expect(open[0]?.signal.aborted).toBe(true)
    await house().finished(node)
  })
})

describe('cancelling', () => {
  test('a run that has ended is refused, and says how it ended', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job)
    const [runId = ''] = await endAll(house(), node, job)
    await expect(cancel(node, runId)).rejects.toMatchObject({
      code: 'run_ended',
      message: expect.stringContaining('succeeded') as string,
    })
    const [dead = ''] = await die(house(), node, job)
    await expect(cancel(node, dead)).rejects.toMatchObject({ code: 'run_ended' })
    expect(await placesOf(house(), job)).toMatchObject({ dead: 1 })
  })

  test.each(['run_x', 'run_000000000000000000000000000000'])('%s is no run', async (runId) => {
    await expect(cancel(await house().node(), runId)).rejects.toMatchObject({ code: 'run_not_found' })
  })

  test('the run of another tenant is no run', async () => {
    const node = await house().node()
    const tenant = await Tenant.make(house())
    const job = await tenant.register(node)
    await putRuns(house(), job)
    await expect(cancel(node, await onlyRun(house(), job))).rejects.toMatchObject({ code: 'run_not_found' })
    expect(await queueOf(house(), job)).toMatchObject([{ cancel_requested: false }])
  })

  test('while a lease is in progress asks the worker that gets it', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job)
    const runId = await onlyRun(house(), job)
    const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
    const leased = lease(node)
    await house().lockWaits(1)
    const asked = cancel(node, runId)
    await house().lockWaits(2)
    await gate.open()
    expect(await leased).toHaveLength(1)
    expect(await asked).toMatchObject({ reason: 'cancel_requested' })
    expect(await queueOf(house(), job)).toMatchObject([
      { cancel_requested: true, holder: node.membership.incarnation },
    ])
  })

  test('that waits for a lease finds the run held, and not as it was before', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job)
    const runId = await onlyRun(house(), job)
    const leasing = await house().session()
    await leasing.query('BEGIN')
    await leasing.query('UPDATE carillon.queue SET holder = $1, token = 1, leased_at = 1', [
      node.membership.incarnation,
    ])
    const asked = cancel(node, runId)
    await house().lockWaits(1)
    await leasing.query('COMMIT')
    expect(await asked).toMatchObject({ reason: 'cancel_requested' })
    expect(await queueOf(house(), job)).toMatchObject([
      { cancel_requested: true, holder: node.membership.incarnation, token: 1 },
    ])
  })

  test('twice is the same as once', async () => {
    const node = await house().node()
    const job = await node.register()
    await leaseOne(house(), node, job)
    const runId = await onlyRun(house(), job)
    await cancel(node, runId)
    expect(await cancel(node, runId)).toMatchObject({ reason: 'cancel_requested' })
  })
})

test('why and verify say the truth of ticks that were cancelled: waiting, after a failure, after a death', async () => {
  const node = await house().node({ leaseAheadMs: 0 })
  const job = await OverlappingJob.register(house(), node, { max_retries: 1, overlap_policy: 'ALLOW' })
  const account = accountOf(house())
  const why = (tick: number) => account.why(1, job.job_id, utcText(job.due(tick)))
  const runOf = async (tick: number) => (await why(tick)).run_id ?? ''

  await job.toTick(1)
  await cancel(node, await runOf(1))
  await job.toTick(2)
  await job.close(await job.leaseOne(), { outcome: 'failed', error: 'no route', retryAfterMs: 3_600_000 })
  await cancel(node, await runOf(2))
  await job.toTick(3)
  await job.close(await job.leaseOne(), { outcome: 'failed', retryable: false })
  await hands(node).deadLetters.redrive(1, await runOf(3), {})
  await cancel(node, await runOf(3))
  await house().clock.advance(1)

  expect(await why(1)).toMatchObject({
    verdict: 'skipped',
    reason: 'cancel_requested',
    summary: 'Cancelled (cancel_requested): somebody asked to cancel it.',
  })
  expect((await why(2)).summary).toMatch(/^Cancelled .*attempt 1 had failed before \(no route\)\.$/)
  expect(await why(3)).toMatchObject({
    verdict: 'ran',
    summary: expect.stringMatching(/cancelled in attempt 1.*round 2/) as string,
  })
  expect(
    await account.verify(1, {
      from: utcText(job.due(1)),
      jobId: job.job_id,
      budgetMs: null,
    }),
  ).toMatchObject({
    expected: 3,
    ran: 1,
    failed: 1,
    skipped: 2,
    skipped_by_reason: { cancel_requested: 2 },
    unaccounted: 0,
    doubled: 0,
    findings: [],
  })
})

function failedToFind(): never {
  throw new Error('There is no such row.')
}
