import { createHash, randomBytes } from 'node:crypto'

const pattern = /^car_[A-Za-z0-9_-]{43}$/
const anywhere = /car_[A-Za-z0-9_-]{43}/g

/** `car_` and 256 random bits. Only its hash is kept. */
export function newKey(): string {
  return `car_${randomBytes(32).toString('base64url')}`
}

export function looksLikeKey(text: string): boolean {
  return pattern.test(text)
}

/**
 * What a key is found by. A plain SHA-256 is enough: nobody can try out 256 random bits, so that a slow hash would only cost
 * us time. Nor is the comparison made in constant time: it is a look into an index by the hash, and how far a hash of
 * one's own guess agrees with a stored one says nothing about the key behind the latter.
 */
export function hashOfKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** For logs: somebody may have put a key where none belongs, into a URL. */
export function withoutKeys(text: string): string {
  return text.replace(anywhere, 'car_…')
}
