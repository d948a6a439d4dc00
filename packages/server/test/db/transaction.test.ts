import { isLeaseLost, type Sql } from '@carillon/sdk'
import { describe, expect, test } from 'vitest'
import { step, takeAway, useHandlerTable } from '../kit/handler-table.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { useTasks } from '../kit/tasks.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const taskNode = useTasks(house)
const { make, made } = useHandlerTable(house)

describe('ctx.transaction', () => {
  test('commits the writes of the handler and the end of the run together', async () => {
    let seen: { committed: number; held: number } | undefined
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        const held = await queueOf(house(), job)
        seen = { committed: (await made()).length, held: held.length }
        return { booked: 3 }
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(seen).toEqual({ committed: 0, held: 1 })
    expect(await made()).toEqual([{ attempt: 1 }])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      {
        outcome: 'success',
        final: true,
        attempt: 1,
        result: { booked: 3 },
        token: node.delivered[0]?.token,
        worker: node.membership.incarnation,
        started_at: expect.any(Number) as number,
      },
    ])
  })

  test('gives the place of a tenant with a cap back, as every other end does', async () => {
    const { node, runAll } = await taskNode((_input, ctx) => ctx.transaction((sql) => make(sql, ctx)))
    const job = await node.register()
    await house().query('SELECT carillon.cap_tenant(1, 5)')
    await putRuns(house(), job, { count: 2 })
    await runAll()
    expect(await house().query('SELECT taken FROM carillon.tenant_slots')).toEqual([{ taken: 0 }])
    await house().query('SELECT carillon.cap_tenant(1, NULL)')
  })

  test('writes nothing when the callback throws, and the run is tried again', async () => {
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        throw new Error('second thoughts')
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toEqual([])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', final: false }])
  })

  test('of a refused statement whose error the handler swallows writes nothing', async () => {
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        await sql`SELECT 1 / 0`.catch(() => undefined)
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'failed', error: expect.stringContaining('SAVEPOINT') as string },
    ])
  })

  test('of which a deferred constraint is broken writes nothing', async () => {
    await house().query('CREATE TABLE public.parents (id int PRIMARY KEY)')
    await house().query(
      'CREATE TABLE public.children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)',
    )
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction((sql) => sql`INSERT INTO children VALUES (7)`),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await house().query('SELECT FROM children')).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'failed', error: expect.stringContaining('foreign key') as string },
    ])
  })

  test('that the handler does not wait for is waited for', async () => {
    const { node, runAll } = await taskNode((_input, ctx) => {
      void ctx.transaction((sql) => make(sql, ctx))
      return 'early'
    })
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toHaveLength(1)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
  })

  test('that the handler does not wait for has the time of the run and no more', async () => {
    const { node, runAll } = await taskNode((_input, ctx) => {
      void ctx.transaction(() => new Promise(() => undefined)).catch(() => undefined)
      return 'early'
    })
    const job = await node.register({ timeout_seconds: 1 })
    await putRuns(house(), job)
    await runAll()
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', reason: 'timeout' }])
  })
})

describe('after ctx.transaction has returned', () => {
  test('the run is closed: a throw changes nothing and is logged', async () => {
    const { node, runAll, logged } = await taskNode(async (_input, ctx) => {
      await ctx.transaction((sql) => make(sql, ctx))
      expect(await queueOf(house(), job)).toEqual([])
      throw new Error('too late')
    })
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toHaveLength(1)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
    expect(logged).toEqual([expect.stringContaining('threw after its transaction')])
  })

  test('so does a timeout change nothing', async () => {
    const { node, runAll } = await taskNode(async (_input, ctx) => {
      await ctx.transaction((sql) => make(sql, ctx))
      await new Promise(() => undefined)
    })
    const job = await node.register({ timeout_seconds: 1 })
    await putRuns(house(), job)
    await runAll()
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
  })

  test('a second one is refused, and so is sql', async () => {
    const errors: unknown[] = []
    let kept: Sql | undefined
    const { node, runAll } = await taskNode(async (_input, ctx) => {
      await ctx.transaction((sql) => {
        kept = sql
        return make(sql, ctx)
      })
      await ctx.transaction((sql) => make(sql, ctx)).catch((error: unknown) => errors.push(error))
      await kept?.query('SELECT 1').catch((error: unknown) => errors.push(error))
    })
    await putRuns(house(), await node.register())
    await runAll()
    expect(await made()).toHaveLength(1)
    expect(errors).toMatchObject([
      { name: 'EffectsUsageError', message: expect.stringContaining('twice') as string },
      { name: 'EffectsUsageError', message: expect.stringContaining('had ended') as string },
    ])
  })
})

describe('a lost lease', () => {
  test('before the transaction: the callback is not called, the result is kept as stale', async () => {
    let called = false
    let thrown: unknown
    const { node, runAll } = await taskNode(async (_input, ctx) => {
      await takeAway(house())
      await ctx
        .transaction(() => {
          called = true
        })
        .catch((error: unknown) => {
          thrown = error
          throw error
        })
    })
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(called).toBe(false)
    expect(isLeaseLost(thrown)).toBe(true)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'stale', final: false }])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
  })

  test('inside it: nothing is written, and the successor does it once', async () => {
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        if (ctx.attempt === 1) await takeAway(house())
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toEqual([])
    await runAll()
    expect(await made()).toEqual([{ attempt: 2 }])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'stale', attempt: 1 },
      { outcome: 'success', attempt: 2, final: true },
    ])
  })

  test('to a successor that is done first: the slow one writes nothing', async () => {
    const [inside, slow] = [step(), step()]
    const { node } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        inside.open()
        if (ctx.attempt === 1) await slow.passed
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    await inside.passed
    await takeAway(house())
    await node.worker.leaseOnce()
    await house().finished(node, 1)
    slow.open()
    await house().finished(node)
    expect(await made()).toEqual([{ attempt: 2 }])
    const rows = await ledgerOf(house(), job)
    expect(rows.filter(({ final }) => final)).toMatchObject([{ outcome: 'success', attempt: 2 }])
    expect(rows.filter(({ outcome }) => outcome === 'stale')).toMatchObject([{ attempt: 1 }])
  })
})
