/** What comes evenly is what came in each of so many seconds. */
const seconds = 4
/** Ticks start up to a minute after they are staged, or are a little late: each of these seconds has a place of its own. */
const reach = { behind: 8, ahead: 64 }
const places = 128

/** What comes evenly, at one moment. */
export interface EvenFlow {
  perSecond: number
  /** So many timers of it start within each of the spans, none of them having been taken: a job waits with its next tick alone. */
  within: number[]
}

/** How many ticks start in every second, as far as they come evenly: what comes at one instant, or for a moment, is none of it. */
export class Flow {
  /** Which second a place is of. */
  private readonly of = new Float64Array(places).fill(Number.NaN)
  private readonly counts = new Float64Array(places)
  /** By place and span: how much of it the periods of these ticks take up, added up. */
  private readonly covered: Float64Array

  constructor(private readonly spansMs: readonly number[]) {
    this.covered = new Float64Array(places * spansMs.length)
  }

  /** A tick that starts then was staged, and the next one of its job starts a period later; 0: none is known. */
  add(startAt: number, periodMs: number, now: number): void {
    const second = Math.floor(startAt / 1000)
    const current = Math.floor(now / 1000)
    if (second < current - reach.behind || second > current + reach.ahead) return
    const { spansMs, covered } = this
    const place = second % places
    const from = place * spansMs.length
    if (this.of[place] !== second) {
      this.of[place] = second
      this.counts[place] = 0
      covered.fill(0, from, from + spansMs.length)
    }
    this.counts[place] = (this.counts[place] as number) + 1
    for (let at = 0; at < spansMs.length; at++)
      covered[from + at] = (covered[from + at] as number) + Math.min(periodMs, spansMs[at] as number)
  }

  /** The least of each of the last seconds that are over. */
  at(now: number): EvenFlow {
    const current = Math.floor(now / 1000)
    const last = Array.from({ length: seconds }, (_, back) => current - 1 - back)
    if (!last.every((second) => this.of[second % places] === second))
      return { perSecond: 0, within: this.spansMs.map(() => 0) }
    const least = (of: (place: number) => number) => Math.min(...last.map((second) => of(second % places)))
    return {
      perSecond: least((place) => this.counts[place] as number),
      within: this.spansMs.map((_, at) =>
        least((place) => (this.covered[place * this.spansMs.length + at] as number) / 1000),
      ),
    }
  }
}
