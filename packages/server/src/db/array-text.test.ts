import { expect, test } from 'vitest'
import { arrayText, placeElements, plainElements } from './array-text.js'

test('numbers, nulls and booleans are written as they are', () => {
  expect(arrayText([1, -2, 9_007_199_254_740_991, null, true, false])).toBe(
    '{1,-2,9007199254740991,NULL,t,f}',
  )
  expect(arrayText([])).toBe('{}')
  expect(arrayText([0.5, 1e-7])).toBe('{0.5,1e-7}')
})

test('text is quoted, so that no content of it is taken for structure', () => {
  expect(arrayText(['', 'NULL', 'a,b', '{x}', 'say "hi"', 'back\\slash', ' '])).toBe(
    '{"","NULL","a,b","{x}","say \\"hi\\"","back\\\\slash"," "}',
  )
})

test('arrays within arrays, and bytes', () => {
  expect(
    arrayText([
      [1, 2],
      [3, null],
    ]),
  ).toBe('{{1,2},{3,NULL}}')
  expect(arrayText([Buffer.from([0, 255])])).toBe('{"\\\\x00ff"}')
})

test('what comes back is taken apart', () => {
  expect(plainElements('{1,22,333}')).toEqual(['1', '22', '333'])
  expect(plainElements('{}')).toEqual([])
  expect(placeElements('{"(0,1)","(17,204)"}')).toEqual(['(0,1)', '(17,204)'])
  expect(placeElements('{}')).toEqual([])
})
