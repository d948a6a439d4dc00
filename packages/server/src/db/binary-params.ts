import type { ParamValue } from './statement.js'

/**
 * Columns of numbers and of places as Postgres' binary arrays. As text they are what a busy process spends most on: written
 * digit by digit here, read digit by digit there.
 */
interface Element {
  oid: number
  bytes: number
  /** False: it does not fit, and the text shall say so to Postgres. */
  write(view: DataView, at: number, value: ParamValue): boolean
}

const two32 = 0x1_0000_0000

const elements: Record<string, Element> = {
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

const headBytes = 20
/** Fewer are not worth a buffer. */
const least = 8

/** The array in binary, or null where it is better sent as text. */
export function binaryArray(type: string, values: readonly ParamValue[]): Buffer | null {
  const element = elements[type]
  if (element === undefined || values.length < least) return null
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
  // One dimension, whose first element is number 1.
  view.setInt32(0, 1)
  view.setInt32(4, nulls)
  view.setInt32(8, element.oid)
  view.setInt32(12, values.length)
  view.setInt32(16, 1)
  return at === array.byteLength ? array : array.subarray(0, at)
}
