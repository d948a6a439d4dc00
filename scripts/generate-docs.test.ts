import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { generate } from './generate-docs.mjs'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'carillon-docs-'))
  writeFileSync(
    join(root, 'table.mjs'),
    "export const first = () => 'one\\n'\nexport const second = () => 'two\\n'\n",
  )
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

interface Table {
  first: () => string
  second: () => string
}
const entries = [
  { file: 'docs/first.md', module: 'table.mjs', render: (table: Table) => table.first() },
  { file: 'docs/second.md', module: 'table.mjs', render: (table: Table) => table.second() },
]

describe('generate', () => {
  it('writes every page, and only what differs', async () => {
    expect(await generate({ root, check: false, entries })).toEqual(['docs/first.md', 'docs/second.md'])
    expect(readFileSync(join(root, 'docs/second.md'), 'utf8')).toBe('two\n')
    expect(await generate({ root, check: false, entries })).toEqual([])
  })

  it('with check names every page that differs or is missing, and writes nothing', async () => {
    await generate({ root, check: false, entries })
    writeFileSync(join(root, 'docs/first.md'), 'edited\n')
    rmSync(join(root, 'docs/second.md'))
    expect(await generate({ root, check: true, entries })).toEqual(['docs/first.md', 'docs/second.md'])
    expect(readFileSync(join(root, 'docs/first.md'), 'utf8')).toBe('edited\n')
    expect(existsSync(join(root, 'docs/second.md'))).toBe(false)
  })

  it('says what to do where the code is not built', async () => {
    const missing = [{ file: 'docs/first.md', module: 'dist/none.js', render: () => '' }]
    await expect(generate({ root, check: true, entries: missing })).rejects.toThrow(
      /not built: run npm run build/,
    )
  })
})

describe('the command', () => {
  it('refuses an option that it does not know', () => {
    const script = fileURLToPath(new URL('generate-docs.mjs', import.meta.url))
    const { status, stderr } = spawnSync(process.execPath, [script, '--chek'], { encoding: 'utf8' })
    expect(stderr).toContain('--chek')
    expect(status).toBe(2)
  })
})
