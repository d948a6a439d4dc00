import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Turns } from './turns.js'

it('does one piece at a time, and tenants take turns however much one of them asks for', async () => {
  const turns = new Turns(10)
  const done: string[] = []
  let at = 0
  const work = (name: string) => async () => {
    at += 1
    expect(at).toBe(1)
    await turn()
    at -= 1
    done.push(name)
  }
  const all = ['a1', 'a2', 'a3'].map((name) => turns.take(1, work(name)))
  all.push(turns.take(2, work('b1')), turns.take(3, work('c1')))
  await Promise.all(all)
  expect(done).toEqual(['a1', 'a2', 'b1', 'c1', 'a3'])
})

it('refuses what is more than a tenant may have waiting, and no other tenant for it', async () => {
  const turns = new Turns(2)
  const never = () => new Promise<void>(() => undefined)
  for (let n = 0; n < 3; n++) void turns.take(1, never)
  await expect(turns.take(1, never)).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 5 })
  let refused = false
  turns.take(2, never).catch(() => {
    refused = true
  })
  await turn()
  expect(refused).toBe(false)
})

it('goes on after work that failed, each on behalf of the one who asked', async () => {
  const caller = new AsyncLocalStorage<string>()
  const turns = new Turns(2)
  const first = caller.run('first', () => turns.take(1, () => Promise.reject(new Error('no'))))
  const second = caller.run('second', () => turns.take(2, () => Promise.resolve(caller.getStore())))
  await expect(first).rejects.toThrow('no')
  expect(await second).toBe('second')
})
