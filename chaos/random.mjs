// One seed, one story: everything that is left to chance comes from here.

/** mulberry32: small, and the same on every machine. */
export class Random {
  #state

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0
  }

  /** From 0 to less than 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number, both ends included. @param {number} low @param {number} high */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  /** @param {number} share */
  chance(share) {
    return this.next() < share
  }

  /** @template Item @param {readonly Item[]} items @returns {Item} */
  pick(items) {
    return items[Math.floor(this.next() * items.length)]
  }

  /** Some of them, no two alike. @template Item @param {readonly Item[]} items @param {number} count @returns {Item[]} */
  sample(items, count) {
    const left = [...items]
    const drawn = []
    while (drawn.length < count && left.length > 0)
      drawn.push(...left.splice(Math.floor(this.next() * left.length), 1))
    return drawn
  }

  /** @template Item @param {readonly (readonly [weight: number, item: Item])[]} choices @returns {Item} */
  weighted(choices) {
    let ticket = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    return (choices.find(([weight]) => (ticket -= weight) < 0) ?? choices[0])[1]
  }

  /** A stream of its own, so that one part's draws do not shift another's. */
  fork() {
    return new Random(Math.floor(this.next() * 2 ** 32))
  }
}
