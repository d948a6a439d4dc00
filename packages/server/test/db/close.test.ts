import { describe, expect, test } from 'vitest'
import { Closer } from '../../src/pipeline/record/closer.js'
import { closeAll, lease, leaseOne, resultOf } from '../kit/attempts.js'
import { countOf, ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { silentLog } from '../kit/test-database.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const close = (node: TestNode, ...results: Parameters<typeof closeAll>[2]) =>
  closeAll(house(), node.closer, results)

/** Takes the lease away and gives the run to the node anew, as a rescue does. */
async function leaseAnew(node: TestNode) {
  await house().query('UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL')
  const [run] = await lease(node)
  if (run === undefined) throw new Error('The run was not leased again.')
  return run
}

test('a success deletes the queue row and writes one final ledger row', async () => {
  const node = await house().node()
  const job = await node.register()
  const run = await leaseOne(house(), node, job)
  const [queued] = await queueOf(house(), job)
  const result = await resultOf(house(), node, run)
  await house().clock.advance(700)
  expect(await close(node, result)).toEqual(['closed'])
  expect(await queueOf(house(), job)).toEqual([])
  expect(await ledgerOf(house(), job)).toMatchObject([
    {
      due: run.due,
      outcome: 'success',
      final: true,
      attempt: 1,
      round: 0,
      token: run.token,
      worker: node.membership.incarnation,
      epoch: run.epoch,
      next_due: queued?.next_due,
      started_at: result.startedAt,
      result: { ok: true },
      recorded_at: await house().now(),
    },
  ])
})

describe('a result with an old token', () => {
  test('is kept as stale and changes nothing', async () => {
    const node = await house().node()
    const job = await node.register()
    const old = await leaseOne(house(), node, job)
    const renewed = await leaseAnew(node)
    const before = await queueOf(house(), job)
    expect(await close(node, await resultOf(house(), node, old))).toEqual(['stale'])
    expect(await queueOf(house(), job)).toEqual(before)
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'stale', final: false, token: old.token, reason: 'lease_lost', result: { ok: true } },
    ])
    expect(await close(node, await resultOf(house(), node, renewed))).toEqual(['closed'])
  })

  test('that is a failure does not give the new attempt a retry or an end', async () => {
    const node = await house().node()
    const job = await node.register({ max_retries: 0 })
    const old = await leaseOne(house(), node, job)
    await leaseAnew(node)
    const before = await queueOf(house(), job)
    expect(await close(node, await resultOf(house(), node, old, { outcome: 'failed' }))).toEqual(['stale'])
    expect(await queueOf(house(), job)).toEqual(before)
    expect(await countOf(house(), 'dead_letters')).toBe(0)
  })

  test('is stale also when the run was closed by its new holder', async () => {
    const [slow, heir] = [await house().node(), await house().node()]
    const job = await slow.register()
    const old = await leaseOne(house(), slow, job)
    await close(heir, await resultOf(house(), heir, await leaseAnew(heir)))
    expect(await close(slow, await resultOf(house(), slow, old))).toEqual(['stale'])
    expect((await ledgerOf(house(), job)).filter(({ final }) => final)).toHaveLength(1)
  })

  test('the right token in the hands of another process closes nothing', async () => {
    const [holder, thief] = [await house().node(), await house().node()]
    const job = await holder.register()
    const run = await leaseOne(house(), holder, job)
    const forged = { ...run, holder: thief.membership.incarnation }
    expect(await close(thief, await resultOf(house(), thief, forged))).toEqual(['stale'])
    expect(await queueOf(house(), job)).toHaveLength(1)
  })
})

