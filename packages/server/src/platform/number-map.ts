const firstLength = 1_024

/**
 * A map from whole numbers, for what comes and goes all the time.
 *
 * A `Map` writes itself anew whenever as much has gone from it as it holds, and the table that it gives up goes on pointing to what stood in it and to
 * the table that followed. Once such a table is among the old objects, whatever it points to outlives the collections of young ones,
 * and is copied by each of them, though nobody can reach it any more. Here a place that was given up points to nothing.
 *
 * Open addressing, at most half full; a deletion moves the followers back into the gap, so that there is nothing to be cleaned up.
 */
export class NumberMap<Value> {
  #keys = noKeys(firstLength)
  #values = noValues<Value>(firstLength)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(key: number): boolean {
    return this.#find(key) >= 0
  }

  get(key: number): Value | undefined {
    const at = this.#find(key)
    return at < 0 ? undefined : this.#values[at]
  }

  set(key: number, value: Value): void {
    const at = this.#find(key)
    if (at >= 0) {
      this.#values[at] = value
      return
    }
    if (Number.isNaN(key)) throw new RangeError('NaN is no key: it stands for a place that is free.')
    if ((this.#size + 1) * 2 > this.#keys.length) this.#resize(this.#keys.length * 2)
    this.#put(key, value)
    this.#size += 1
  }

  /** Answers what stood there. */
  delete(key: number): Value | undefined {
    let gap = this.#find(key)
    if (gap < 0) return undefined
    const keys = this.#keys
    const values = this.#values
    const mask = keys.length - 1
    const value = values[gap]
    for (let at = (gap + 1) & mask; ; at = (at + 1) & mask) {
      const follower = keys[at] as number
      if (Number.isNaN(follower)) break
      // With its home after the gap, it is where a search for it begins or passes, and stays.
      if (((at - homeOf(follower, mask)) & mask) < ((at - gap) & mask)) continue
      keys[gap] = follower
      values[gap] = values[at]
      gap = at
    }
    keys[gap] = Number.NaN
    values[gap] = undefined
    this.#size -= 1
    if (this.#size * 16 < keys.length && keys.length > firstLength)
      this.#resize(Math.max(firstLength, keys.length / 4))
    return value
  }

  clear(): void {
    this.#values.fill(undefined)
    this.#keys = noKeys(firstLength)
    this.#values = noValues(firstLength)
    this.#size = 0
  }

  /** As they are now, in no order: whoever goes through them may change the map meanwhile. */
  keys(): number[] {
    const keys: number[] = []
    this.#each((key) => keys.push(key))
    return keys
  }

  values(): Value[] {
    const values: Value[] = []
    this.#each((_key, value) => values.push(value))
    return values
  }

  entries(): [number, Value][] {
    const entries: [number, Value][] = []
    this.#each((key, value) => entries.push([key, value]))
    return entries
  }

  #each(take: (key: number, value: Value) => void): void {
    const keys = this.#keys
    const values = this.#values
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] as number
      if (!Number.isNaN(key)) take(key, values[at] as Value)
    }
  }

  /** Where it is, or −1. */
  #find(key: number): number {
    const keys = this.#keys
    const mask = keys.length - 1
    for (let at = homeOf(key, mask); ; at = (at + 1) & mask) {
      const found = keys[at] as number
      if (found === key) return at
      if (Number.isNaN(found)) return -1
    }
  }

  #put(key: number, value: Value): void {
    const keys = this.#keys
    const mask = keys.length - 1
    let at = homeOf(key, mask)
    while (!Number.isNaN(keys[at])) at = (at + 1) & mask
    keys[at] = key
    this.#values[at] = value
  }

  #resize(length: number): void {
    const keys = this.#keys
    const values = this.#values
    this.#keys = noKeys(length)
    this.#values = noValues(length)
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] as number
      if (!Number.isNaN(key)) this.#put(key, values[at] as Value)
    }
    values.fill(undefined)
  }
}

function noKeys(length: number): Float64Array {
  return new Float64Array(length).fill(Number.NaN)
}

function noValues<Value>(length: number): (Value | undefined)[] {
  return new Array<Value | undefined>(length).fill(undefined)
}

/** All 53 bits count: keys may be dense, or far apart in even steps. */
export function homeOf(key: number, mask: number): number {
  const high = Math.floor(key / 0x1_0000_0000)
  const hash = Math.imul((key | 0) ^ Math.imul(high, 0x85eb_ca6b), 0x9e37_79b1)
  return (hash ^ (hash >>> 15)) & mask
}
