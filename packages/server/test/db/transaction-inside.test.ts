import { describe, expect, test } from 'vitest'
import { step, useHandlerTable } from '../kit/handler-table.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { useTasks } from '../kit/tasks.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const taskNode = useTasks(house)
const { make, made } = useHandlerTable(house)

describe('while a handler is inside its transaction', () => {
  test.each(['delete', 'pause'] as const)(
    'a %s of its job does not wait for it, and the result is kept',
    async (change) => {
      const inside = step()
      let entered = false
      const { node } = await taskNode((_input, ctx) =>
        ctx.transaction(async (sql) => {
          await make(sql, ctx)
          entered = true
          await inside.passed
        }),
      )
      const job = await node.register()
      await putRuns(house(), job)
      await node.worker.leaseOnce()
      await until('the handler is inside', () => Promise.resolve(entered))
      if (change === 'delete') await node.registry.delete(1, job.job_id)
      else await node.registry.pause(1, job.job_id, {})
      inside.open()
      await house().finished(node)
      expect(await made()).toHaveLength(1)
      const ended = (await ledgerOf(house(), job)).filter(({ attempt }) => attempt > 0)
      expect(ended).toMatchObject([{ outcome: 'success', final: true }])
      expect(await queueOf(house(), job)).toEqual([])
    },
  )

  test('the time is up: nothing is written, also when the handler goes on', async () => {
    const inside = step()
    let later: unknown
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        await inside.passed
        await make(sql, ctx).catch((error: unknown) => {
          later = error
        })
      }),
    )
    const job = await node.register({ timeout_seconds: 1 })
    await putRuns(house(), job)
    await runAll()
    inside.open()
    await until('the abandoned handler has tried', () => Promise.resolve(later !== undefined))
    expect(later).toMatchObject({ name: 'EffectsUsageError' })
    expect(await made()).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', reason: 'timeout' }])
  })

  test('a pause that is too long for a worker that lives rolls back', async () => {
    const { node, runAll } = await taskNode(
      (_input, ctx) =>
        ctx.transaction(async (sql) => {
          await make(sql, ctx)
          await until('its session is gone', async () => (await sessionsOfTasks()) === 0)
          await make(sql, ctx)
        }),
      { pauseMs: 200 },
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', reason: 'task_error' }])
  })

  test('the worker is told that it lost its runs: nothing is written', async () => {
    let entered = false
    const { node } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        entered = true
        await new Promise(() => undefined)
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    await until('the handler is inside', () => Promise.resolve(entered))
    node.worker.abandon()
    await house().finished(node)
    await until('its session is gone', async () => (await sessionsOfTasks()) === 0)
    expect(await made()).toEqual([])
  })
})

