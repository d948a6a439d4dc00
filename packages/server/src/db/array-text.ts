import type { ParamValue } from './statement.js'

/**
 * An array as Postgres reads it. The driver writes each element through a general routine that asks what it is; ours are
 * columns of a thousand numbers, which is most of what a busy process sends.
 */
export function arrayText(values: readonly ParamValue[]): string {
  let text = '{'
  for (let at = 0; at < values.length; at++) {
    if (at > 0) text += ','
    text += elementText(values[at] as ParamValue)
  }
  return `${text}}`
}

function elementText(value: ParamValue): string {
  if (typeof value === 'number') return `${value}`
  if (value === null) return 'NULL'
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (typeof value === 'string') return quoted(value)
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`
  return arrayText(value)
}

const special = /["\\]/
const specials = /["\\]/g

function quoted(text: string): string {
  return `"${special.test(text) ? text.replace(specials, '\\$&') : text}"`
}

/** Of numbers and the like, which have neither commas nor quotes in them; NULL is none of ours. */
export function plainElements(text: string): string[] {
  return text.length <= 2 ? [] : text.slice(1, -1).split(',')
}

/** Places of rows, `{"(0,1)","(0,2)"}`. */
export function placeElements(text: string): string[] {
  return text.length <= 2 ? [] : text.slice(2, -2).split('","')
}
