import { isLeaseLost, type TaskContext } from '@carillon/sdk'
import { describe, expect, test } from 'vitest'
import { takeAway } from '../kit/handler-table.js'
import { PgProxy } from '../kit/pg-proxy.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { useTasks } from '../kit/tasks.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const taskNode = useTasks(house)

/** An effect outside: it counts how often it was done. */
function effect(...given: unknown[]) {
  const [result] = given.length === 0 ? ['sent'] : given
  const done: string[] = []
  const doIt = (name = 'it') => {
    done.push(name)
    return result
  }
  return { done, doIt }
}

const remembered = () =>
  house().query<{ effect: string; idempotency_key: string; result: string | null; token: number }>(
    'SELECT effect, idempotency_key, result, token FROM carillon.effects ORDER BY effect, idempotency_key',
  )

describe('ctx.once', () => {
  test('does an effect once over all attempts of a run, and answers its result each time', async () => {
    const { done, doIt } = effect({ id: 7 })
    const answers: unknown[] = []
    const { node, runAll } = await taskNode(async (_input, ctx) => {
      answers.push(await ctx.once('mail', doIt))
      if (ctx.attempt < 3) throw new Error('afterwards')
    })
    const job = await node.register({ retry: { base_ms: 1 } })
    await putRuns(house(), job)
    for (let attempt = 1; attempt <= 3; attempt++) {
      await runAll()
      await house().clock.advance(10)
    }
    expect(done).toHaveLength(1)
    expect(answers).toEqual([{ id: 7 }, { id: 7 }, { id: 7 }])
    expect((await ledgerOf(house(), job)).map(({ outcome }) => outcome)).toEqual([
      'failed',
      'failed',
      'success',
    ])
    expect(await remembered()).toMatchObject([{ effect: 'mail', token: node.delivered[0]?.token }])
  })

  test('remembers for all runs of a job that share a key, and for no other job', async () => {
    const { done, doIt } = effect()
    const { node, runAll } = await taskNode((_input, ctx) => ctx.once('mail', () => doIt(ctx.jobId)))
    const weekly = await node.register({ idempotency_key_template: 'report-{{year}}' })
    const other = await node.register({ idempotency_key_template: 'report-{{year}}' })
    const each = await node.register()
    await putRuns(house(), weekly)
    await runAll()
    await putRuns(house(), weekly, { count: 5 })
    await putRuns(house(), other)
    await putRuns(house(), each)
    await runAll()
    await house().clock.advance(2_000)
    await putRuns(house(), each)
    await runAll()
    expect(done.filter((id) => id === weekly.job_id)).toHaveLength(1)
    expect(done.filter((id) => id === other.job_id)).toHaveLength(1)
    expect(done.filter((id) => id === each.job_id)).toHaveLength(2)
  })

  test('takes two calls with one key for one effect, and two keys for two', async () => {
    const { done, doIt } = effect()
    const { node, runAll } = await taskNode((_input, ctx) => {
      const slowly = async () => {
        doIt('a')
        // Long enough for a second call to find nothing remembered.
        for (let trip = 0; trip < 50; trip++) await house().query('SELECT')
      }
      return Promise.all([ctx.once('a', slowly), ctx.once('a', slowly), ctx.once('b', () => doIt('b'))])
    })
    await putRuns(house(), await node.register())
    await runAll()
    expect(done.sort()).toEqual(['a', 'b'])
  })

  test('does not remember an effect that throws: it may be tried again, also in the same attempt', async () => {
    const { node, runAll } = await taskNode(async (_input, ctx) => {
      await expect(ctx.once('shaky', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
      return ctx.once('shaky', () => 'yes')
    })
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', result: 'yes' }])
  })

  test.each([
    ['nothing', undefined, undefined],
    ['null', null, null],
    ['zero', 0, 0],
    ['an empty text', '', ''],
    ['false', false, false],
    ['a date, as JSON has it', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a NUL and half a pair', 'a\0b\ud800', 'a\0b\ud800'],
  ])('answers %s alike the first time and later', async (_name, result, expected) => {
    const { done, doIt } = effect(result)
    const answers: unknown[] = []
    const { node, runAll } = await taskNode(async (_input, ctx) => {
      answers.push(await ctx.once('it', doIt))
      if (ctx.attempt === 1) throw new Error('again')
    })
    await putRuns(house(), await node.register({ retry: { base_ms: 1 } }))
    await runAll()
    await house().clock.advance(10)
    await runAll()
    expect(done).toHaveLength(1)
    expect(answers).toEqual([expected, expected])
  })

  const cycle: Record<string, unknown> = {}
  cycle['itself'] = cycle
  test.each([
    ['more than 64 KiB', 'x'.repeat(65_535), /65537 bytes/],
    ['a circle', cycle, /circular/],
    ['a bigint', 1n, /BigInt/],
    ['a function', () => 1, /no form for a function/],
  ])(
    'says what is wrong with a result that is %s, and no further attempt repeats the effect',
    async (_name, result, why) => {
      const { done, doIt } = effect(result)
      const { node, runAll } = await taskNode((_input, ctx) => ctx.once('it', doIt))
      const job = await node.register()
      await putRuns(house(), job)
      await runAll()
      expect(done).toHaveLength(1)
      const [row] = await ledgerOf(house(), job)
      expect(row).toMatchObject({ outcome: 'dead', reason: 'task_non_retryable' })
      expect(row?.error).toMatch(why)
      expect(await remembered()).toEqual([])
    },
  )

  test.each([
    ['', /non-empty/],
    ['x'.repeat(201), /201 characters/],
    ['a\0', /cannot be stored/],
    [7 as unknown as string, /non-empty string/],
  ])('refuses the key %j', async (key, why) => {
    const { done, doIt } = effect()
    const { node, runAll } = await taskNode((_input, ctx) => ctx.once(key, doIt))
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(done).toEqual([])
    expect((await ledgerOf(house(), job))[0]?.error).toMatch(why)
  })
})

describe('a stale attempt', () => {
  async function staleAt(lose: (ctx: TaskContext, doIt: () => unknown) => Promise<unknown>) {
    const { done, doIt } = effect()
    const thrown: unknown[] = []
    const { node, runAll } = await taskNode(async (_input, ctx) => {
      if (ctx.attempt > 1) return ctx.once('it', () => doIt('successor'))
      return lose(ctx, () => doIt('stale')).catch((error: unknown) => {
        thrown.push(error)
        throw error
      })
    })
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(thrown.map(isLeaseLost)).toEqual([true])
    expect(await remembered()).toEqual([])
    await runAll()
    expect(await remembered()).toMatchObject([{ effect: 'it', token: node.delivered[1]?.token }])
    expect((await ledgerOf(house(), job)).map(({ outcome }) => outcome)).toEqual(['stale', 'success'])
    return done
  }

  test('does not begin an effect', async () => {
    const done = await staleAt(async (ctx, doIt) => {
      await takeAway(house())
      return ctx.once('it', doIt)
    })
    expect(done).toEqual(['successor'])
  })

  test('does not store one that it had begun: that of its successor counts', async () => {
    const done = await staleAt((ctx, doIt) =>
      ctx.once('it', async () => {
        await takeAway(house())
        return doIt()
      }),
    )
    expect(done).toEqual(['stale', 'successor'])
  })
})

test('of two runs with one key that do an effect at once, the first to remember counts for both', async () => {
  const waiting: (() => void)[] = []
  const answers: unknown[] = []
  const { node } = await taskNode(async (_input, ctx) => {
    const answer = await ctx.once('it', async () => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return ctx.runId
    })
    answers.push(answer)
  })
  await putRuns(house(), await node.register({ idempotency_key_template: 'k-{{year}}' }), { count: 2 })
  await node.worker.leaseOnce()
  await until('both are at it', () => Promise.resolve(waiting.length === 2))
  for (const go of waiting) go()
  await house().finished(node)
  expect(answers).toHaveLength(2)
  expect(new Set(answers).size).toBe(1)
  expect(await remembered()).toHaveLength(1)
})

test.each(['never-arrives', { answered: () => undefined }] as const)(
  'a record that is lost on its way (%j) is sent again: the effect is not done again',
  async (fate) => {
    let cut = false
    const proxy = await PgProxy.listen(house().database.url, ({ application, text }) => {
      if (cut || application !== 'carillon effects' || !text.includes('INSERT INTO carillon.effects'))
        return 'pass'
      cut = true
      return fate
    })
    const { done, doIt } = effect()
    const { node, runAll } = await taskNode((_input, ctx) => ctx.once('it', doIt), { effectsUrl: proxy.url })
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(cut).toBe(true)
    expect(done).toHaveLength(1)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', attempt: 1, result: 'sent' }])
    await proxy.close()
  },
)

test('effects are forgotten with the history, and not before', async () => {
  const { done, doIt } = effect()
  const { node, runAll } = await taskNode((_input, ctx) => ctx.once('it', doIt))
  const job = await node.register({ idempotency_key_template: 'constant' })
  await putRuns(house(), job)
  await runAll()
  const now = await house().now()
  await house().query('UPDATE carillon.effects SET created_at = $1', [now - 89 * 86_400_000])
  await node.upkeep.runOnce()
  expect(await remembered()).toHaveLength(1)
  await house().query('UPDATE carillon.effects SET created_at = $1', [now - 90 * 86_400_000])
  await node.upkeep.runOnce()
  expect(await remembered()).toEqual([])
  expect(await queueOf(house(), job)).toEqual([])
  expect(done).toHaveLength(1)
})
