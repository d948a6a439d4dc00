import { limits } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { Dice } from '../../test/kit/dice.js'
import { seedsOf } from '../../test/kit/seeds.js'
import { inspectJson } from './json-inspect.js'
import { isPlainJson } from './json-plain.js'

const plain = (text: string) => isPlainJson(Buffer.from(text))
const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`

describe('plain JSON', () => {
  it.each([
    '{"name":"b-1","schedule":"0 9 * * *","payload":{"customer":1,"price":-0.25,"list":[true,false,null]}}',
    '"a text with { [ 1e999 and \\" in it"',
    '{"ü":"\\n\\t\\\\","emoji":"😀"}',
    '[1,2,3e]'.replace('3e', '3'),
    nested(limits.jsonDepth),
  ])('%j is told by its bytes', (text) => {
    expect(plain(text)).toBe(true)
    expect(inspectJson(JSON.parse(text))).toEqual([])
  })

  it.each([
    ['NUL', '"\\u0000"'],
    ['half a surrogate pair', '"\\ud800"'],
    ['a name of the prototype', '{"__proto__":1}'],
    ['the same in other words', '{"\\u005f_proto__":1}'],
    ['the name of a constructor', '{"a":{"constructor":1}}'],
    ['a number beyond all numbers', '{"a":1e999}'],
    ['the same with a capital', '{"a":-1.5E999}'],
    ['the same without an exponent', `[${'9'.repeat(400)}]`],
    ['deep nesting', nested(limits.jsonDepth + 2)],
    ['deep nesting after a text that looks like its end', `{"b":"}]}]\\"","a":${nested(limits.jsonDepth)}}`],
  ])('%s is left to those who look at each value', (_name, text) => {
    expect(inspectJson(JSON.parse(text))).not.toEqual([])
    expect(plain(text)).toBe(false)
  })

  it.each(seedsOf(1, 2, 3))('holds nothing that is refused, by chance (seed %d)', (seed) => {
    const dice = new Dice(seed)
    let told = 0
    for (let round = 0; round < 2_000; round++) {
      const text = anyJson(dice, 0)
      if (!plain(text)) continue
      told += 1
      expect({ text, problems: inspectJson(JSON.parse(text)) }).toEqual({ text, problems: [] })
    }
    expect(told).toBeGreaterThan(100)
  })
})

const words = [
  'a',
  '\\"',
  '\\\\',
  '}',
  ']',
  '{',
  '[',
  '1e9',
  'é',
  '\\u0000',
  '\\ud800',
  '__proto__',
  'constructor',
]

function anyText(dice: Dice): string {
  const length = dice.between(0, 3)
  return `"${Array.from({ length }, () => (dice.chance(0.9) ? dice.pick(words.slice(0, 9)) : dice.pick(words))).join('')}"`
}

function anyJson(dice: Dice, depth: number): string {
  const size = depth > 4 ? 0 : dice.between(0, 3)
  switch (dice.between(0, 5)) {
    case 0:
      return anyText(dice)
    case 1:
      return dice.pick(['0', '-12.5', 'true', 'false', 'null', '1e999', '1e5', '9'.repeat(350)])
    case 2:
      return nested(dice.chance(0.9) ? 4 : limits.jsonDepth)
    case 3:
      return `[${Array.from({ length: size }, () => anyJson(dice, depth + 1)).join()}]`
    default:
      return `{${Array.from({ length: size }, () => `${anyText(dice)}:${anyJson(dice, depth + 1)}`).join()}}`
  }
}
