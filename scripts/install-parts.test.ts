import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parts, pathOf } from './install-parts.mjs'

const script = fileURLToPath(new URL('install-parts.mjs', import.meta.url))

describe('what tests need beyond npm', () => {
  test('is named with its command, its package and why, each once', () => {
    expect(new Set(parts.map(({ command }) => command)).size).toBe(parts.length)
    for (const { command, package: name, why } of parts)
      for (const text of [command, name, why]) expect(text.length).toBeGreaterThan(2)
  })

  test('is found on the path, or not', () => {
    expect(pathOf('sh')).toMatch(/\/sh$/)
    expect(pathOf('no-such-command')).toBeNull()
  })

  test('is listed without installing anything', () => {
    const listed = execFileSync(process.execPath, [script, '--list'], { encoding: 'utf8' })
    for (const { command } of parts) expect(listed).toContain(`${command}: `)
  })
})