describe('a close that is sent again', () => {
  test.each([
    ['a success', { outcome: 'success' as const }],
    ['a failure that is retried', { outcome: 'failed' as const }],
    ['a failure that is final', { outcome: 'failed' as const, retryable: false }],
  ])('of %s answers already and adds no row', async (_name, given) => {
    const node = await house().node()
    const job = await node.register()
    const result = await resultOf(house(), node, await leaseOne(house(), node, job), given)
    await close(node, result)
    const before = [
      await ledgerOf(house(), job),
      await queueOf(house(), job),
      await countOf(house(), 'dead_letters'),
    ]
    expect(await close(node, result)).toEqual(['already'])
    expect([
      await ledgerOf(house(), job),
      await queueOf(house(), job),
      await countOf(house(), 'dead_letters'),
    ]).toEqual(before)
  })

  test('as stale answers already the second time, and is kept once', async () => {
    const node = await house().node()
    const job = await node.register()
    const result = await resultOf(house(), node, await leaseOne(house(), node, job))
    await leaseAnew(node)
    expect(await close(node, result)).toEqual(['stale'])
    expect(await close(node, result)).toEqual(['already'])
    expect(await ledgerOf(house(), job)).toHaveLength(1)
  })

  test('happens by itself when the answer was lost, and adds no row', async () => {
    const node = await house().node()
    const job = await node.register()
    let lost = 0
    const forgetful = {
      run: async (...call: Parameters<typeof node.database.run>) => {
        const rows = await node.database.run(...call)
        if (lost++ === 0) throw Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })
        return rows
      },
    } as unknown as typeof node.database
    const closer = new Closer({
      database: forgetful,
      clock: house().clock,
      log: silentLog,
      metrics: node.metrics,
      batchMs: 0,
    })
    const result = await resultOf(house(), node, await leaseOne(house(), node, job))
    let answer: string | undefined
    void closer.close(result).then((closed) => {
      answer = closed
    })
    await expect
      .poll(async () => {
        await house().clock.advance(100)
        return answer
      })
      .toBe('already')
    expect(await ledgerOf(house(), job)).toHaveLength(1)
  })

  test('by two closers at once ends with one final row', async () => {
    const node = await house().node()
    const closers = Array.from({ length: 4 }, () => {
      const { clock } = house()
      return new Closer({ database: node.database, clock, log: silentLog, metrics: node.metrics, batchMs: 0 })
    })
    for (let round = 0; round < 5; round++) {
      const job = await node.register()
      const result = await resultOf(house(), node, await leaseOne(house(), node, job))
      const answers = await Promise.all(closers.map((closer) => closeAll(house(), closer, [result])))
      expect(answers.flat().filter((answer) => answer === 'closed')).toHaveLength(1)
      expect((await ledgerOf(house(), job)).filter(({ final }) => final)).toHaveLength(1)
    }
  })
})

describe('a close that waits for somebody who changes the row', () => {
  /** The change is made and not committed when the close begins, so that it sees the row as it was. */
  async function closeDuring(change: string, more: Parameters<typeof resultOf>[3] = {}) {
    const node = await house().node()
    const job = await node.register()
    const run = await leaseOne(house(), node, job)
    const result = await resultOf(house(), node, run, more)
    const session = await house().session()
    await session.query('BEGIN')
    await session.query(change)
    const closed = close(node, result)
    await house().lockWaits(1)
    await session.query('COMMIT')
    return { job, answers: await closed }
  }
  const cancel = 'UPDATE carillon.queue SET cancel_requested = true'

  test('ends the run as it is then', async () => {
    const { job, answers } = await closeDuring(cancel)
    expect(answers).toEqual(['closed'])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
  })

  test('does not try again what was cancelled meanwhile', async () => {
    const { job, answers } = await closeDuring(cancel, { outcome: 'failed', retryable: true })
    expect(answers).toEqual(['closed'])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', final: true }])
  })

  test('gives the next attempt to the row as it is then', async () => {
    const { job, answers } = await closeDuring("UPDATE carillon.queue SET last_error = 'touched'", {
      outcome: 'failed',
      retryable: true,
    })
    expect(answers).toEqual(['retrying'])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2 }])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', final: false }])
  })

  test('is stale when the lease was taken away', async () => {
    const { job, answers } = await closeDuring(
      'UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL',
    )
    expect(answers).toEqual(['stale'])
    expect(await queueOf(house(), job)).toHaveLength(1)
  })
})

