import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Caller, currentCaller, onBehalfOf } from './caller.js'

const caller = (actor: string) => ({ actor }) as Caller
const who = () => currentCaller()?.actor ?? null

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.runAllTimers()
  vi.useRealTimers()
})

test('what is done for a caller knows it, across waits, and nobody else does', async () => {
  const seen = await onBehalfOf(caller('one'), async () => {
    await Promise.resolve()
    return who()
  })
  expect(seen).toBe('one')
  expect(who()).toBeNull()
})

test('while one goes on, the end of another does not take its caller away', async () => {
  let goOn: () => void = () => undefined
  const long = onBehalfOf(caller('long'), async () => {
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
    return who()
  })
  await onBehalfOf(caller('short'), async () => {
    await Promise.resolve()
  })
  await vi.advanceTimersByTimeAsync(10_000)
  goOn()
  expect(await long).toBe('long')
})

test('a call that is over when somebody says so is not over before, however soon its work returns', async () => {
  let end: () => void = () => undefined
  let late: Promise<string | null> = Promise.resolve(null)
  let goOn: () => void = () => undefined
  onBehalfOf(
    caller('request'),
    () => {
      late = new Promise<void>((resolve) => {
        goOn = resolve
      }).then(who)
    },
    (ended) => {
      end = ended
    },
  )
  await vi.advanceTimersByTimeAsync(10_000)
  goOn()
  expect(await late).toBe('request')
  end()
})

test('long after the last call nobody is found, and the next one is known again', async () => {
  let goOn: () => void = () => undefined
  let late: Promise<string | null> = Promise.resolve(null)
  await onBehalfOf(caller('gone'), async () => {
    await Promise.resolve()
    late = new Promise<void>((resolve) => {
      goOn = resolve
    }).then(who)
  })
  await vi.advanceTimersByTimeAsync(10_000)
  goOn()
  expect(await late).toBeNull()
  expect(await onBehalfOf(caller('next'), () => Promise.resolve().then(who))).toBe('next')
})

test('work that throws at once leaves nothing behind', () => {
  expect(() =>
    onBehalfOf(caller('broken'), () => {
      throw new Error('broken')
    }),
  ).toThrow('broken')
  expect(who()).toBeNull()
})
