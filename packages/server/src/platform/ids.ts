import { randomBytes } from 'node:crypto'
import { stringify as uuidText, v7 } from 'uuid'

/**
 * Names outside, keys inside. `job_…` is a UUIDv7 in 26 base32 characters; `run_…` encodes the run's whole identity,
 * so that no index is spent on it.
 */
export interface RunIdentity {
  due: number
  job: number
  origin: number
  seq: number
  partition: number
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const letters = Buffer.from(alphabet)
const nameLetters = Buffer.alloc(26)
const digits = new Map([...alphabet].map((letter, value) => [letter, BigInt(value)]))

const uuidPattern = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/
const incarnationPattern = /^node_[0-9a-hjkmnp-tv-z]{11}$/
const runPattern = /^run_[0-9a-hjkmnp-tv-z]{30}$/

const uuidBytes = new Uint8Array(16)
/** 8-4-4-4-12 digits with hyphens between. */
const uuidLetters = Buffer.alloc(36, '-')
const uuidPlaces = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const hexDigits = Buffer.from('0123456789abcdef')

/** Written into one buffer: thousands of jobs are named at once, and a text made of twenty parts is twenty texts. */
export function newUuid(): string {
  v7(undefined, uuidBytes)
  for (let at = 0; at < 16; at++) {
    const byte = uuidBytes[at] as number
    const place = uuidPlaces[at] as number
    uuidLetters[place] = hexDigits[byte >> 4] as number
    uuidLetters[place + 1] = hexDigits[byte & 15] as number
  }
  return uuidLetters.toString('latin1')
}

export function jobIdOf(uuid: string): string {
  return named('job_', uuid)
}

/** The UUID of a `job_…` id, or null when the text is no such id. */
export function uuidOf(jobId: string): string | null {
  return unnamed('job_', jobId)
}

/**
 * The UUIDs of the job ids that begin with a text, or null where none can. Without the prefix `job_` a few characters are
 * likelier meant as a word.
 */
export function idRangeOf(text: string): { from: string; to: string } | null {
  const digits = text.startsWith('job_') ? text.slice(4) : text.length >= 8 ? text : ''
  if (!/^[0-7][0-9a-hjkmnp-tv-z]{0,25}$/.test(digits)) return null
  const bound = (filler: string) => fromBase32(digits.padEnd(26, filler)).toString(16).padStart(32, '0')
  return { from: bound('0'), to: bound('z') }
}

/** `sgn_…`: a signing secret's name, which is no secret. */
export function secretIdOf(uuid: string): string {
  return named('sgn_', uuid)
}

export function uuidOfSecret(secretId: string): string | null {
  return unnamed('sgn_', secretId)
}

/** `op_…`: a change of many jobs. */
export function operationIdOf(uuid: string): string {
  return named('op_', uuid)
}

export function uuidOfOperation(operationId: string): string | null {
  return unnamed('op_', operationId)
}

/** `key_…`: an API key's name, which is no secret. */
export function keyIdOf(uuid: string): string {
  return named('key_', uuid)
}

export function uuidOfKey(keyId: string): string | null {
  return unnamed('key_', keyId)
}

/** `chn_…`: where alerts are told. */
export function channelIdOf(uuid: string): string {
  return named('chn_', uuid)
}

export function uuidOfChannel(channelId: string): string | null {
  return unnamed('chn_', channelId)
}

/** `rule_…`: what is raised as an alert, and how it is told. */
export function ruleIdOf(uuid: string): string {
  return named('rule_', uuid)
}

export function uuidOfRule(ruleId: string): string | null {
  return unnamed('rule_', ruleId)
}

/** `sil_…`: what is not told for a time. */
export function silenceIdOf(uuid: string): string {
  return named('sil_', uuid)
}

export function uuidOfSilence(silenceId: string): string | null {
  return unnamed('sil_', silenceId)
}

/** 128 bits in 26 digits of five: the first has three. Without big integers: every job that is shown comes through here. */
function named(prefix: string, uuid: string): string {
  let length = 0
  let bits = 0
  let count = 2
  for (let at = 0; at < uuid.length; at++) {
    const digit = hexDigit(uuid.charCodeAt(at))
    if (digit < 0) continue
    bits = (bits << 4) | digit
    count += 4
    while (count >= 5) {
      count -= 5
      nameLetters[length++] = letters[(bits >>> count) & 31] as number
    }
    bits &= (1 << count) - 1
  }
  return prefix + nameLetters.toString('latin1', 0, length)
}

/** The value of a hexadecimal digit; -1: a hyphen. */
function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  return code === 45 ? -1 : (code | 32) - 87
}

