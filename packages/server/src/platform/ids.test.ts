import fc from 'fast-check'
import { validate, version } from 'uuid'
import { describe, expect, it } from 'vitest'
import {
  incarnationName,
  jobIdOf,
  newIncarnation,
  newUuid,
  type RunIdentity,
  runIdentityOf,
  runIdOf,
  uuidOf,
} from './ids.js'

const uuids = fc.uuid()
/** Every value that the columns of the queue can hold, up to the bits that an id has for them. */
const runs: fc.Arbitrary<RunIdentity> = fc.record({
  due: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  job: fc.integer({ min: 1, max: 2 ** 48 - 1 }),
  origin: fc.integer({ min: 0, max: 255 }),
  seq: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  partition: fc.integer({ min: 0, max: 255 }),
})
const base32 = fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyz')
const otherText = ['', 'job_', 'run_', ' ', 'null', '__proto__', "' OR 1=1 --", '\u0000', '🕰'.repeat(13)]

describe('a new UUID', () => {
  it('is of version 7, begins with the time, and comes after all that were made before it', () => {
    const before = Date.now()
    const made = Array.from({ length: 10_000 }, newUuid)
    expect(made.every((uuid) => validate(uuid) && version(uuid) === 7)).toBe(true)
    expect(made).toEqual([...new Set(made)].sort())
    const [first = ''] = made
    const time = Number.parseInt(first.replace('-', '').slice(0, 12), 16)
    expect(Math.abs(time - before)).toBeLessThan(60_000)
  })
})

