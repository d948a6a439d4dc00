import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Deadline } from './deadline.js'
import { acquireStartLock } from './start-lock.js'

const FOREVER = new Deadline(3_600_000)
const NO_SUCH_PID = 2 ** 22 + 1

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-lock-'))
  path = join(folder, 'start.lock')
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes a lock file like that of a real holder, changed. */
async function leaveLockFile(change: Record<string, unknown>): Promise<void> {
  const lock = await acquireStartLock(path, FOREVER)
  const holder = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  await lock.release()
  writeFileSync(path, JSON.stringify({ ...holder, token: 'left-behind', ...change }))
}

/** A monotonic clock that runs ahead when told to, and knows how often it was read. */
function clockThatJumps(): { jump: (ms: number) => void; readAgain: () => Promise<void> } {
  const real = performance.now.bind(performance)
  let ahead = 0
  let reads = 0
  vi.spyOn(performance, 'now').mockImplementation(() => {
    reads++
    return real() + ahead
  })
  return {
    jump: (ms) => {
      ahead += ms
    },
    // One turn of the waiter reads the clock three times: after six, a whole turn lies behind.
    readAgain: async () => {
      const before = reads
      await vi.waitUntil(() => reads >= before + 6, { timeout: 10_000, interval: 5 })
    },
  }
}

describe('the start lock', () => {
  it('has one holder at a time among many who want it', async () => {
    let holders = 0
    let most = 0
    const turn = async (): Promise<void> => {
      const lock = await acquireStartLock(path, FOREVER)
      most = Math.max(most, ++holders)
      await new Promise((resolve) => setImmediate(resolve))
      holders--
      await lock.release()
    }
    await Promise.all(Array.from({ length: 20 }, turn))
    expect(most).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })

  it('has one holder at a time among many who all find a dead one', async () => {
    await leaveLockFile({ pid: NO_SUCH_PID })
    let holders = 0
    let most = 0
    const turn = async (): Promise<void> => {
      const lock = await acquireStartLock(path, FOREVER)
      most = Math.max(most, ++holders)
      await new Promise((resolve) => setTimeout(resolve, 2))
      holders--
      await lock.release()
    }
    await Promise.all(Array.from({ length: 20 }, turn))
    expect(most).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })

  it.runIf(process.platform === 'linux')('is taken from a process whose pid now names another', async () => {
    await leaveLockFile({ startTicks: '1' })
    await (await acquireStartLock(path, FOREVER)).release()
    expect(existsSync(path)).toBe(false)
  })

  it('is not taken from a living process, and says whom it waited for', async () => {
    const lock = await acquireStartLock(path, FOREVER)
    await expect(acquireStartLock(path, new Deadline(100))).rejects.toThrow(`process ${process.pid}`)
    expect(existsSync(path)).toBe(true)
    await lock.release()
  })

  it.each([
    ['of another container', () => leaveLockFile({ pidSpace: 'elsewhere', pid: NO_SUCH_PID })],
    ['that was cut off while it was written', () => Promise.resolve(writeFileSync(path, ''))],
  ])(
    'leaves a holder %s alone while its heart beats, and follows it when the heart stands still',
    async (_, leave) => {
      await leave()
      const { jump, readAgain } = clockThatJumps()
      let taken = false
      const waiting = acquireStartLock(path, FOREVER).then((lock) => {
        taken = true
        return lock
      })
      for (let beat = 1; beat <= 3; beat++) {
        utimesSync(path, beat, beat)
        await readAgain()
        jump(6_000)
      }
      expect(taken).toBe(false)
      await readAgain()
      jump(11_000)
      await (await waiting).release()
      expect(readdirSync(folder)).toEqual([])
    },
  )
})