async function sessionsOfTasks(): Promise<number> {
  const [row] = await house().query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'carillon tasks' AND state LIKE '%transaction%'`,
  )
  return row?.count ?? -1
}

describe('the sql of a transaction', () => {
  test.each([
    'COMMIT',
    'commit and chain',
    '  ;; Rollback',
    '/* a /* b */ */ END',
    '-- so\nABORT',
    'BEGIN',
    'START TRANSACTION',
    "PREPARE TRANSACTION 'x'",
    'COMMIT PREPARED $$x$$',
    'ROLLBACK WORK',
  ])('refuses %j, and nothing is written', async (text) => {
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        await sql.query(text)
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      {
        outcome: 'dead',
        reason: 'task_non_retryable',
        error: expect.stringContaining('SAVEPOINT') as string,
      },
    ])
  })

  test.each(['SELECT 1; COMMIT', 'DO $$ BEGIN COMMIT; END $$'])(
    'cannot end the transaction by %j either',
    async (text) => {
      const { node, runAll } = await taskNode((_input, ctx) =>
        ctx.transaction(async (sql) => {
          await make(sql, ctx)
          await sql.query(text)
        }),
      )
      await putRuns(house(), await node.register())
      await runAll()
      expect(await made()).toEqual([])
    },
  )

  test('takes savepoints', async () => {
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await make(sql, ctx)
        await sql`SAVEPOINT careful`
        await sql`SELECT 1 / 0`.catch(() => undefined)
        await sql`ROLLBACK TO SAVEPOINT careful`
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await made()).toHaveLength(1)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success' }])
  })

  test('passes values as parameters, and rows as the driver gives them', async () => {
    const nasty = "'); DROP TABLE effects_made; --"
    const { node, runAll } = await taskNode((_input, ctx) =>
      ctx.transaction(async (sql) => {
        await sql`INSERT INTO effects_made VALUES (${nasty}, ${null})`
        const { rows, rowCount } = await sql.query('SELECT run, $1::bigint AS big FROM effects_made', [7])
        return { rows, rowCount }
      }),
    )
    const job = await node.register()
    await putRuns(house(), job)
    await runAll()
    expect(await ledgerOf(house(), job)).toMatchObject([
      { result: { rows: [{ run: nasty, big: '7' }], rowCount: 1 } },
    ])
  })

  test('leaves nothing of itself to the next transaction on its connection', async () => {
    const seen: unknown[] = []
    const { node, runAll } = await taskNode(
      (_input, ctx) =>
        ctx.transaction(async (sql) => {
          seen.push(
            await sql`SELECT current_setting('search_path') AS path, to_regclass('mine') AS mine,
                             (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711) AS locks`,
          )
          await sql`SET search_path = pg_catalog`
          await sql`CREATE TEMP TABLE mine ()`
          await sql`SELECT pg_advisory_lock(4711)`
        }),
      { places: 1 },
    )
    await putRuns(house(), await node.register(), { count: 2 })
    await runAll()
    const clean = [{ path: '"$user", public', mine: null, locks: 0 }]
    expect(seen).toEqual([clean, clean])
  })
})

test('a guest that ended its transaction by a way that nobody thought of is found out before the close', async () => {
  const { guests } = await taskNode(() => undefined)
  const guest = await guests.begin(new AbortController().signal, 1_000)
  await guest.query('SELECT 1', [])
  expect(guest.over).toBe(false)
  await guest.query('COMMIT', [])
  expect(guest.over).toBe(true)
  await guest.rollback()
})

describe('connections', () => {
  test('more transactions than places wait in line, and the pool of the process has all of its own', async () => {
    const inside = step()
    let most = 0
    let now = 0
    const { node, guests } = await taskNode(
      (_input, ctx) =>
        ctx.transaction(async (sql) => {
          now += 1
          most = Math.max(most, now)
          await inside.passed
          await make(sql, ctx)
          now -= 1
        }),
      { places: 2 },
    )
    await putRuns(house(), await node.register(), { count: 6 })
    await node.worker.leaseOnce()
    await until('two are inside', () => Promise.resolve(now === 2))
    await node.beat()
    // In our line, which has no deadline of its own, and not in that of the driver.
    expect((guests as unknown as { pool: { waitingCount: number } }).pool.waitingCount).toBe(0)
    expect(node.database.waiting()).toBe(0)
    inside.open()
    await house().finished(node)
    expect(most).toBe(2)
    expect(await made()).toHaveLength(6)
  })

  test('one whose time is up while it waits leaves the line', async () => {
    const inside = step()
    const { node } = await taskNode(
      (_input, ctx) =>
        ctx.transaction(async (sql) => {
          await inside.passed
          await make(sql, ctx)
        }),
      { places: 1 },
    )
    const [long, short] = [await node.register(), await node.register({ timeout_seconds: 1 })]
    await putRuns(house(), long)
    await node.worker.leaseOnce()
    await until('it is inside', () => Promise.resolve(node.delivered.length === 1))
    await putRuns(house(), short)
    await node.worker.leaseOnce()
    await house().finished(node, 1)
    expect(await ledgerOf(house(), short)).toMatchObject([{ outcome: 'failed', reason: 'timeout' }])
    await house().query('DELETE FROM carillon.queue WHERE job = $1', [short.key])
    inside.open()
    await house().finished(node)
    await putRuns(house(), long)
    await node.worker.leaseOnce()
    await house().finished(node)
    expect(await made()).toHaveLength(2)
  })
})
