import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mutantOf } from '../../../../../chaos/mutants/build.mjs'
import { play } from '../../../../../chaos/mutants/prove.mjs'
import { scenarios } from '../../../../../chaos/mutants/scenarios.mjs'
import { Databases } from '../../../../../chaos/mutants/stage/database.mjs'
import { temporaryFolder } from '../support/carillon.js'

/** A busy machine may let the moment pass in which the missing guard would have been needed: then nothing went wrong that could be found. */
const mostPlays = 3

/**
 * The scenario of each mutant, played on three builds with the same seed and the same faults: the mutant, of which the checker
 * must say what is wrong; the guard gone and what hides that still there, where the test names it; the ordinary build.
 */
export function proves(names: readonly string[], hidden: readonly string[] = []): void {
  const { path: folder } = temporaryFolder()
  let databases: Databases
  let failed = 0

  beforeAll(async () => {
    databases = await Databases.open()
  })
  afterAll(async () => {
    await databases?.close()
    if (failed > 0) console.log(`All that was written down is in ${folder}.`)
    else rmSync(folder, { recursive: true, force: true })
  })

  async function violations(
    name: string,
    build: 'mutant' | 'alone' | 'ordinary',
    time = 1,
  ): Promise<string[]> {
    const found = await play(name, { build, databases, folder: join(folder, `${name}-${build}-${time}`) })
    const counts = Object.entries(found.violations).map(([kind, { count }]) => `${kind} ${count}`)
    console.log(`${name} ${build}: ${found.ticks} ticks, ${counts.join(', ') || 'no violation'}`)
    expect(found.ticks).toBeGreaterThan(0)
    return Object.keys(found.violations)
  }

  for (const name of names) {
    const red = scenarios[name]?.red ?? []
    test(`${name}: the checker finds ${red.join(' and ')}`, async () => {
      failed += 1
      let found: string[] = []
      for (let time = 1; time <= mostPlays && !red.every((kind) => found.includes(kind)); time++)
        found = await violations(name, 'mutant', time)
      expect(found).toEqual(expect.arrayContaining(red))
      failed -= 1
    })
    test(`${name}: the same faults do the ordinary build no harm`, async () => {
      failed += 1
      expect(await violations(name, 'ordinary')).toEqual([])
      failed -= 1
    })
    if (!hidden.includes(name)) continue
    test(`${name}: nothing is seen while this hides it: ${mutantOf(name).mask?.by}`, async () => {
      failed += 1
      expect(await violations(name, 'alone')).toEqual([])
      failed -= 1
    })
  }
}
