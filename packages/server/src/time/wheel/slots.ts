import { none, type TimerTable } from './timer-table.js'

/**
 * Five levels of 1,024 slots. A slot of the lowest is one tick wide, of the next 1,024 ticks, and so on: together 2^50
 * ticks, more than there are milliseconds in an instant, so nothing is ever beyond the last level. With ticks of a
 * millisecond a timer of the next 17 minutes is at most one level up and is moved once.
 *
 * `now` is the tick that the wheel has reached. A timer is in the lowest level where its unit lies less than 1,024 units
 * after the unit of `now`. So a slot stands for one unit only, and the slot of the unit of `now` itself is empty at
 * every level: its timers have been moved down when `now` reached it.
 */
const bits = 10
const width = 1 << bits
const levels = 5
const words = width / 32
const unitOf = Array.from({ length: levels }, (_, level) => width ** level)

export class WheelSlots {
  readonly #timers: TimerTable
  readonly #first = new Int32Array(levels * width).fill(none)
  readonly #counts = new Int32Array(levels * width)
  readonly #levelCounts = new Int32Array(levels)
  /** One bit a slot: is anything in it? And one bit for each word of these. */
  readonly #occupied = new Int32Array(levels * words)
  readonly #occupiedWords = new Int32Array(levels)

  constructor(timers: TimerTable) {
    this.#timers = timers
  }

  /** `tick` lies after `now`. */
  add(row: number, tick: number, now: number): void {
    let level = 0
    let unit = tick
    for (let reached = now; unit - reached >= width; level++) {
      unit = Math.floor(unit / width)
      reached = Math.floor(reached / width)
    }
    const slot = level * width + (unit & (width - 1))
    const timers = this.#timers
    const follower = this.#first[slot] as number
    this.#first[slot] = row
    timers.setNext(row, follower)
    timers.setPlace(row, none)
    timers.setSlot(row, slot)
    if (follower === none) this.#mark(slot)
    else timers.setPlace(follower, row)
    ;(this.#counts[slot] as number)++
    ;(this.#levelCounts[level] as number)++
  }

  remove(row: number): void {
    const timers = this.#timers
    const slot = timers.slot(row)
    const before = timers.place(row)
    const after = timers.next(row)
    if (after !== none) timers.setPlace(after, before)
    if (before !== none) timers.setNext(before, after)
    else {
      this.#first[slot] = after
      if (after === none) this.#unmark(slot)
    }
    ;(this.#counts[slot] as number)--
    ;(this.#levelCounts[slot >> bits] as number)--
  }

  /** Empties the slot of `tick` at a level. Answers its first timer; the others follow by `next`. */
  detach(level: number, tick: number): number {
    const slot = level * width + (Math.floor(tick / (unitOf[level] as number)) & (width - 1))
    const row = this.#first[slot] as number
    if (row === none) return none
    this.#first[slot] = none
    this.#levelCounts[level] = (this.#levelCounts[level] as number) - (this.#counts[slot] as number)
    this.#counts[slot] = 0
    this.#unmark(slot)
    return row
  }

  /** The highest level whose slots may begin at this tick. */
  highestBeginningAt(tick: number): number {
    if ((tick & (width - 1)) !== 0) return 0
    let level = 1
    while (level < levels - 1 && tick % (unitOf[level + 1] as number) === 0) level++
    return level
  }

  /** The tick at which the first occupied slot begins: nothing is due before. Infinity when all are empty. */
  nextTick(now: number): number {
    const near = this.#distance(0, now)
    let first = near === 0 ? Number.POSITIVE_INFINITY : now + near
    // Slots of the other levels begin where a slot of the second does: none of them before this.
    const turn = (Math.floor(now / width) + 1) * width
    if (first < turn) return first
    for (let level = 1; level < levels; level++) {
      if (this.#levelCounts[level] === 0) continue
      const unit = unitOf[level] as number
      const reached = Math.floor(now / unit)
      first = Math.min(first, (reached + this.#distance(level, reached)) * unit)
    }
    return first
  }

  /** How many are in slots that begin at `tick` or before: at each level the whole slot in which `tick` lies. */
  countThrough(tick: number, now: number): number {
    let sum = 0
    for (let level = 0; level < levels; level++) {
      const all = this.#levelCounts[level] as number
      if (all === 0) continue
      const unit = unitOf[level] as number
      const reached = Math.floor(now / unit)
      const reach = Math.floor(tick / unit) - reached
      if (reach >= width - 1) sum += all
      else for (let ahead = 1; ahead <= reach; ahead++) sum += this.#countAt(level, reached + ahead)
    }
    return sum
  }

  /** Of those that `countThrough` has: how many are in slots in which `tick` lies, so that some may be due after it. */
  countBeside(tick: number, now: number): number {
    return this.#slotsAt(tick, now).reduce((sum, slot) => sum + (this.#counts[slot] as number), 0)
  }

  /** Of these, how many are due after `at`, which lies in `tick`. Of a slot with more than `most`, none are told: it would take long. */
  countAfter(at: number, tick: number, now: number, most: number): number {
    let sum = 0
    for (const slot of this.#slotsAt(tick, now)) {
      if ((this.#counts[slot] as number) > most) continue
      for (let row = this.#first[slot] as number; row !== none; row = this.#timers.next(row))
        if (this.#timers.at(row) > at) sum++
    }
    return sum
  }

  /** The slots in which a tick after `now` lies, one at each level that reaches so far. */
  #slotsAt(tick: number, now: number): number[] {
    const slots: number[] = []
    for (let level = 0; level < levels; level++) {
      const unit = unitOf[level] as number
      const at = Math.floor(tick / unit)
      const ahead = at - Math.floor(now / unit)
      if (ahead >= 1 && ahead < width) slots.push(level * width + (at & (width - 1)))
    }
    return slots
  }

  bytes(): number {
    const arrays = [this.#first, this.#counts, this.#levelCounts, this.#occupied, this.#occupiedWords]
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  #countAt(level: number, unit: number): number {
    return this.#counts[level * width + (unit & (width - 1))] as number
  }

  /** How many units after `reached` the first occupied slot of the level stands: 1 to 1,023, or 0 for none. */
  #distance(level: number, reached: number): number {
    const here = reached & (width - 1)
    const start = (here + 1) & (width - 1)
    let word = start >> 5
    let found = (this.#occupied[level * words + word] as number) & (-1 << (start & 31))
    if (found === 0) {
      // The words after it; failing that from the beginning, round to what stands before `start` in its own word.
      const all = this.#occupiedWords[level] as number
      if (all === 0) return 0
      const after = all & (-2 << word)
      word = lowestBit(after === 0 ? all : after)
      found = this.#occupied[level * words + word] as number
    }
    return (word * 32 + lowestBit(found) - here) & (width - 1)
  }

  #mark(slot: number): void {
    const word = slot >> 5
    ;(this.#occupied[word] as number) |= 1 << (slot & 31)
    ;(this.#occupiedWords[slot >> bits] as number) |= 1 << (word & 31)
  }

  #unmark(slot: number): void {
    const word = slot >> 5
    ;(this.#occupied[word] as number) &= ~(1 << (slot & 31))
    if (this.#occupied[word] === 0) (this.#occupiedWords[slot >> bits] as number) &= ~(1 << (word & 31))
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word)
}
