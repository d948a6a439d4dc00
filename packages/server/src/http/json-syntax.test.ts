import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { locateSyntaxProblem } from './json-syntax.js'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** JSON with a few characters removed, doubled or replaced: most of it is broken, some is not. */
const nearlyJson = fc
  .tuple(
    fc.json({ noUnicodeString: false }),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom(
          '',
          '"',
          ',',
          ':',
          '{',
          '}',
          '[',
          ']',
          '\\',
          '0',
          '-',
          'e',
          '.',
          ' ',
          '\n',
          't',
          '\u0001',
        ),
      ),
      {
        maxLength: 3,
      },
    ),
  )
  .map(([text, changes]) =>
    changes.reduce((changed, [place, replacement]) => {
      const at = place % (changed.length + 1)
      return changed.slice(0, at) + replacement + changed.slice(at + 1)
    }, text),
  )

describe('locateSyntaxProblem', () => {
  it('finds a fault exactly where JSON.parse refuses', () => {
    fc.assert(
      fc.property(nearlyJson, (text) => {
        expect(locateSyntaxProblem(text) === null).toBe(parses(text))
      }),
      { numRuns: 3_000 },
    )
  })

  it('names a place within the text, or right behind its end', () => {
    fc.assert(
      fc.property(nearlyJson, (text) => {
        const problem = locateSyntaxProblem(text)
        if (problem === null) return
        const lines = text.split('\n')
        expect(problem.line).toBeLessThanOrEqual(lines.length)
        expect(problem.column).toBeLessThanOrEqual((lines[problem.line - 1]?.length ?? 0) + 1)
      }),
    )
  })

  it('needs no stack for a million levels', () => {
    expect(locateSyntaxProblem('['.repeat(1_000_000))).toMatchObject({ line: 1, column: 1_000_001 })
  })

  it('shows a whole character, not half of one', () => {
    expect(locateSyntaxProblem('😀')?.message).toBe('expected a value, found "😀"')
  })
})
