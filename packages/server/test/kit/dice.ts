/** Chance that can be repeated. mulberry32: small, and the same on every machine. */
export class Dice {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** From 0, below 1. */
  random(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  chance(of: number): boolean {
    return this.random() < of
  }

  /** Both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.random() * (high - low + 1))
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.random() * items.length)] as Item
  }

  /** Each of them with this chance. */
  some<Item>(items: readonly Item[], chance: number): Item[] {
    return items.filter(() => this.chance(chance))
  }

  weighted<Item>(items: readonly (readonly [weight: number, item: Item])[]): Item {
    let ticket = this.random() * items.reduce((sum, [weight]) => sum + weight, 0)
    const chosen = items.find(([weight]) => (ticket -= weight) < 0) ?? items[0]
    return (chosen as readonly [number, Item])[1]
  }
}
