import type { ParamValue } from './statement.js'

/**
 * Columns of values as Postgres' binary arrays. As text they are what a busy process spends most on: written digit by digit and
 * quoted here, read digit by digit and unquoted there.
 */
interface FixedElement {
  oid: number
  bytes: number
  /** False: it does not fit, and the text shall say so to Postgres. */
  write(view: DataView, at: number, value: ParamValue): boolean
}

const two32 = 0x1_0000_0000

const fixedElements: Record<string, FixedElement> = {
  'bigint[]': {
    oid: 20,
    bytes: 8,
    write(view, at, value) {
      if (!Number.isSafeInteger(value)) return false
      const high = Math.floor((value as number) / two32)
      view.setInt32(at, high)
      view.setUint32(at + 4, (value as number) - high * two32)
      return true
    },
  },
  'int[]': {
    oid: 23,
    bytes: 4,
    write(view, at, value) {
      if (typeof value !== 'number' || (value | 0) !== value) return false
      view.setInt32(at, value)
      return true
    },
  },
  'smallint[]': {
    oid: 21,
    bytes: 2,
    write(view, at, value) {
      if (typeof value !== 'number' || (value << 16) >> 16 !== value) return false
      view.setInt16(at, value)
      return true
    },
  },
  'boolean[]': {
    oid: 16,
    bytes: 1,
    write(view, at, value) {
      if (typeof value !== 'boolean') return false
      view.setUint8(at, value ? 1 : 0)
      return true
    },
  },
  'tid[]': {
    oid: 27,
    bytes: 6,
    /** `(block,offset)`. */
    write(view, at, value) {
      if (typeof value !== 'string') return false
      const comma = value.indexOf(',')
      const block = Number(value.slice(1, comma))
      const offset = Number(value.slice(comma + 1, -1))
      if (comma < 2 || !(block >= 0 && block < two32) || !(offset >= 0 && offset < 65_536)) return false
      view.setUint32(at, block)
      view.setUint16(at + 4, offset)
      return true
    },
  },
}

interface VaryingElement {
  oid: number
  /** More than this it never takes; -1: it does not fit. */
  atMost(value: ParamValue): number
  /** Answers how many bytes it took. */
  write(array: Buffer, at: number, value: ParamValue): number
}

/** No character of a JavaScript string has more than three bytes. */
const textAtMost = (value: ParamValue): number => (typeof value === 'string' ? 3 * value.length : -1)
const uuidForm = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i
/** Where the two digits of each byte stand. */
const uuidPlaces = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/** Of a character of `uuidForm` that is no hyphen. */
function hexDigit(code: number): number {
  return code < 58 ? code - 48 : (code | 32) - 87
}

const varyingElements: Record<string, VaryingElement> = {
  'text[]': {
    oid: 25,
    atMost: textAtMost,
    write: (array, at, value) => array.write(value as string, at, 'utf8'),
  },
  'jsonb[]': {
    oid: 3802,
    atMost: (value) => (typeof value === 'string' ? 1 + 3 * value.length : -1),
    write(array, at, value) {
      // It begins with the version of the format.
      array.writeUInt8(1, at)
      return 1 + array.write(value as string, at + 1, 'utf8')
    },
  },
  'bytea[]': {
    oid: 17,
    atMost: (value) => (Buffer.isBuffer(value) ? value.length : -1),
    write: (array, at, value) => (value as Buffer).copy(array, at),
  },
  'uuid[]': {
    oid: 2950,
    atMost: (value) => (typeof value === 'string' && uuidForm.test(value) ? 16 : -1),
    write(array, at, value) {
      const text = value as string
      for (let byte = 0; byte < 16; byte++) {
        const place = uuidPlaces[byte] as number
        array[at + byte] = (hexDigit(text.charCodeAt(place)) << 4) | hexDigit(text.charCodeAt(place + 1))
      }
      return 16
    },
  },
}

const headBytes = 20
/** Fewer are not worth a buffer. */
const least = 8

/** The array in binary, or null where it is better sent as text: there Postgres says what does not fit. */
export function binaryArray(type: string, values: readonly ParamValue[]): Buffer | null {
  if (values.length < least) return null
  const fixed = fixedElements[type]
  if (fixed !== undefined) return ofFixed(fixed, values)
  const varying = varyingElements[type]
  return varying === undefined ? null : ofVarying(varying, values)
}

function ofFixed(element: FixedElement, values: readonly ParamValue[]): Buffer | null {
  const { bytes } = element
  const array = Buffer.allocUnsafe(headBytes + values.length * (4 + bytes))
  const view = new DataView(array.buffer, array.byteOffset, array.byteLength)
  let at = headBytes
  let nulls = 0
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as ParamValue
    if (value === null) {
      nulls = 1
      view.setInt32(at, -1)
      at += 4
      continue
    }
    view.setInt32(at, bytes)
    if (!element.write(view, at + 4, value)) return null
    at += 4 + bytes
  }
  return headed(array, element.oid, nulls, values.length).subarray(0, at)
}

function ofVarying(element: VaryingElement, values: readonly ParamValue[]): Buffer | null {
  let most = headBytes
  for (const value of values) {
    const bytes = value === null ? 0 : element.atMost(value)
    if (bytes < 0) return null
    most += 4 + bytes
  }
  const array = Buffer.allocUnsafe(most)
  let at = headBytes
  let nulls = 0
  for (const value of values) {
    const bytes = value === null ? 0 : element.write(array, at + 4, value)
    if (value === null) nulls = 1
    array.writeInt32BE(value === null ? -1 : bytes, at)
    at += 4 + bytes
  }
  return headed(array, element.oid, nulls, values.length).subarray(0, at)
}

/** One dimension, whose first element is number 1. */
function headed(array: Buffer, oid: number, nulls: number, length: number): Buffer {
  array.writeInt32BE(1, 0)
  array.writeInt32BE(nulls, 4)
  array.writeInt32BE(oid, 8)
  array.writeInt32BE(length, 12)
  array.writeInt32BE(1, 16)
  return array
}
