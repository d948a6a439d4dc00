import { none, type TimerTable } from './timer-table.js'

const firstBuckets = 2048

/**
 * Finds the row of a key: a hash with open addressing and linear probing, at most 5/8 full. A bucket keeps the hash
 * beside the row, so that probing and moving read no row, each of which would be a miss of the cache. A deletion moves
 * the followers back into the gap, so that there are no tombstones: a wheel lives for months, and every timer comes and
 * goes with every tick of its job.
 */
export class KeyIndex {
  readonly #timers: TimerTable
  /** Two numbers a bucket: the row + 1, where 0 is an empty bucket, and the hash of its key. */
  #buckets = new Int32Array(firstBuckets * 2)
  #count = 0

  constructor(timers: TimerTable) {
    this.#timers = timers
  }

  /** The row, or `none`. */
  find(key: number): number {
    const buckets = this.#buckets
    const mask = buckets.length - 2
    const hash = hashOf(key)
    for (let at = (hash << 1) & mask; ; at = (at + 2) & mask) {
      const row = (buckets[at] as number) - 1
      if (row === none || (buckets[at + 1] === hash && this.#timers.key(row) === key)) return row
    }
  }

  /** Of a key that is not in the index yet, and stands in its row already. */
  add(row: number): void {
    if ((this.#count + 1) * 16 > this.#buckets.length * 5) this.#grow()
    this.#put(row, hashOf(this.#timers.key(row)))
    this.#count++
  }

  /** Of a row that is in the index, and still has its key. */
  remove(row: number): void {
    const buckets = this.#buckets
    const mask = buckets.length - 2
    let gap = (hashOf(this.#timers.key(row)) << 1) & mask
    while (buckets[gap] !== row + 1) gap = (gap + 2) & mask
    for (let at = (gap + 2) & mask; buckets[at] !== 0; at = (at + 2) & mask) {
      const home = ((buckets[at + 1] as number) << 1) & mask
      // With its home after the gap, it is where a search for it begins or passes, and stays.
      if (((at - home) & mask) < ((at - gap) & mask)) continue
      buckets[gap] = buckets[at] as number
      buckets[gap + 1] = buckets[at + 1] as number
      gap = at
    }
    buckets[gap] = 0
    this.#count--
  }

  bytes(): number {
    return this.#buckets.byteLength
  }

  #put(row: number, hash: number): void {
    const buckets = this.#buckets
    const mask = buckets.length - 2
    let at = (hash << 1) & mask
    while (buckets[at] !== 0) at = (at + 2) & mask
    buckets[at] = row + 1
    buckets[at + 1] = hash
  }

  #grow(): void {
    const old = this.#buckets
    this.#buckets = new Int32Array(old.length * 2)
    for (let at = 0; at < old.length; at += 2) {
      if (old[at] !== 0) this.#put((old[at] as number) - 1, old[at + 1] as number)
    }
  }
}

/** An int32 to which all 53 bits of the key count: job keys may be dense, or far apart in even steps. */
export function hashOf(key: number): number {
  const high = Math.floor(key / 0x1_0000_0000)
  let hash = Math.imul((key | 0) ^ Math.imul(high, 0x85eb_ca6b), 0x9e37_79b1)
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2_ae35)
  return hash ^ (hash >>> 16)
}
