import { none, type TimerTable } from './timer-table.js'

const firstLength = 256

/**
 * The timers whose tick the wheel has reached, the earliest on top: those of the present tick, those that were late when
 * they came, and those that a caller had no room for yet. Pushing in order of time, as a slot or an index range gives
 * them, moves nothing.
 */
export class DueHeap {
  readonly #timers: TimerTable
  #rows = new Int32Array(firstLength)
  size = 0

  constructor(timers: TimerTable) {
    this.#timers = timers
  }

  top(): number {
    return this.size === 0 ? none : (this.#rows[0] as number)
  }

  push(row: number): void {
    if (this.size === this.#rows.length) this.#grow()
    this.#rise(row, this.size++)
  }

  remove(row: number): void {
    const hole = this.#timers.place(row)
    const last = this.#rows[--this.size] as number
    if (last === row) return
    // The last one takes the hole; it may be earlier than what is above the hole, or later than what is below.
    if (this.#timers.at(last) < this.#timers.at(row)) this.#rise(last, hole)
    else this.#sink(last, hole)
  }

  bytes(): number {
    return this.#rows.byteLength
  }

  #grow(): void {
    const longer = new Int32Array(this.#rows.length * 2)
    longer.set(this.#rows)
    this.#rows = longer
  }

  #rise(row: number, from: number): void {
    const timers = this.#timers
    const rows = this.#rows
    const instant = timers.at(row)
    let hole = from
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      const above = rows[parent] as number
      if (timers.at(above) <= instant) break
      rows[hole] = above
      timers.setPlace(above, hole)
      hole = parent
    }
    rows[hole] = row
    timers.setPlace(row, hole)
  }

  #sink(row: number, from: number): void {
    const timers = this.#timers
    const rows = this.#rows
    const instant = timers.at(row)
    let hole = from
    for (let child = 2 * hole + 1; child < this.size; child = 2 * hole + 1) {
      const right = child + 1
      if (right < this.size && timers.at(rows[right] as number) < timers.at(rows[child] as number)) {
        child = right
      }
      const below = rows[child] as number
      if (timers.at(below) >= instant) break
      rows[hole] = below
      timers.setPlace(below, hole)
      hole = child
    }
    rows[hole] = row
    timers.setPlace(row, hole)
  }
}
