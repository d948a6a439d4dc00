import { CarillonError } from '@carillon/contract'

/** Page cursors: opaque to people, a short list of whole numbers to us. */
export function encodeCursor(numbers: readonly number[]): string {
  return Buffer.from(JSON.stringify(numbers)).toString('base64url')
}

export function decodeCursor(cursor: string): number[] {
  try {
    const numbers: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(numbers) && numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) {
      return numbers as number[]
    }
  } catch {
    // Not JSON: answered below like any other text that is no cursor.
  }
  throw new CarillonError('invalid_cursor', {
    errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
  })
}
