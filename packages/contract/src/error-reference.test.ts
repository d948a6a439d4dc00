import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { renderErrorReference } from './error-reference.js'
import { errorCatalogue } from './errors.js'

const committed = readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8')
const documented = [...committed.matchAll(/^## (\w+)$/gm)].map(([, code]) => code)

describe('docs/reference/errors.md', () => {
  it.each(Object.entries(errorCatalogue))('documents %s with its status, title and hint', (code, entry) => {
    expect(documented).toContain(code)
    const section = committed.split(`## ${code}\n`)[1]?.split('\n## ')[0]
    expect(section).toContain(`**${entry.status}** ${entry.title}.`)
    expect(section).toContain(entry.hint)
  })

  it('documents no code that the catalogue does not have, and none twice', () => {
    expect([...documented].sort()).toEqual(Object.keys(errorCatalogue).sort())
  })

  it('is what the catalogue says now: run npm run docs after a change', () => {
    expect(committed).toBe(renderErrorReference())
  })
})

describe('the catalogue', () => {
  it.each(Object.entries(errorCatalogue))(
    '%s says what is wrong and what to do',
    (code, { status, title, hint }) => {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(title).toMatch(/^[A-Z].*[^.]$/)
      expect(hint).toMatch(/^[A-Z].*\.$/)
    },
  )
})
