import { isAscii } from 'node:buffer'

const replacement = '\uFFFD'

/** Postgres stores neither NUL nor half a surrogate pair, in text as in jsonb. */
export function storableText(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, replacement)
}

/** At most `maxBytes` of UTF-8, never ending in half a character. */
export function capText(text: string, maxBytes: number): string {
  // No unit takes more than three.
  if (text.length * 3 <= maxBytes) return text
  // A UTF-16 unit takes at least one byte, so no more than maxBytes of them can stay.
  const bytes = Buffer.from(text.slice(0, maxBytes))
  if (bytes.length <= maxBytes) return text.slice(0, maxBytes)
  return decodeUtf8Start(bytes.subarray(0, maxBytes))
}

/** Decodes the start of a longer text: a character that the cut went through is dropped. */
export function decodeUtf8Start(bytes: Uint8Array): string {
  // A decoder costs more than what it decodes here, most often.
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}

/** The same JSON value with every string and key made storable. Takes parsed JSON only. */
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storableJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [storableText(key), storableJson(item)]),
  )
}
