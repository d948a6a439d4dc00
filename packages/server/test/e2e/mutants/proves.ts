import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mutantOf } from '../../../../../chaos/mutants/build.mjs'
import { play } from '../../../../../chaos/mutants/prove.mjs'
import { scenarios } from '../../../../../chaos/mutants/scenarios.mjs'
import { Databases } from '../../../../../chaos/mutants/stage/database.mjs'
import { temporaryFolder } from '../support/carillon.js'

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

  async function violations(name: string, build: 'mutant' | 'alone' | 'ordinary'): Promise<string[]> {
    failed += 1
    const found = await play(name, { build, databases, folder: join(folder, `${name}-${build}`) })
    const counts = Object.entries(found.violations).map(([kind, { count }]) => `${kind} ${count}`)
    console.log(`${name} ${build}: ${found.ticks} ticks, ${counts.join(', ') || 'no violation'}`)
    expect(found.ticks).toBeGreaterThan(0)
    return Object.keys(found.violations)
  }

  for (const name of names) {
    const red = scenarios[name]?.red ?? []
    test(`${name}: the checker finds ${red.join(' and ')}`, async () => {
      expect(await violations(name, 'mutant')).toEqual(expect.arrayContaining(red))
      failed -= 1
    })
    test(`${name}: the same faults do the ordinary build no harm`, async () => {
      expect(await violations(name, 'ordinary')).toEqual([])
      failed -= 1
    })
    if (!hidden.includes(name)) continue
    test(`${name}: nothing is seen while this hides it: ${mutantOf(name).mask?.by}`, async () => {
      expect(await violations(name, 'alone')).toEqual([])
      failed -= 1
    })
  }
}
