import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import { Confirmations } from './confirmations.js'

function confirmations() {
  const clock = new ManualClock()
  const looks: string[][] = []
  const answers: (() => void)[] = []
  const asked = new Confirmations<{ name: string }>(clock, (entries) => {
    looks.push(entries.map(({ name }) => name))
    return new Promise((resolve) => answers.push(resolve))
  })
  return { clock, looks, answers, asked }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))
const a = { name: 'a' }
const b = { name: 'b' }

test('those that ask while a look is under way share the next one', async () => {
  const { asked, looks, answers } = confirmations()
  const first = asked.ask(a)
  await turn()
  const others = Promise.all([asked.ask(b), asked.ask(b), asked.ask(a)])
  await turn()
  expect(looks).toEqual([['a']])
  answers[0]?.()
  await first
  await turn()
  expect(looks).toEqual([['a'], ['b', 'a']])
  answers[1]?.()
  await others
})

test('an answer counts for a second, for the one that asked', async () => {
  const { asked, looks, answers, clock } = confirmations()
  const first = asked.ask(a)
  await turn()
  answers[0]?.()
  await first
  await clock.advance(999)
  await asked.ask(a)
  expect(looks).toHaveLength(1)
  void asked.ask(b)
  await turn()
  expect(looks).toEqual([['a'], ['b']])
  answers[1]?.()
  await clock.advance(1)
  void asked.ask(a)
  await turn()
  expect(looks).toHaveLength(3)
})
