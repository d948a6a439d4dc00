// What started when, noted inside the process in which it ran: the same few lines for us and for every peer.
import { now } from './figures.mjs'

const width = 3

export class Recorder {
  #records = new Float64Array(width * 65_536)
  #count = 0

  get count() {
    return this.#count
  }

  /** The work of a tick begins: which job, which instant. */
  note(index, due, at = now()) {
    const place = this.#count * width
    if (place === this.#records.length) {
      const larger = new Float64Array(this.#records.length * 2)
      larger.set(this.#records)
      this.#records = larger
    }
    this.#records[place] = index
    this.#records[place + 1] = due
    this.#records[place + 2] = at
    this.#count += 1
  }

  /** Index, due and start of each, one after the other. */
  records() {
    return this.#records.subarray(0, this.#count * width)
  }
}

/**
 * What became of the ticks that should have started. `placeOf(index, due)` is where a tick stands among `expected` ones;
 * undefined where it is none of them, such as one of the time before.
 */
export function tally(parts, expected, placeOf) {
  const seen = new Uint8Array(expected)
  const lags = new Float64Array(expected)
  const startedAt = { first: Infinity, last: 0 }
  let [started, doubled, early, beside] = [0, 0, 0, 0]
  for (const records of parts) {
    for (let at = 0; at < records.length; at += width) {
      const [due, begun] = [records[at + 1], records[at + 2]]
      const place = placeOf(records[at], due)
      if (place === undefined || place < 0 || place >= expected) {
        beside += 1
        continue
      }
      if (seen[place]++ > 0) {
        doubled += 1
        continue
      }
      lags[started++] = begun - due
      // Wall clocks of two processes agree to a fraction of a millisecond.
      if (begun < due - 1) early += 1
      startedAt.first = Math.min(startedAt.first, begun)
      startedAt.last = Math.max(startedAt.last, begun)
    }
  }
  return {
    started,
    lost: expected - started,
    doubled,
    early,
    beside,
    lags: lags.subarray(0, started),
    startedAt,
  }
}
