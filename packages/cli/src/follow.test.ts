import { afterEach, expect, test } from 'vitest'
import { follow, type Work } from './follow.js'
import type { Output } from './output/output.js'

const running: Work = { state: 'running', total: 3, done: 1, failed: 0 }

function start(look: () => Promise<Work>) {
  const notes: string[] = []
  const output = { json: false, note: (text: string) => void notes.push(text) } as unknown as Output
  const cancel = () => Promise.reject(new Error('nobody asked for it'))
  const ended = follow(running, { label: 'x', output, look, cancel, later: 'carillon x', everyMs: 1 })
  return { ended, notes }
}
afterEach(() => {
  process.exitCode = 0
})

test('work is followed to its end', async () => {
  const looks = [running, { ...running, state: 'done', done: 3 }]
  const { ended } = start(() => Promise.resolve(looks.shift() ?? running))
  expect(await ended).toMatchObject({ state: 'done', done: 3 })
})

test('Ctrl-C leaves it also where the server does not answer, and a second one is not held back', async () => {
  const before = process.listenerCount('SIGINT')
  const { ended, notes } = start(() => {
    process.emit('SIGINT')
    expect(process.listenerCount('SIGINT')).toBe(before)
    return new Promise(() => undefined)
  })
  expect(await ended).toEqual(running)
  expect(notes).toEqual(['It goes on in the background. See: carillon x'])
  expect(process.exitCode).toBe(130)
})
