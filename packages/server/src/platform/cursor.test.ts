import { CarillonError } from '@carillon/contract'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeCursor, encodeCursor } from './cursor.js'

it('comes back as the numbers it was made from, and fits into a URL', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat(), { maxLength: 5 }), (numbers) => {
      const cursor = encodeCursor(numbers)
      expect(decodeCursor(cursor)).toEqual(numbers)
      expect(cursor).toMatch(/^[\w-]*$/)
    }),
  )
})

it.each([
  ['nothing', ''],
  ['any text', 'banana'],
  ['text that is no base64', '%%%\u0000🕰'],
  ['a number', encoded('7')],
  ['null', encoded('null')],
  ['an object', encoded('{"0":1,"length":1}')],
  ['text in a list', encoded('["1"]')],
  ['a list in a list', encoded('[[1]]')],
  ['a fraction', encoded('[1.5]')],
  ['a negative number', encoded('[-1]')],
  ['a number too large to be exact', encoded('[9007199254740993]')],
  ['a number beyond all numbers', encoded('[1e999]')],
  ['null in a list', encoded('[null]')],
  ['a list cut short', encoded('[1,2')],
])('refuses %s, and says where it stood', (_name, cursor) => {
  const refusal = thrownBy(() => decodeCursor(cursor))
  expect(refusal).toBeInstanceOf(CarillonError)
  expect(refusal).toMatchObject({
    code: 'invalid_cursor',
    errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
  })
})

it('never answers anything but whole numbers, whatever it is given', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json().map(encoded)), (cursor) => {
      const outcome = thrownBy(() => decodeCursor(cursor))
      if (outcome instanceof CarillonError) return
      expect(outcome).toBeUndefined()
      expect(decodeCursor(cursor).every((number) => Number.isSafeInteger(number) && number >= 0)).toBe(true)
    }),
  )
})

function encoded(json: string): string {
  return Buffer.from(json).toString('base64url')
}

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}