function unnamed(prefix: string, id: string): string | null {
  const digits = id.slice(prefix.length)
  if (!id.startsWith(prefix) || !uuidPattern.test(digits)) return null
  let value = fromBase32(digits)
  const bytes = new Uint8Array(16)
  for (let at = 15; at >= 0; at--) {
    bytes[at] = Number(value & 0xffn)
    value >>= 8n
  }
  try {
    return uuidText(bytes)
  } catch {
    return null // 128 bits, but no UUID: the version or variant bits are wrong
  }
}

const backfillPattern = /^bf_[0-9a-hjkmnp-tv-z]{13}$/

export function backfillIdOf(replay: number): string {
  return `bf_${toBase32(BigInt(replay), 13)}`
}

/** The number of a `bf_…` id, or null when the text is no such id. */
export function replayOfBackfill(backfillId: string): number | null {
  if (!backfillPattern.test(backfillId)) return null
  const value = fromBase32(backfillId.slice(3))
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null
}

const alertPattern = /^alert_[0-9a-hjkmnp-tv-z]{13}$/

export function alertIdOf(alert: number): string {
  return `alert_${toBase32(BigInt(alert), 13)}`
}

/** The number of an `alert_…` id, or null when the text is no such id. */
export function numberOfAlert(alertId: string): number | null {
  if (!alertPattern.test(alertId)) return null
  const value = fromBase32(alertId.slice(6))
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null
}

/** version(4) due(48) partition(8) job(48) origin(8) seq(32) = 148 bits, in 30 characters. */
const runIdVersion = 1
const two24 = 2 ** 24

const runLetters = Buffer.alloc(30)

/** Five bits to a letter, without big integers: every run that is delivered comes through here. */
export function runIdOf({ due, partition, job, origin, seq }: RunIdentity): string {
  let length = 0
  let bits = 0
  // The first letter has two bits that are always 0.
  let count = 2
  const put = (value: number, width: number) => {
    bits = (bits << width) | value
    count += width
    while (count >= 5) {
      count -= 5
      runLetters[length++] = letters[(bits >>> count) & 31] as number
    }
    bits &= (1 << count) - 1
  }
  put(runIdVersion, 4)
  put(Math.floor(due / two24), 24)
  put(due % two24, 24)
  put(partition, 8)
  put(Math.floor(job / two24), 24)
  put(job % two24, 24)
  put(origin, 8)
  put(seq >>> 16, 16)
  put(seq & 0xffff, 16)
  return `run_${runLetters.toString('latin1')}`
}

export function runIdentityOf(runId: string): RunIdentity | null {
  if (!runPattern.test(runId)) return null
  let value = fromBase32(runId.slice(4))
  const take = (bits: bigint) => {
    const part = Number(value & ((1n << bits) - 1n))
    value >>= bits
    return part
  }
  const seq = take(32n)
  const origin = take(8n)
  const job = take(48n)
  const partition = take(8n)
  const due = take(48n)
  return Number(value) === runIdVersion ? { due, job, origin, seq, partition } : null
}

/** A process's id for one life: random, and small enough for a bigint column and an exact JavaScript number. */
export function newIncarnation(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n) || 1
}

export function incarnationName(incarnation: number): string {
  return `node_${toBase32(BigInt(incarnation), 11)}`
}

/** The number of a `node_…` name, or null when the text is no such name. */
export function incarnationOf(name: string): number | null {
  if (!incarnationPattern.test(name)) return null
  const value = fromBase32(name.slice(5))
  return value >= 1n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null
}

function toBase32(value: bigint, length: number): string {
  let text = ''
  for (let at = 0; at < length; at++) {
    text = alphabet.charAt(Number(value & 31n)) + text
    value >>= 5n
  }
  return text
}

function fromBase32(text: string): bigint {
  let value = 0n
  for (const letter of text) value = (value << 5n) | (digits.get(letter) ?? 0n)
  return value
}
