import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { buildMutant, buildOf, commandOf, mutantOf } from '../../../../../chaos/mutants/build.mjs'
import { mutants } from '../../../../../chaos/mutants/catalogue.mjs'
import { scenarios } from '../../../../../chaos/mutants/scenarios.mjs'
import { temporaryFolder } from '../support/carillon.js'

const packages = fileURLToPath(new URL('../../../../', import.meta.url))
const names = Object.keys(mutants)
const guard = 'server/dist/pipeline/recover/orphaning.sql'

function emptyFolder(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return folder.path
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

test('every mutant has a scenario, and every scenario a mutant', () => {
  expect(Object.keys(scenarios)).toEqual(names)
  expect(names).toHaveLength(8)
})

test.each(names)('%s finds its guards in this build, and changes nothing else', (name) => {
  const folder = join(buildMutant(name, { into: emptyFolder() }), 'packages')
  const { edits, mask, added = [] } = mutantOf(name)
  const changed = filesBelow(folder).filter((file) => {
    const original = join(packages, file)
    return readFileSync(join(folder, file), 'utf8') !== textOf(original)
  })
  const named = [...edits, ...(mask?.edits ?? []), ...added].map(({ file }) => file)
  expect(changed.sort()).toEqual([...new Set(named)].sort())
})

test('a mutant is a whole build: it runs, and with its own copy of the server', () => {
  const folder = buildMutant('start-before-due', { into: emptyFolder() })
  const version = execFileSync(process.execPath, [commandOf(folder), '--version'], { encoding: 'utf8' })
  expect(version).toBe(execFileSync(process.execPath, [commandOf(), '--version'], { encoding: 'utf8' }))
  const where = "import.meta.resolve('@carillon/server')"
  const script = `process.stdout.write(${where})`
  const resolved = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: join(folder, 'packages/cli'),
  })
  expect(fileURLToPath(resolved)).toBe(join(folder, 'packages/server/dist/index.js'))
})

test.each([
  ['is gone', 'no such text'],
  ['is there twice', 'tenant IS NOT NULL'],
])('a mutant whose guard %s is not built', (_case, from) => {
  const mutant = { guard: 'a guard', edits: [{ file: guard, from, to: '' }] }
  expect(() => buildOf('rotten', mutant, { into: emptyFolder() })).toThrow('not once. The guard has changed')
})

test('a name that no mutant has is refused with those that are there', () => {
  expect(() => buildMutant('no-such')).toThrow('There is no mutant "no-such". There are unique-dropped,')
})

test('the shipped code knows nothing of mutants', () => {
  const words = ['server', 'cli', 'sdk', 'contract'].flatMap((name) =>
    filesBelow(join(packages, name, 'src'))
      .filter((file) => !file.endsWith('.test.ts'))
      .filter((file) => /mutant/i.test(readFileSync(join(packages, name, 'src', file), 'utf8'))),
  )
  expect(words).toEqual([])
})

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
