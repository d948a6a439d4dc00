import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OutputTail } from './output-tail.js'

function tailOf(most: number, ...chunks: (string | Buffer)[]): OutputTail {
  const tail = new OutputTail(most)
  for (const chunk of chunks) tail.add(Buffer.from(chunk))
  return tail
}

test('the end is kept, however it was cut into chunks', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme-ascii' })),
      fc.integer({ min: 1, max: 20 }),
      (chunks, most) => {
        const tail = tailOf(most, ...chunks)
        const all = chunks.join('')
        expect(tail.text).toBe(all.slice(-most))
        expect(tail.truncated).toBe(all.length > most)
        expect(tail.received).toBe(all.length)
      },
    ),
  )
})

test('a character that the cut went through is dropped, and one split over chunks is not', () => {
  expect(tailOf(4, 'é✓a').text).toBe('✓a')
  expect(tailOf(3, 'é✓a').text).toBe('a')
  const [first, ...rest] = Buffer.from('✓')
  expect(tailOf(9, Buffer.from([first ?? 0]), Buffer.from(rest)).text).toBe('✓')
})

test('what Postgres cannot store is replaced, within the bound', () => {
  const tail = tailOf(10, Buffer.from([0, 0xff, 0xfe, 0xff, 0xff, 0xff, 0x61]))
  expect(tail.text).toMatch(/^\uFFFD+a$/)
  expect(Buffer.byteLength(tail.text)).toBeLessThanOrEqual(10)
})