describe('a job id', () => {
  it('is pinned: an id that was given out stays valid for ever', () => {
    expect(jobIdOf('01890a5d-ac96-774b-bcce-b302099a8057')).toBe('job_01h455vb4pex5vsknk084sn02q')
    expect(uuidOf('job_01h455vb4pex5vsknk084sn02q')).toBe('01890a5d-ac96-774b-bcce-b302099a8057')
    expect(jobIdOf('ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe('job_7zzzzzzzzzzzzzzzzzzzzzzzzz')
  })

  it('comes back as the UUID it was made from', () => {
    fc.assert(fc.property(uuids, (uuid) => uuidOf(jobIdOf(uuid)) === uuid))
  })

  it('sorts as its UUID does', () => {
    fc.assert(fc.property(uuids, uuids, (one, other) => jobIdOf(one) < jobIdOf(other) === one < other))
  })

  it('sorts by age when it is new', () => {
    const made = Array.from({ length: 1_000 }, () => jobIdOf(newUuid()))
    expect([...made].sort()).toEqual(made)
    expect(new Set(made).size).toBe(made.length)
  })

  it.each([
    ...otherText,
    'job_01h455vb4pex5vsknk084sn02',
    'job_01h455vb4pex5vsknk084sn02qq',
    'job_01H455VB4PEX5VSKNK084SN02Q',
    'job_81h455vb4pex5vsknk084sn02q',
    'job_01h455vb4pex5vsknk084sn0iq',
    'job_01h455vb4pex5vsknk084sn0lq',
    'job_01h455vb4pex5vsknk084sn0oq',
    'job_01h455vb4pex5vsknk084sn0uq',
    'job_01h455vb4pex5vsknk084sn02q\n',
    ' job_01h455vb4pex5vsknk084sn02q',
    'run_01h455vb4pex5vsknk084sn02q',
    '01890a5d-ac96-774b-bcce-b302099a8057',
    'job_00000000000000000000000001',
  ])('is not %j', (text) => {
    expect(uuidOf(text)).toBeNull()
  })

  it('has one spelling: a text that is read is written the same', () => {
    const texts = fc
      .tuple(
        fc.constantFrom(...'01234567'),
        fc.string({ unit: base32, minLength: 25, maxLength: 25 }).map((text) => setVersion(text)),
      )
      .map(([first, rest]) => `job_${first}${rest}`)
    let read = 0
    fc.assert(
      fc.property(texts, (text) => {
        const uuid = uuidOf(text)
        if (uuid === null) return
        read += 1
        expect(jobIdOf(uuid)).toBe(text)
      }),
    )
    expect(read).toBeGreaterThan(0)
  })
})

describe('a run id', () => {
  it('is pinned: an id that was given out stays valid for ever', () => {
    const run = { due: Date.parse('2026-11-02T12:00:00Z'), job: 42, origin: 0, seq: 0, partition: 17 }
    expect(runIdOf(run)).toBe('run_0g38cw45s004800000001a00000000')
    expect(runIdentityOf('run_0g38cw45s004800000001a00000000')).toEqual(run)
  })

  it('carries the whole identity of its run', () => {
    fc.assert(
      fc.property(runs, (run) => {
        expect(runIdentityOf(runIdOf(run))).toEqual(run)
      }),
    )
  })

  it.each<RunIdentity>([
    { due: 0, job: 1, origin: 0, seq: 0, partition: 0 },
    { due: 2 ** 48 - 1, job: 2 ** 48 - 1, origin: 255, seq: 2 ** 31 - 1, partition: 255 },
    { due: 2 ** 48 - 1, job: 1, origin: 0, seq: 0, partition: 0 },
    { due: 0, job: 2 ** 48 - 1, origin: 0, seq: 0, partition: 0 },
    { due: 0, job: 1, origin: 255, seq: 0, partition: 0 },
    { due: 0, job: 1, origin: 0, seq: 2 ** 31 - 1, partition: 0 },
    { due: 0, job: 1, origin: 0, seq: 0, partition: 255 },
  ])('keeps extremes apart: %o', (run) => {
    expect(runIdentityOf(runIdOf(run))).toEqual(run)
    expect(runIdOf(run)).toMatch(/^run_[0-9a-z]{30}$/)
  })

  it('has room for the last instant that a schedule can name', () => {
    const due = Date.parse('9999-12-31T23:59:59.999Z') + 86_400_000
    const run = { due, job: 7, origin: 0, seq: 0, partition: 3 }
    expect(runIdentityOf(runIdOf(run))).toEqual(run)
  })

  it('sorts by its due time, then by partition and job', () => {
    fc.assert(
      fc.property(runs, runs, (one, other) => {
        const order = ['due', 'partition', 'job', 'origin', 'seq'] as const
        const differs = order.find((key) => one[key] !== other[key])
        const before = differs !== undefined && one[differs] < other[differs]
        expect(runIdOf(one) < runIdOf(other)).toBe(before)
      }),
    )
  })

  it('has one spelling, and a text that is none is told apart', () => {
    fc.assert(
      fc.property(fc.string({ unit: base32, minLength: 28, maxLength: 28 }), (rest) => {
        for (const version of ['0g', '0h', '0z', '0f', '10', '00', 'zz', '2g']) {
          const text = `run_${version}${rest}`
          const run = runIdentityOf(text)
          if (['0g', '0h', '0z'].includes(version)) expect(run && runIdOf(run)).toBe(text)
          else expect(run).toBeNull()
        }
      }),
    )
  })

  it.each([
    ...otherText,
    'run_0g38cw45s004800000001a0000000',
    'run_0g38cw45s004800000001a000000000',
    'RUN_0g38cw45s004800000001a00000000',
    'run_0G38cw45s004800000001a00000000',
    'run_0g38cw45s00480000000ia00000000',
    'run_0g38cw45s00480000000ua00000000',
    'run_0g38cw45s004800000001a00000000\n',
    'job_0g38cw45s004800000001a00000000',
  ])('is not %j', (text) => {
    expect(runIdentityOf(text)).toBeNull()
  })
})

describe('an incarnation', () => {
  it('is random, positive, and exact as a JavaScript number', () => {
    const made = Array.from({ length: 10_000 }, newIncarnation)
    expect(made.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true)
    expect(new Set(made).size).toBe(made.length)
    // 53 bits are used: with fewer, two processes of a large fleet could meet.
    expect(Math.max(...made)).toBeGreaterThan(2 ** 52)
  })

  it('has a name of its own', () => {
    expect(incarnationName(1)).toBe('node_00000000001')
    expect(incarnationName(2 ** 53 - 1)).toBe('node_7zzzzzzzzzz')
    fc.assert(
      fc.property(
        fc.maxSafeNat(),
        fc.maxSafeNat(),
        (one, other) => (incarnationName(one) === incarnationName(other)) === (one === other),
      ),
    )
  })
})

/** Puts the bits of a UUIDv7 where they belong, so that many of the random texts are ids. */
function setVersion(text: string): string {
  return `${text.slice(0, 9)}e${text.slice(10, 12)}8${text.slice(13)}`
}
