import type { Logger } from 'pino'
import { describe, expect, it } from 'vitest'
import { ManualClock, settled } from '../../test/kit/manual-clock.js'
import { createLog } from './log.js'
import { Service } from './service.js'

interface Line {
  level: number
  msg: string
  loop: string
  failures: number
  err?: { message: string }
}

const intervalMs = 100

/** A loop whose passes the test decides: each entry of `script` is one pass; after the last one they succeed. */
function loopOf(script: (() => Promise<boolean | undefined> | boolean | undefined)[] = []) {
  const clock = new ManualClock()
  const lines: Line[] = []
  const log: Logger = createLog({ level: 'debug', format: 'json' }, (line) =>
    lines.push(JSON.parse(line) as Line),
  )
  const counted = { passed: [] as string[], failed: [] as string[] }
  let passes = 0
  const service = new Service({
    name: 'chime',
    intervalMs,
    clock,
    log,
    metrics: { passed: (loop) => counted.passed.push(loop), failed: (loop) => counted.failed.push(loop) },
    runOnce: (signal) => {
      const pass = script[passes]
      passes += 1
      signals.push(signal)
      return Promise.resolve(pass?.())
    },
  })
  const signals: AbortSignal[] = []
  return { service, clock, lines, counted, signals, passes: () => passes }
}

function failing(times: number, also: () => void = () => undefined) {
  return Array.from({ length: times }, (_, at) => () => {
    also()
    return Promise.reject(new Error(`failure ${at + 1}`))
  })
}

/** A pass that goes on until the test ends it. */
function held() {
  let end = (_more?: boolean) => undefined as void
  const pass = () =>
    new Promise<boolean | undefined>((resolve) => {
      end = (more) => resolve(more)
    })
  return { pass, end: (more?: boolean) => end(more) }
}

describe('a loop that goes well', () => {
  it('passes at start and then once per interval', async () => {
    const { service, clock, passes, counted } = loopOf()
    service.start()
    await settled()
    expect(passes()).toBe(1)
    await clock.advance(intervalMs - 1)
    expect(passes()).toBe(1)
    await clock.advance(1)
    expect(passes()).toBe(2)
    expect(counted).toEqual({ passed: ['chime', 'chime'], failed: [] })
    await service.stop()
  })

  it('passes again at once while a pass says that more is waiting', async () => {
    const { service, passes } = loopOf([() => true, () => true, () => false])
    service.start()
    await settled()
    expect(passes()).toBe(3)
    await service.stop()
  })

  it('passes at once when woken while it rests', async () => {
    const { service, clock, passes } = loopOf()
    service.start()
    await settled()
    service.wake()
    await settled()
    expect(passes()).toBe(2)
    expect(clock.armed).toBe(1)
    await service.stop()
  })

  it('keeps a wake that arrives during a pass, and turns any number of them into one more pass', async () => {
    const { pass, end } = held()
    const { service, passes } = loopOf([pass])
    service.start()
    await settled()
    service.wake()
    service.wake()
    end()
    await settled()
    expect(passes()).toBe(2)
    await service.stop()
  })

  it('makes one pass, not two, when it was woken before it started', async () => {
    const { service, passes } = loopOf()
    service.wake()
    service.start()
    await settled()
    expect(passes()).toBe(1)
    await service.stop()
  })

  it('refuses to be started twice', async () => {
    const { service } = loopOf()
    service.start()
    expect(() => service.start()).toThrow('The loop chime was started twice.')
    await service.stop()
  })
})

