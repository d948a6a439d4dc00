import { describe, expect, it } from 'vitest'
import { type DedupeStore, dedupe, memoryStore } from './dedupe.js'

describe('dedupe', () => {
  it('does the work of an id once, and tells the repetitions', async () => {
    const once = dedupe(memoryStore())
    let done = 0
    const work = () => ++done
    expect(await once('run_1', work)).toEqual({ status: 'done', result: 1 })
    expect(await once('run_1', work)).toEqual({ status: 'duplicate' })
    expect(await once('run_2', work)).toEqual({ status: 'done', result: 2 })
  })

  it('does it once also when repetitions come at the same time', async () => {
    const once = dedupe(memoryStore())
    let finish: () => void = () => {}
    const first = once('run_1', () => new Promise<void>((resolve) => (finish = resolve)))
    const others = await Promise.all([once('run_1', () => {}), once('run_1', () => {})])
    expect(others).toEqual([{ status: 'busy' }, { status: 'busy' }])
    finish()
    expect(await first).toMatchObject({ status: 'done' })
    expect(await once('run_1', () => {})).toEqual({ status: 'duplicate' })
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('boom'))],
    [
      'throws',
      () => {
        throw new Error('boom')
      },
    ],
  ])('lets work that %s be tried again', async (_name, fail) => {
    const once = dedupe(memoryStore())
    await expect(once('run_1', fail)).rejects.toThrow('boom')
    expect(await once('run_1', () => 'ok')).toEqual({ status: 'done', result: 'ok' })
  })

  it('does not release what was done, when that cannot be noted', async () => {
    const calls: string[] = []
    const store: DedupeStore = {
      take: () => Promise.resolve('taken'),
      finish: () => Promise.reject(new Error('the store is away')),
      release: (id) => Promise.resolve(void calls.push(id)),
    }
    await expect(dedupe(store)('run_1', () => 1)).rejects.toThrow('the store is away')
    expect(calls).toEqual([])
  })
})

describe('the memory store', () => {
  it('forgets the oldest finished ids beyond its bound, and never one under way', async () => {
    const store = memoryStore({ most: 2 })
    await store.take('busy')
    for (const id of ['a', 'b', 'c']) {
      await store.take(id)
      await store.finish(id)
    }
    expect(await store.take('b')).toBe('done')
    expect(await store.take('c')).toBe('done')
    expect(await store.take('a')).toBe('taken')
    expect(await store.take('busy')).toBe('busy')
  })

  it('forgets finished ids after their time', async () => {
    let time = 0
    const store = memoryStore({ keepMs: 1_000, now: () => time })
    await store.take('a')
    await store.finish('a')
    time = 999
    expect(await store.take('a')).toBe('done')
    time = 1_000
    expect(await store.take('a')).toBe('taken')
  })
})
