import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('.', import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /(?<!\.test)\.ts$/.test(file),
)

test('the SDK needs the contract and nothing else', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, '../package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  expect(Object.keys(dependencies)).toEqual(['@carillon/contract'])
  const imported = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\() ?'([^'.][^']*)'/g)].map(
      ([, name]) => name,
    ),
  )
  expect(imported).toContain('@carillon/contract')
  expect(
    imported.filter((name) => name !== '@carillon/contract' && name?.startsWith('node:') !== true),
  ).toEqual([])
})
