import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffLines, sortedJson } from './diff.js'

describe('a difference', () => {
  it('names what was taken out and what was put in', () => {
    expect(diffLines('a\nb\nc', 'a\nx\nc')).toEqual([
      { kind: 'same', text: 'a' },
      { kind: 'removed', text: 'b' },
      { kind: 'added', text: 'x' },
      { kind: 'same', text: 'c' },
    ])
  })

  it('has both texts in it, whatever they are, and nothing else', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 12 })
      .map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after)
        const of = (kind: string) =>
          lines.filter((line) => line.kind === kind || line.kind === 'same').map((line) => line.text)
        expect(of('removed').join('\n')).toBe(before)
        expect(of('added').join('\n')).toBe(after)
      }),
    )
  })

  it('of one text with itself is none', () => {
    expect(diffLines('a\nb', 'a\nb').every(({ kind }) => kind === 'same')).toBe(true)
  })

  it('of very long texts is all of both, and does not take for ever', () => {
    const long = (word: string) => Array.from({ length: 5_000 }, (_, index) => `${word}${index}`).join('\n')
    expect(diffLines(long('a'), long('b'))).toHaveLength(10_000)
  })
})

it('definitions with the same content are written the same', () => {
  expect(sortedJson({ b: 1, a: { d: [{ z: 1, y: 2 }], c: null } })).toBe(
    sortedJson({ a: { c: null, d: [{ y: 2, z: 1 }] }, b: 1 }),
  )
})