describe('a failed attempt', () => {
  test('waits for its backoff, with the next attempt and without its overlap place', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s', retry_backoff: 'fixed' })
    await house().clock.advance(10_000)
    await node.beat()
    await node.firing.runOnce()
    const [run] = await lease(node)
    if (run === undefined) throw new Error('no run')
    expect(await close(node, await resultOf(house(), node, run, { outcome: 'failed' }))).toEqual(['retrying'])
    expect(await queueOf(house(), job)).toMatchObject([
      {
        due: run.due,
        attempt: 2,
        slot: null,
        holder: null,
        token: null,
        available_at: (await house().now()) + 500,
        last_error: 'boom',
      },
    ])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'failed', final: false, attempt: 1, token: run.token, error: 'boom', reason: 'task_error' },
    ])
    // The next tick finds the place free.
    await house().clock.advance(8_500)
    await node.firing.runOnce()
    expect((await queueOf(house(), job)).map(({ attempt, slot }) => [attempt, slot])).toEqual([
      [2, null],
      [1, 0],
    ])
  })

  test('waits as long as the target asked for', async () => {
    const node = await house().node()
    const job = await node.register()
    const run = await leaseOne(house(), node, job)
    await close(node, await resultOf(house(), node, run, { outcome: 'failed', retryAfterMs: 90_000 }))
    expect((await queueOf(house(), job))[0]?.available_at).toBe((await house().now()) + 90_000)
  })

  test('that was the last one is a dead letter, with one row per attempt and one final', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', max_retries: 2 })
    await house().clock.advance(3_600_000)
    await node.beat()
    await node.firing.runOnce()
    for (let attempt = 1; attempt <= 3; attempt++) {
      await house().clock.advance(10_000)
      const [run] = await lease(node)
      if (run === undefined) throw new Error('no run')
      expect(run.attempt).toBe(attempt)
      const answer = await close(node, await resultOf(house(), node, run, { outcome: 'failed' }))
      expect(answer).toEqual([attempt < 3 ? 'retrying' : 'closed'])
    }
    expect(await queueOf(house(), job)).toEqual([])
    const ledger = await ledgerOf(house(), job)
    expect(ledger.map(({ attempt, outcome, final }) => [attempt, outcome, final])).toEqual([
      [1, 'failed', false],
      [2, 'failed', false],
      [3, 'dead', true],
    ])
    const [due, ...rest] = new Set(ledger.map((row) => row.due))
    expect(rest).toEqual([])
    const letters = await house().query('SELECT * FROM carillon.dead_letters WHERE job = $1', [job.key])
    expect(letters).toMatchObject([{ due, attempts: 3, round: 0, reason: 'task_error', error: 'boom' }])
    await house().clock.advance(10_000)
    expect(await lease(node)).toEqual([])
  })

  test('that may not be tried again is a dead letter at once', async () => {
    const node = await house().node()
    const job = await node.register({ max_retries: 5 })
    const run = await leaseOne(house(), node, job)
    await close(node, await resultOf(house(), node, run, { outcome: 'failed', retryable: false }))
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'dead', final: true, attempt: 1 }])
    expect(await countOf(house(), 'dead_letters')).toBe(1)
  })

  test('is final where cancelling was asked for, and no dead letter', async () => {
    const node = await house().node()
    const job = await node.register()
    const run = await leaseOne(house(), node, job)
    await node.registry.delete(1, job.job_id)
    expect(await close(node, await resultOf(house(), node, run, { outcome: 'failed' }))).toEqual(['closed'])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', final: true, attempt: 1 }])
    expect(await countOf(house(), 'dead_letters')).toBe(0)
  })
})

describe('a batch', () => {
  test('of good, stale, retried, earlier and twice-sent results answers each by itself', async () => {
    const node = await house().node()
    const jobs = await Promise.all(Array.from({ length: 5 }, () => node.register()))
    for (const job of jobs) await putRuns(house(), job)
    const results = await Promise.all(
      (await lease(node)).map((run) =>
        resultOf(house(), node, run, run.job === jobs[2]?.key ? { outcome: 'failed' } : {}),
      ),
    )
    const of = (at: number) => {
      const found = results.find(({ run }) => run.job === jobs[at]?.key)
      if (found === undefined) throw new Error(`The job ${at} was not leased.`)
      return found
    }
    await close(node, of(3))
    await house().query('UPDATE carillon.queue SET token = token + 1000000 WHERE job = $1', [jobs[1]?.key])
    const sent = [of(0), of(1), of(2), of(3), of(4), of(4)]
    expect(await close(node, ...sent)).toEqual(['closed', 'stale', 'retrying', 'already', 'closed', 'closed'])
    const rows = await Promise.all(jobs.map((job) => ledgerOf(house(), job)))
    expect(rows.map((ledger) => ledger.map(({ outcome, final }) => [outcome, final]))).toEqual([
      [['success', true]],
      [['stale', false]],
      [['failed', false]],
      [['success', true]],
      [['success', true]],
    ])
    expect(await countOf(house(), 'queue')).toBe(2)
  })

  test('of two lives of one process is closed under the id of each', async () => {
    const [before, after] = [await house().node(), await house().node()]
    const jobs = [await before.register(), await before.register()] as const
    const results = [
      await resultOf(house(), before, await leaseOne(house(), before, jobs[0])),
      await resultOf(house(), after, await leaseOne(house(), after, jobs[1])),
    ]
    expect(await close(after, ...results)).toEqual(['closed', 'closed'])
    expect((await ledgerOf(house(), jobs[0]))[0]?.worker).toBe(before.membership.incarnation)
    expect((await ledgerOf(house(), jobs[1]))[0]?.worker).toBe(after.membership.incarnation)
  })

  test('with a result that cannot be stored still records all of them', async () => {
    const node = await house().node()
    const jobs = await Promise.all(Array.from({ length: 6 }, () => node.register()))
    for (const job of jobs) await putRuns(house(), job)
    const poison = [
      { result: { text: 'a\0b' } },
      { error: 'a\0b', outcome: 'failed' as const, retryable: false },
    ]
    const results = await Promise.all(
      (await lease(node)).map((run, at) => resultOf(house(), node, run, poison[at] ?? {})),
    )
    expect(await close(node, ...results)).toEqual(Array(6).fill('closed'))
    const outcomes = (await Promise.all(jobs.map((job) => ledgerOf(house(), job)))).flat()
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual([
      'dead',
      ...Array<string>(5).fill('success'),
    ])
    expect(await countOf(house(), 'queue')).toBe(0)
    expect(outcomes.filter(({ error }) => error !== null)).toHaveLength(2)
  })
})
