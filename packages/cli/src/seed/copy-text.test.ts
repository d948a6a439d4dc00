import { expect, test } from 'vitest'
import { copyLine } from './copy-text.js'

test('a row has tabs between its values and ends with its line', () => {
  expect(copyLine([1, 'name', true, null, undefined])).toBe('1\tname\ttrue\t\\N\t\\N\n')
})

test('what has a meaning in the format is escaped, also inside of JSON', () => {
  expect(copyLine(['a\tb\nc\\d\re'])).toBe('a\\tb\\nc\\\\d\\re\n')
  expect(copyLine([{ text: 'a\nb' }])).toBe('{"text":"a\\\\nb"}\n')
})