describe('a loop that fails', () => {
  it('counts and logs the failure with its cause, and goes on', async () => {
    const { service, clock, passes, counted, lines } = loopOf(failing(1))
    service.start()
    await settled()
    expect(counted.failed).toEqual(['chime'])
    expect(lines).toMatchObject([
      { level: 40, msg: 'loop failed', loop: 'chime', failures: 1, err: { message: 'failure 1' } },
    ])
    await clock.advance(10_000)
    expect(passes()).toBeGreaterThan(1)
    expect(counted.passed.length).toBeGreaterThan(0)
    await service.stop()
  })

  it('waits ever longer, with jitter, up to five seconds', async () => {
    const { service, clock } = loopOf(failing(12))
    service.start()
    await settled()
    for (let failure = 1; failure <= 12; failure++) {
      const longest = Math.min(5_000, intervalMs * 2 ** failure)
      const waited = clock.delays.at(-1) ?? Number.NaN
      expect(clock.delays).toHaveLength(failure)
      expect(waited).toBeGreaterThanOrEqual(longest / 2)
      expect(waited).toBeLessThanOrEqual(longest)
      await clock.advance(waited)
    }
    await service.stop()
  })

  it('comes back to its interval after a pass that went well', async () => {
    const { service, clock } = loopOf(failing(5))
    service.start()
    await settled()
    for (let failure = 1; failure <= 5; failure++) await clock.advance(clock.delays.at(-1) ?? 0)
    expect(clock.delays.at(-1)).toBe(intervalMs)
    await service.stop()
  })

  it('does not spin when each failing pass wakes it', async () => {
    let wake = () => undefined as void
    const { service, passes } = loopOf(failing(1_000, () => wake()))
    wake = () => service.wake()
    service.start()
    await settled()
    await settled()
    expect(passes()).toBe(1)
    await service.stop()
  })

  it('warns of the first failure and then ever less often; the others are told at debug level', async () => {
    const { service, clock, lines } = loopOf(failing(9))
    service.start()
    await settled()
    for (let failure = 2; failure <= 9; failure++) await clock.advance(5_000)
    const warned = lines.filter(({ level }) => level === 40).map(({ failures }) => failures)
    expect(warned).toEqual([1, 2, 4, 8])
    expect(lines.map(({ failures }) => failures)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    await service.stop()
  })

  it('survives a pass that throws before it returns a promise, and one that throws no Error', async () => {
    const { service, clock, counted } = loopOf([
      () => {
        throw new Error('at once')
      },
      () => {
        AbortSignal.abort('a reason that is no Error').throwIfAborted()
        return undefined
      },
    ])
    service.start()
    await settled()
    await clock.advance(5_000)
    expect(counted.failed).toHaveLength(2)
    await clock.advance(5_000)
    expect(counted.passed.length).toBeGreaterThan(0)
    await service.stop()
  })
})

describe('stopping a loop', () => {
  it('waits for the pass under way and lets it know', async () => {
    const { pass, end } = held()
    const { service, signals, passes } = loopOf([pass])
    service.start()
    await settled()
    let stopped = false
    const stopping = service.stop().then(() => {
      stopped = true
    })
    await settled()
    expect(stopped).toBe(false)
    expect(signals[0]?.aborted).toBe(true)
    end(true)
    await stopping
    expect(passes()).toBe(1)
  })

  it('cuts a rest short and leaves no timer behind', async () => {
    const { service, clock, passes } = loopOf()
    service.start()
    await settled()
    await service.stop()
    expect(clock.armed).toBe(0)
    await clock.advance(10 * intervalMs)
    expect(passes()).toBe(1)
  })

  it('ends a loop whose last pass failed', async () => {
    const { pass, end } = held()
    const { service, counted } = loopOf([() => pass().then(() => Promise.reject(new Error('late')))])
    service.start()
    await settled()
    const stopping = service.stop()
    end()
    await stopping
    expect(counted.failed).toEqual(['chime'])
  })

  it('may come before the start, and then no pass ever runs', async () => {
    const { service, passes } = loopOf()
    await service.stop()
    service.start()
    await settled()
    await service.stop()
    expect(passes()).toBe(0)
  })
})

describe('progress', () => {
  it('is counted from the last pass that ended well', async () => {
    const { service, clock } = loopOf([() => undefined, ...failing(3)])
    expect(service.sinceProgressMs()).toBe(0)
    await clock.advance(30)
    expect(service.sinceProgressMs()).toBe(30)
    await expect(service.runOnce()).resolves.toBe(false)
    expect(service.sinceProgressMs()).toBe(0)
    await clock.advance(70)
    await expect(service.runOnce()).rejects.toThrow('failure 1')
    expect(service.sinceProgressMs()).toBe(70)
  })

  it('does not count a pass that has begun and not ended', async () => {
    const { pass } = held()
    const { service, clock } = loopOf([pass])
    service.start()
    await clock.advance(500)
    expect(service.sinceProgressMs()).toBe(500)
  })
})
