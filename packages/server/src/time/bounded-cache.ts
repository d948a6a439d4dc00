/** A map that holds at most `capacity` values and drops the one that was unused for longest. */
export class BoundedCache<V> {
  readonly #values = new Map<string, V>()
  readonly #capacity: number
  #latest: string | undefined

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** The value under `key`, made when absent. When `make` throws, nothing is stored. */
  getOrMake(key: string, make: () => V): V {
    const known = this.#values.get(key)
    if (known !== undefined) {
      if (key === this.#latest) return known
      // A Map iterates in insertion order, so inserting again marks the value as the latest used.
      this.#values.delete(key)
      this.#values.set(key, known)
      this.#latest = key
      return known
    }
    const made = make()
    this.#values.set(key, made)
    this.#latest = key
    if (this.#values.size > this.#capacity) {
      const oldest = this.#values.keys().next()
      if (!oldest.done) this.#values.delete(oldest.value)
    }
    return made
  }
}
