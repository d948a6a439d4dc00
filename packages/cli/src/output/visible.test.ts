import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonLine, visible, visibleLines } from './visible.js'

describe('visible', () => {
  it.each([
    ['an escape sequence', 'a\u001b[31mb', 'a\\u001b[31mb'],
    ['a line end', 'a\nb\r\tc', 'a\\nb\\r\\tc'],
    ['the one-character escape of C1', '\u009b2J', '\\u009b2J'],
    ['DEL', 'a\u007f', 'a\\u007f'],
    ['a mark that turns the text around', 'a\u202eb', 'a\\u202eb'],
    ['half of a surrogate pair', 'a\ud800', 'a\\ud800'],
  ])('shows %s', (_what, text, shown) => {
    expect(visible(text)).toBe(shown)
  })

  it('leaves words of every script and emoji as they are', () => {
    const text = 'Año 日本語 می‌خواهم 👨‍👩‍👧 ✓'
    expect(visible(text)).toBe(text)
  })

  it('never lets a control character through', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text)).not.toMatch(/\p{Cc}/u)
      }),
    )
  })
})

describe('visibleLines', () => {
  it('keeps line ends and nothing else of the kind', () => {
    expect(visibleLines('a\n\u001bb\r')).toBe('a\n\\u001bb\\r')
  })
})

describe('jsonLine', () => {
  it('is one line without control characters, and reads back as the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const line = jsonLine(value)
        expect(line).toMatch(/^[^\p{Cc}]*\n$/u)
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})
