import { expect, test } from 'vitest'
import { conflict, type LockMode } from './locks.js'
import { type Execution, type Steps, Store, StoreError } from './store.js'

/** Locks these timers, one after the other. */
function* lockAll(run: Execution, { timers }: { timers: number[] }): Steps {
  for (const timer of timers) yield* run.lock('timers', timer, 'no key update')
  return []
}

test('row locks conflict as the manual of Postgres says', () => {
  const modes: LockMode[] = ['key share', 'share', 'no key update', 'update']
  const free = modes.map((one) => modes.filter((other) => !conflict(one, other)))
  expect(free).toEqual([['key share', 'share', 'no key update'], ['key share', 'share'], ['key share'], []])
})

test('of two statements that wait for each other one is given up, and the other goes on', () => {
  const store = new Store({ lockAll }, () => 0)
  const [first, second, third] = [[1, 3, 2], [2, 1], [3]].map((timers) =>
    store.execution('lockAll', { timers }, 'somebody'),
  ) as [Execution, Execution, Execution]
  for (const execution of [third, first, second]) {
    execution.begin()
    execution.advance()
  }
  expect([first.state, second.state, third.state]).toEqual(['waiting', 'waiting', 'done'])
  expect([first.canGoOn, second.canGoOn]).toEqual([false, false])
  third.commit()
  expect(first.canGoOn).toBe(true)
  first.advance()
  expect(first.error).toEqual(new StoreError('40P01', 'deadlock detected'))
  expect(second.canGoOn).toBe(true)
  second.advance()
  expect(second.state).toBe('done')
})

test('a statement that waited sees its snapshot, and of the row that it waited for the newest version', () => {
  function* write(run: Execution): Steps {
    const row = yield* run.lock('timers', 1, 'no key update')
    if (row !== null) run.write('timers', 1, row, { ...row, rev: row.rev + 1 })
    const seen = run.table('timers')
    return [{ seen: seen.get(1)?.rev, locked: row?.rev, others: seen.size }]
  }
  function* insert(run: Execution): Steps {
    run.write('timers', 2, null, timer(2))
    return yield* write(run)
  }
  const timer = (job: number) => ({
    ...{ job, tenant: 1, due: 2, start_at: 2, rev: 1, runs: 0, accounted_through: 1, partition: 0 },
  })
  const store = new Store({ write, insert }, () => 0)
  store.put('timers', 1, timer(1))
  const first = store.execution('insert', {}, 'first')
  const second = store.execution('write', {}, 'second')
  for (const execution of [first, second]) {
    execution.begin()
    execution.advance()
  }
  expect(second.state).toBe('waiting')
  first.commit()
  second.advance()
  second.commit()
  expect(second.answer).toEqual([{ seen: 1, locked: 2, others: 1 }])
  expect(store.tables.timers.get(1)?.rev).toBe(3)
})
