import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadTasks, TaskFileError } from './task-registry.js'

let folder = ''
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-tasks-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function module(source: string, extension = 'mjs'): Promise<string> {
  const file = join(folder, `tasks-${++files}.${extension}`)
  await writeFile(file, source)
  return file
}

const task = (id: string) => `({ id: '${id}', run: () => '${id} ran' })`

test.each([
  ['an object of handlers', `export default { a: () => 'a ran', async b() { return 'b ran' } }`],
  ['an array of tasks', `export default [${task('b')}, ${task('a')}]`],
  [
    'named tasks beside helpers',
    `export const x = ${task('a')}; export const y = ${task('b')}; export const help = () => 1; export const n = 5`,
  ],
  ['both', `export const x = ${task('a')}; export default { b: () => 'b ran' }`],
  ['an object of tasks, under their ids', `export default { first: ${task('a')}, second: ${task('b')} }`],
  [
    'the same task twice',
    `export const x = ${task('a')}; export const again = x; export default [x, ${task('b')}]`,
  ],
])('%s is loaded', async (_, source) => {
  const registry = await loadTasks(await module(source))
  expect(registry.names()).toEqual(['a', 'b'])
  expect(await registry.get('a')?.run(null, {} as never)).toBe('a ran')
  expect(registry.get('toString')).toBeUndefined()
})

test('a single task as default export is loaded', async () => {
  expect((await loadTasks(await module(`export default ${task('only')}`))).names()).toEqual(['only'])
})

test('a handler of a default object keeps no tie to it, and a relative path counts from the working directory', async () => {
  const file = await module(`export default { 'send digest': (input) => input.n + 1 }`)
  const registry = await loadTasks(relative(process.cwd(), file))
  expect(await registry.get('send digest')?.run({ n: 1 }, {} as never)).toBe(2)
})

test.each([
  ['nothing', 'export const n = 1', /exports no task\. .*defineTask/],
  ['an empty default', 'export default {}', /exports no task/],
  ['two tasks of one id', `export default [${task('a')}, ${task('a')}]`, /two tasks with the id "a"/],
  [
    'a handler and a named task of one id',
    `export default { a() {} }; export const x = ${task('a')}`,
    /two tasks with the id "a"/,
  ],
  [
    'a value that is no function',
    'export default { a: 5 }',
    /default\.a in .* is a number, not a task or a function/,
  ],
  ['an array with something else', `export default [${task('a')}, null]`, /default\[1\] in .* is null/],
  ['a function', 'export default () => {}', /default export of .* is a function/],
  ['an empty name', `export default { '': () => {} }`, /A name has 1 to 200 characters/],
  ['a broken module', 'throw new Error("no database")', /could not be loaded: Error: no database/],
  ['a missing import', `import './absent.mjs'`, /could not be loaded: .*absent/],
])('a file that exports %s is refused with the reason', async (_, source, message) => {
  const file = await module(source)
  const error = await loadTasks(file).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(TaskFileError)
  expect(error).toHaveProperty('message', expect.stringMatching(message))
  expect(error).toHaveProperty('message', expect.stringContaining(file))
})

test('a missing file and a folder are told apart', async () => {
  await expect(loadTasks(join(folder, 'absent.mjs'))).rejects.toThrow(/absent\.mjs does not exist/)
  await expect(loadTasks(folder)).rejects.toThrow(/is not a file/)
})

test('a TypeScript file on a Node that cannot run it is explained', async () => {
  const file = await module('export default {}', 'ts')
  const asNode20 = () =>
    Promise.reject(
      Object.assign(new TypeError('Unknown file extension ".ts"'), { code: 'ERR_UNKNOWN_FILE_EXTENSION' }),
    )
  await expect(loadTasks(file, asNode20)).rejects.toThrow(
    /is TypeScript, which Node v\S+ does not run by itself\. Compile it/,
  )
})
