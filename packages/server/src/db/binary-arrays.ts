/**
 * Array parameters in Postgres' binary format: a Buffer is sent to it as it is. Reading an array of texts, and quoting one, costs
 * both sides more than all that is in it; this is for statements that take thousands of values. Without NULL.
 */
const oids = {
  boolean: 16,
  bytea: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  uuid: 2950,
  jsonb: 3802,
} as const

const headBytes = 20

export function booleans(values: readonly boolean[]): Buffer {
  return fixed('boolean', 1, values, (array, at, value) => array.writeUInt8(value ? 1 : 0, at))
}

export function int2s(values: readonly number[]): Buffer {
  return fixed('int2', 2, values, (array, at, value) => array.writeInt16BE(value, at))
}

export function int4s(values: readonly number[]): Buffer {
  return fixed('int4', 4, values, (array, at, value) => array.writeInt32BE(value, at))
}

/** Whole numbers that JavaScript holds exactly. */
export function int8s(values: readonly number[]): Buffer {
  return fixed('int8', 8, values, (array, at, value) => {
    const high = Math.floor(value / 0x1_0000_0000)
    array.writeInt32BE(high, at)
    return array.writeUInt32BE(value - high * 0x1_0000_0000, at + 4)
  })
}

export function uuids(values: readonly string[]): Buffer {
  return fixed('uuid', 16, values, (array, at, value) => array.write(value.replaceAll('-', ''), at, 'hex'))
}

export function texts(values: readonly string[]): Buffer {
  return strings('text', values, 0)
}

/** Of JSON texts. */
export function jsonbs(values: readonly string[]): Buffer {
  // Each begins with the version of the format: 1.
  return strings('jsonb', values, 1)
}

export function byteas(values: readonly Buffer[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + 4 + value.length, 0)
  const array = begin('bytea', values.length, headBytes + bytes)
  let at = headBytes
  for (const value of values) {
    array.writeInt32BE(value.length, at)
    value.copy(array, at + 4)
    at += 4 + value.length
  }
  return array
}

function fixed<Value>(
  type: keyof typeof oids,
  bytes: number,
  values: readonly Value[],
  write: (array: Buffer, at: number, value: Value) => number,
): Buffer {
  const array = begin(type, values.length, headBytes + values.length * (4 + bytes))
  let at = headBytes
  for (const value of values) {
    array.writeInt32BE(bytes, at)
    write(array, at + 4, value)
    at += 4 + bytes
  }
  return array
}

function strings(type: 'text' | 'jsonb', values: readonly string[], version: 0 | 1): Buffer {
  // No character of a JavaScript string has more than three bytes.
  let most = headBytes
  for (const value of values) most += 4 + version + 3 * value.length
  const array = begin(type, values.length, most)
  let at = headBytes
  for (const value of values) {
    if (version === 1) array.writeUInt8(1, at + 4)
    const bytes = version + array.write(value, at + 4 + version, 'utf8')
    array.writeInt32BE(bytes, at)
    at += 4 + bytes
  }
  return array.subarray(0, at)
}

/** One dimension, no NULL, the first element is number 1. An empty array has no dimension. */
function begin(type: keyof typeof oids, length: number, bytes: number): Buffer {
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(length === 0 ? 0 : 1, 0)
  array.writeInt32BE(0, 4)
  array.writeInt32BE(oids[type], 8)
  array.writeInt32BE(length, 12)
  array.writeInt32BE(1, 16)
  return length === 0 ? array.subarray(0, 12) : array
}
