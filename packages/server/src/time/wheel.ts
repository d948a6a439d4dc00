import { DueHeap } from './wheel/due-heap.js'
import { KeyIndex } from './wheel/key-index.js'
import { WheelSlots } from './wheel/slots.js'
import { none, TimerTable } from './wheel/timer-table.js'

/** A run's id has 48 bits for an instant. */
const latest = 2 ** 48
const mostTimers = 2 ** 26
/** A fraction of a millisecond. */
const mostGoneThrough = 32_768

export interface WheelOptions {
  /** The instant at which the wheel stands first. What lies before it is late. */
  readonly startsAt: number
  /** The most timers it holds. Memory grows towards it by doubling. */
  readonly capacity: number
  /** How finely timers are told apart inside. What is handed out is exact in any case. */
  readonly tickMs?: number
}

/**
 * A hierarchical timing wheel: a key, an instant and a small tag each, at most one timer a key. It has no clock: it
 * stands where `advance` took it.
 *
 * Timers after the present tick are in slots (`wheel/slots.ts`): inserting, cancelling and moving on take the same time
 * for ten timers and for a million. Timers of the present tick and late ones are in a heap (`wheel/due-heap.ts`). So all
 * of the heap is due before all of the slots, and timers come out in the order of their instants, late ones too.
 */
export class TimingWheel {
  readonly #timers: TimerTable
  readonly #index: KeyIndex
  readonly #slots: WheelSlots
  readonly #due: DueHeap
  readonly #tickMs: number
  /** The present tick: timers up to it are in the heap, timers after it in the slots. */
  #now: number

  constructor({ startsAt, capacity, tickMs = 1 }: WheelOptions) {
    checkWhole('capacity', capacity, mostTimers)
    checkWhole('tickMs', tickMs, latest)
    checkInstant('startsAt', startsAt)
    this.#tickMs = tickMs
    this.#now = this.#tickOf(startsAt)
    this.#timers = new TimerTable(capacity)
    this.#index = new KeyIndex(this.#timers)
    this.#slots = new WheelSlots(this.#timers)
    this.#due = new DueHeap(this.#timers)
  }

  get size(): number {
    return this.#timers.size
  }

  /** Replaces the timer of the same key, if there is one. False when the wheel is full: then nothing has changed. */
  insert(key: number, at: number, tag: number): boolean {
    if (!Number.isSafeInteger(key)) throw new RangeError(`A timer's key is a whole number, not ${key}.`)
    if (!(tag >= 0 && tag <= 255)) throw new RangeError(`A timer's tag is 0 to 255, not ${tag}.`)
    checkInstant('at', at)
    const timers = this.#timers
    let row = this.#index.find(key)
    if (row !== none) {
      this.#lift(row)
    } else {
      row = timers.take()
      if (row === none) return false
      timers.setKey(row, key)
      this.#index.add(row)
    }
    timers.setAt(row, at)
    timers.setTag(row, tag)
    this.#place(row)
    return true
  }

  /** Whether there was one. */
  cancel(key: number): boolean {
    const row = this.#index.find(key)
    if (row === none) return false
    this.#remove(row)
    return true
  }

  has(key: number): boolean {
    return this.#index.find(key) !== none
  }

  /** When the timer of this key is due; null when there is none. */
  at(key: number): number | null {
    const row = this.#index.find(key)
    return row === none ? null : this.#timers.at(row)
  }

  /**
   * Hands out the timers with `at <= to`, earliest first, at most `most` of them, and answers how many. The rest comes
   * with the next call. A timer has left the wheel when `take` is called: `take` may insert and cancel, and what it
   * inserts at or before `to` comes in the same call.
   */
  advance(to: number, most: number, take: (key: number, at: number, tag: number) => void): number {
    checkInstant('to', to)
    const timers = this.#timers
    const until = this.#tickOf(to)
    let taken = 0
    while (taken < most) {
      const row = this.#due.top()
      if (row === none) {
        const next = this.#slots.nextTick(this.#now)
        if (next > until) {
          this.#now = Math.max(this.#now, until)
          break
        }
        this.#turnTo(next)
        continue
      }
      const at = timers.at(row)
      if (at > to) break
      const key = timers.key(row)
      const tag = timers.tag(row)
      this.#remove(row)
      taken++
      take(key, at, tag)
    }
    return taken
  }

  /** No timer is due before this instant: the earliest one is, at it or somewhat later. Null when there is none. */
  nextAt(): number | null {
    const row = this.#due.top()
    if (row !== none) return this.#timers.at(row)
    return this.size === 0 ? null : this.#slots.nextTick(this.#now) * this.#tickMs
  }

  /**
   * How many timers are due at `at` or before: never fewer than there are, but more by those that share the slot in which
   * `at` lies. That slot is 1,024 ticks wide for timers inserted less than 2^20 ticks (17 minutes, with ticks of a
   * millisecond) before their instant, or a single tick close by. An `at` that the wheel has passed counts as where it stands.
   */
  countThrough(at: number): number {
    checkInstant('at', at)
    return this.#due.size + this.#slots.countThrough(this.#tickOf(at), this.#now)
  }

  /** Of those that `countThrough` has, how many share the slot in which `at` lies: so many may be too many. */
  countBeside(at: number): number {
    return this.#slots.countBeside(this.#tickOf(at), this.#now)
  }

  /** How many are too many, by going through that slot; not through one so full that this would take long, which counts as whole. */
  countAfter(at: number): number {
    return this.#slots.countAfter(at, this.#tickOf(at), this.#now, mostGoneThrough)
  }

  /** What the typed arrays take. */
  bytes(): number {
    return this.#timers.bytes() + this.#index.bytes() + this.#slots.bytes() + this.#due.bytes()
  }

  #tickOf(instant: number): number {
    return Math.floor(instant / this.#tickMs)
  }

  #place(row: number): void {
    const tick = this.#tickOf(this.#timers.at(row))
    if (tick > this.#now) {
      this.#slots.add(row, tick, this.#now)
    } else {
      this.#timers.setSlot(row, none)
      this.#due.push(row)
    }
  }

  #lift(row: number): void {
    if (this.#timers.slot(row) === none) this.#due.remove(row)
    else this.#slots.remove(row)
  }

  #remove(row: number): void {
    this.#lift(row)
    this.#index.remove(row)
    this.#timers.giveBack(row)
  }

  /** `tick` is where the first occupied slots begin, at one level or at several: they are placed anew, wide ones first. */
  #turnTo(tick: number): void {
    this.#now = tick
    for (let level = this.#slots.highestBeginningAt(tick); level >= 0; level--) {
      let row = this.#slots.detach(level, tick)
      while (row !== none) {
        const following = this.#timers.next(row)
        this.#place(row)
        row = following
      }
    }
  }
}

function checkInstant(name: string, value: number): void {
  if (value >= 0 && value <= latest) return
  throw new RangeError(`${name} is an instant in milliseconds since 1970, 0 to 2^48, not ${value}.`)
}

function checkWhole(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return
  throw new RangeError(`${name} is a whole number from 1 to ${most}, not ${value}.`)
}
