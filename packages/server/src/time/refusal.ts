import { CarillonError, type ErrorCode } from '@carillon/contract'

/** An error of the catalogue about one field, saying what is wrong there and what to write instead. */
export function refusal(code: ErrorCode, pointer: string, message: string, hint: string): CarillonError {
  return new CarillonError(code, { detail: message, hint, errors: [{ pointer, message, hint }] })
}

const shownLength = 60

/** What a person typed, quoted so that it is safe in one line of a terminal or a log. */
export function quote(text: string): string {
  const cut = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text
  return `'${cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const point = character.codePointAt(0) ?? 0
    return `\\u{${point.toString(16)}}`
  })}'`
}

/** The characters that no schedule, zone or template may hold: they would break lines, headers and keys. */
export const controlCharacter = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
