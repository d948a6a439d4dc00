import { describe, expect, it } from 'vitest'
import { Findings } from './findings.js'
import type { Whereabouts } from './horizon.js'
import type { Overtaken, Scan } from './scan.js'

/** A scan that sees what it is told to when it is told to, and leaves out what it is asked to leave out. */
function gated() {
  const looks: { see: (jobs: number[]) => void; fail: (error: Error) => void }[] = []
  const runOnce = (isOvertaken: Overtaken) =>
    new Promise<Map<number, Whereabouts>>((resolve, reject) => {
      looks.push({
        see: (jobs) => {
          const left = jobs.filter((job) => !isOvertaken(job, job))
          resolve(new Map(left.map((job) => [job, { partition: 1, startAt: job }])))
        },
        fail: reject,
      })
    })
  const findings = new Findings({ runOnce } as Partial<Scan> as Scan)
  const moved = (most = 1_000) => {
    const wanted = new Map<number, Whereabouts>()
    findings.moveTo(wanted, most)
    return [...wanted.keys()]
  }
  return { findings, looks, moved }
}

const breathe = () => new Promise((resolve) => setImmediate(resolve))
const nobody = () => false

describe('findings', () => {
  it('are not what was under way when a look beside it began, nor what was taken during it', async () => {
    const { findings, looks, moved } = gated()
    findings.lookBeside([1, 2])
    findings.taken([3])
    looks[0]?.see([1, 2, 3, 4])
    await breathe()
    expect(moved()).toEqual([4])
  })

  it('are given up when a pass takes the job from elsewhere before they are looked at', async () => {
    const { findings, looks, moved } = gated()
    findings.lookBeside([])
    looks[0]?.see([1, 2, 3])
    await breathe()
    expect(moved(1)).toEqual([1])
    findings.taken([2])
    expect(moved()).toEqual([3])
  })

  it('come from one look at a time, and the next begins when the last is used up', async () => {
    const { findings, looks, moved } = gated()
    findings.lookBeside([])
    findings.lookBeside([])
    expect(looks).toHaveLength(1)
    looks[0]?.see([1])
    await breathe()
    findings.lookBeside([])
    await findings.look(nobody)
    expect(looks).toHaveLength(1)
    expect(moved()).toEqual([1])
    findings.lookBeside([])
    expect(looks).toHaveLength(2)
  })

  it('are waited for by a look of its own, which comes after the one beside', async () => {
    const { findings, looks, moved } = gated()
    findings.lookBeside([])
    const looking = findings.look((job) => job === 5)
    looks[0]?.see([])
    await breathe()
    looks[1]?.see([5, 6])
    await looking
    expect(moved()).toEqual([6])
  })

  it('fail the next pass, once, when a look beside one has failed', async () => {
    const { findings, looks } = gated()
    findings.lookBeside([])
    looks[0]?.fail(new Error('the database is away'))
    await breathe()
    expect(() => findings.throwFailure()).toThrow('away')
    findings.throwFailure()
    findings.lookBeside([])
    expect(looks).toHaveLength(2)
    looks[1]?.fail(new Error('it is still away'))
    await expect(findings.look(nobody)).rejects.toThrow('still')
  })

  it('are forgiven what a look beside has met, or meets yet', async () => {
    const { findings, looks } = gated()
    findings.lookBeside([])
    const forgiven = findings.forgiven()
    looks[0]?.fail(new Error('the database is away'))
    await forgiven
    findings.throwFailure()
    expect(findings.size).toBe(0)
  })
})
