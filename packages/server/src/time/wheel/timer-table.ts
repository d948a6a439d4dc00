/** Stands where the number of a row would: there is none. */
export const none = -1

const firstLength = 1024
const rowBytes = 32

/**
 * The timers of a wheel, one row of 32 bytes each, in one buffer: nothing for the garbage collector to walk, and a row
 * is never spread over two cache lines. A million timers fit into no near cache, and handing one out reads most of its
 * row: with an array for each column every one of these reads could miss. Rows given back are used again before new ones.
 *
 * A row: key (float64), at (float64), next, place, slot and tag (int32 each).
 */
export class TimerTable {
  readonly #capacity: number
  #floats: Float64Array
  #ints: Int32Array
  #length: number
  #used = 0
  #free = none
  size = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#length = Math.min(firstLength, capacity)
    const buffer = new ArrayBuffer(this.#length * rowBytes)
    this.#floats = new Float64Array(buffer)
    this.#ints = new Int32Array(buffer)
  }

  /** A row to write into, or `none` when there are as many timers as there may be. */
  take(): number {
    let row = this.#free
    if (row !== none) {
      this.#free = this.next(row)
    } else {
      if (this.#used === this.#capacity) return none
      if (this.#used === this.#length) this.#grow()
      row = this.#used++
    }
    this.size++
    return row
  }

  giveBack(row: number): void {
    this.setNext(row, this.#free)
    this.#free = row
    this.size--
  }

  key(row: number): number {
    return this.#floats[row * 4] as number
  }

  setKey(row: number, key: number): void {
    this.#floats[row * 4] = key
  }

  at(row: number): number {
    return this.#floats[row * 4 + 1] as number
  }

  setAt(row: number, at: number): void {
    this.#floats[row * 4 + 1] = at
  }

  /** The next timer of the same slot; in a row given back, the next such row. */
  next(row: number): number {
    return this.#ints[row * 8 + 4] as number
  }

  setNext(row: number, next: number): void {
    this.#ints[row * 8 + 4] = next
  }

  /** The timer before it in the same slot; of a timer in the heap, where it stands there. */
  place(row: number): number {
    return this.#ints[row * 8 + 5] as number
  }

  setPlace(row: number, place: number): void {
    this.#ints[row * 8 + 5] = place
  }

  /** The slot it is in; `none` while it is in the heap. */
  slot(row: number): number {
    return this.#ints[row * 8 + 6] as number
  }

  setSlot(row: number, slot: number): void {
    this.#ints[row * 8 + 6] = slot
  }

  tag(row: number): number {
    return this.#ints[row * 8 + 7] as number
  }

  setTag(row: number, tag: number): void {
    this.#ints[row * 8 + 7] = tag
  }

  bytes(): number {
    return this.#length * rowBytes
  }

  #grow(): void {
    this.#length = Math.min(this.#capacity, this.#length * 2)
    const buffer = new ArrayBuffer(this.#length * rowBytes)
    const ints = new Int32Array(buffer)
    ints.set(this.#ints)
    this.#ints = ints
    this.#floats = new Float64Array(buffer)
  }
}
