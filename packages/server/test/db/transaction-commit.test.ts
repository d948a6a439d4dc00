import { describe, expect, test } from 'vitest'
import { useHandlerTable } from '../kit/handler-table.js'
import { type Fate, PgProxy } from '../kit/pg-proxy.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { useTasks } from '../kit/tasks.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const taskNode = useTasks(house)
const { make, made } = useHandlerTable(house)

test('a close that meets others crosswise is done again, without the handler', async () => {
  await house().query('CREATE SEQUENCE IF NOT EXISTS carillon_test.closes')
  await house().query('GRANT USAGE ON SEQUENCE carillon_test.closes TO carillon_fleet')
  await house().query(`CREATE OR REPLACE FUNCTION carillon_test.give_way() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('carillon_test.closes') < 3 THEN RAISE EXCEPTION USING ERRCODE = 'deadlock_detected'; END IF;
      RETURN NEW;
    END $$`)
  await house().query(`CREATE TRIGGER give_way BEFORE INSERT ON carillon.ledger
    FOR EACH ROW EXECUTE FUNCTION carillon_test.give_way()`)
  try {
    let calls = 0
    const started = await taskNode(async (_input, ctx) => {
      calls += 1
      await ctx.transaction((sql) => make(sql, ctx))
    })
    const job = await started.node.register()
    await putRuns(house(), job)
    await started.runAll()
    expect(calls).toBe(1)
    expect(await made()).toEqual([{ attempt: 1 }])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
  } finally {
    await house().query('DROP TRIGGER give_way ON carillon.ledger')
  }
})

describe('a commit whose answer is lost', () => {
  /** Cuts the connection at the first statement that begins with `text`. */
  async function cutAt(text: string, fate: Exclude<Fate, 'pass'>): Promise<PgProxy> {
    let done = false
    return PgProxy.listen(house().database.url, (seen) => {
      if (done || !seen.text.startsWith(text)) return 'pass'
      done = true
      return fate
    })
  }

  async function runThrough(proxy: PgProxy) {
    const answers: unknown[] = []
    const started = await taskNode(
      async (_input, ctx) => {
        const answer = ctx.transaction(async (sql) => {
          await make(sql, ctx)
          return 'done'
        })
        answers.push(await answer.catch((error: unknown) => (error as Error).name))
        await answer
      },
      { url: proxy.url },
    )
    const job = await started.node.register({ retry: { base_ms: 1 } })
    await putRuns(house(), job)
    await started.runAll()
    return { ...started, job, answers }
  }

  test('is found in the ledger when it had come through: done once, and the handler goes on', async () => {
    const proxy = await cutAt('COMMIT', { answered: () => undefined })
    const { job, answers } = await runThrough(proxy)
    expect(answers).toEqual(['done'])
    expect(await made()).toEqual([{ attempt: 1 }])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
    await proxy.close()
  })

  test('is a failure like any other when it had not: nothing is written, and the next attempt does it', async () => {
    const proxy = await cutAt('COMMIT', 'never-arrives')
    const { job, answers, runAll } = await runThrough(proxy)
    expect(answers).toEqual(['TransactionLostError'])
    expect(await made()).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'failed', reason: 'commit_lost', final: false },
    ])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
    await house().clock.advance(1_000)
    await runAll()
    expect(await made()).toEqual([{ attempt: 2 }])
    await proxy.close()
  })

  test('is waited for while it is still on its way', async () => {
    const proxy = await cutAt('COMMIT', {
      // The close of a failure, which is to find out, waits for the run that the transaction has deleted.
      late: () => house().lockWaits(1),
    })
    const { job, answers } = await runThrough(proxy)
    expect(answers).toEqual(['done'])
    expect(await made()).toEqual([{ attempt: 1 }])
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
    await proxy.close()
  })

  test.each(['BEGIN', 'INSERT INTO effects_made', 'SET CONSTRAINTS', 'WITH clock'])(
    'a connection that is cut before it, at %s, writes nothing and fails the attempt',
    async (text) => {
      const proxy = await cutAt(text, { answered: () => undefined })
      const { job, runAll } = await runThrough(proxy)
      expect(await made()).toEqual([])
      expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'failed', final: false }])
      await house().clock.advance(1_000)
      await runAll()
      expect(await made()).toEqual([{ attempt: 2 }])
      await proxy.close()
    },
  )
})
