import { expect, it } from 'vitest'
import { despiteDeadlocks } from './deadlock.js'

const failing = (code: string, times: number) => {
  const calls = { made: 0 }
  const work = () => {
    calls.made += 1
    return calls.made <= times
      ? Promise.reject(Object.assign(new Error(code), { code }))
      : Promise.resolve('done')
  }
  return { calls, work }
}

it('does the work again after a deadlock', async () => {
  const { calls, work } = failing('40P01', 2)
  expect(await despiteDeadlocks(work)).toBe('done')
  expect(calls.made).toBe(3)
})

it('gives up after three, and at once for any other reason', async () => {
  const deadlocked = failing('40P01', 9)
  await expect(despiteDeadlocks(deadlocked.work)).rejects.toThrow('40P01')
  expect(deadlocked.calls.made).toBe(3)
  const refused = failing('23505', 9)
  await expect(despiteDeadlocks(refused.work)).rejects.toThrow('23505')
  expect(refused.calls.made).toBe(1)
})
